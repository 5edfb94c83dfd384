package draft

import (
	"slices"
	"strings"

	"kartei/api"
	"kartei/api/release"
)

// internal returns the document of the internal version, which only the server uses. It has the
// parts that the server checks requests and responses against. Descriptions, examples and error
// responses are left out.
func internal() ([]byte, error) {
	d := newDrafter(release.Internal.Name)
	root, err := d.document(api.Operations, false)
	if err != nil {
		return nil, err
	}
	document := object{
		{"openapi", root.get("openapi")},
		{"info", object{{"title", "Kartei"}, {"version", d.version}}},
		{"paths", enforced(root.get("paths"))},
	}
	var components object
	for _, kind := range []string{"schemas", "parameters"} {
		section, _ := root.get("components").(object).get(kind).(object)
		var kept object
		for _, f := range section {
			kept = append(kept, field{f.name, enforced(f.value)})
		}
		components.set(kind, kept)
	}
	document.set("components", components)
	return written(document)
}

// enforced returns v without the members that no request or response is checked against. v is any
// part of a document.
func enforced(v any) any {
	switch v := v.(type) {
	case object:
		var kept object
		for _, f := range v {
			switch {
			case f.name == "properties":
				kept = append(kept, field{f.name, enforcedEach(f.value.(object))})
			case f.name == "responses":
				kept = append(kept, field{f.name, enforcedEach(successes(f.value.(object)))})
			case f.name == "x-kartei-list", !slices.Contains(unenforced, f.name) && !strings.HasPrefix(f.name, "x-"):
				kept = append(kept, field{f.name, enforced(f.value)})
			}
		}
		return kept
	case []object:
		kept := make([]object, len(v))
		for i := range v {
			kept[i] = enforced(v[i]).(object)
		}
		return kept
	}
	return v
}

// unenforced are the names of members that are only for human readers.
var unenforced = []string{"description", "summary", "tags", "example", "examples", "headers", "links"}

// enforcedEach applies enforced to each member of an object whose member names are free. Other
// objects have the member names of OpenAPI.
func enforcedEach(o object) object {
	kept := object{}
	for _, f := range o {
		kept = append(kept, field{f.name, enforced(f.value)})
	}
	return kept
}

// successes returns the responses with a status 2xx.
func successes(responses object) (kept object) {
	for _, r := range responses {
		if strings.HasPrefix(r.name, "2") {
			kept = append(kept, r)
		}
	}
	return kept
}
