package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/api"
	"kartei/api/openapi"
	"kartei/api/schema"
	"kartei/api/words"
	"kartei/kit/fault"
	"kartei/kit/telemetry"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestVersions(t *testing.T) {
	for _, version := range openapi.Versions() {
		if _, err := time.Parse(time.DateOnly, version); err != nil {
			t.Errorf("%s.json is not named like a version", version)
		}
		document, found := openapi.Document(version)
		var head struct{ Info struct{ Version string } }
		if err := json.Unmarshal(document, &head); err != nil || !found || head.Info.Version != version {
			t.Errorf("%s.json is the document of %q: %v", version, head.Info.Version, err)
		}
	}
	for _, version := range []string{"", "2026-11-02", "../openapi", "2026-11-01.json"} {
		if _, found := openapi.Document(version); found {
			t.Errorf("there is a document of %q", version)
		}
	}
}

// TestOpenAPI checks that each document is valid for an OpenAPI library.
func TestOpenAPI(t *testing.T) {
	for _, version := range openapi.Versions() {
		document, _ := openapi.Document(version)
		read, err := openapi3.NewLoader().LoadFromData(document)
		if err != nil {
			t.Fatal(err)
		}
		// The library does not know ECMA 262 patterns. TestPatterns checks them.
		if err := read.Validate(t.Context(), openapi3.DisableSchemaPatternValidation()); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// frozen returns the compiled document of a version, and a schema compiler for parts of the
// document.
func frozen(t *testing.T, version string) (*schema.Document, *jsonschema.Compiler) {
	t.Helper()
	document, _ := openapi.Document(version)
	r, err := schema.Compile(document, func(string, string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	compiler := schema.NewCompiler()
	if err := compiler.AddResource(schema.DocumentURL, r.Root()); err != nil {
		t.Fatal(err)
	}
	return r, compiler
}

// operationsIn returns the operations of the version that a document describes.
func operationsIn(r *schema.Document) (list []*api.Operation) {
	version, _ := r.Object(r.Root()["info"])["version"].(string)
	for i := range api.Operations {
		if op := &api.Operations[i]; op.In(version) {
			list = append(list, op)
		}
	}
	return list
}

// eachDocument runs f on the document of each version.
func eachDocument(t *testing.T, f func(t *testing.T, r *schema.Document, compiler *jsonschema.Compiler)) {
	for _, version := range openapi.Versions() {
		t.Run(version, func(t *testing.T) {
			r, compiler := frozen(t, version)
			f(t, r, compiler)
		})
	}
}

// TestRowsInDocument checks that the document has each operation, with its path, texts and
// statuses.
func TestRowsInDocument(t *testing.T) {
	eachDocument(t, func(t *testing.T, r *schema.Document, _ *jsonschema.Compiler) {
		for _, op := range operationsIn(r) {
			item := r.Object(r.Object(r.Root()["paths"])[op.Path])
			o := r.Object(item[strings.ToLower(op.Method)])
			summary, _ := words.German(op.ID + ".summary")
			description, _ := words.German(op.ID + ".description")
			if o["operationId"] != op.ID || o["summary"] != summary ||
				!strings.HasPrefix(fmt.Sprint(o["description"]), description+"\n\n") ||
				fmt.Sprint(o["x-kartei-cost"]) != fmt.Sprint(op.Cost) || fmt.Sprint(o["tags"]) != "["+op.Family+"]" {
				t.Errorf("%s is described as %v", op.ID, o["operationId"])
			}
			responses := r.Object(o["responses"])
			for _, status := range []string{"400", "401", "403", "410", "429", "500", "503", fmt.Sprint(op.Status())} {
				if responses[status] == nil {
					t.Errorf("%s does not have %s", op.ID, status)
				}
			}
			for _, status := range []string{"404", "409", "422"} {
				if (op.Named() || op.HasBody()) && responses[status] == nil {
					t.Errorf("%s does not have %s", op.ID, status)
				}
			}
			if item["head"] != nil {
				t.Errorf("%s declares HEAD", op.Path)
			}
		}
		if n := len(operationsIn(r)); n != r.Operations() {
			t.Errorf("the document has %d operations, the table %d", r.Operations(), n)
		}
	})
}

// TestExamples checks that every example of the document is valid for its schema.
func TestExamples(t *testing.T) {
	eachDocument(t, func(t *testing.T, r *schema.Document, compiler *jsonschema.Compiler) {
		checked := 0
		check := func(place string, example any) {
			schema, err := compiler.Compile(schema.DocumentURL + "#" +
				strings.NewReplacer("{", "%7B", "}", "%7D", "+", "%2B").Replace(place))
			if err != nil {
				t.Fatalf("%s: %v", place, err)
			}
			if err := schema.Validate(example); err != nil {
				t.Errorf("%s: %v", place, err)
			}
			checked++
		}
		walk(r.Root(), "", func(place string, o map[string]any) {
			if schema := o["schema"]; schema != nil { // media type, parameter or header
				if example, has := o["example"]; has {
					check(place+"/schema", example)
				}
				for _, e := range r.Object(o["examples"]) {
					check(place+"/schema", r.Object(e)["value"])
				}
			}
			if examples, is := o["examples"].([]any); is && (o["type"] != nil || o["$ref"] != nil) {
				for _, e := range examples {
					check(place, e)
				}
			}
		})
		if checked < 200 {
			t.Errorf("only %d examples were found", checked)
		}
	})
}

// TestBodyExamples checks that Body accepts every example of a body.
func TestBodyExamples(t *testing.T) {
	eachDocument(t, func(t *testing.T, r *schema.Document, _ *jsonschema.Compiler) {
		for _, op := range operationsIn(r) {
			if !op.HasBody() {
				continue
			}
			o := r.Object(r.Object(r.Object(r.Root()["paths"])[op.Path])[strings.ToLower(op.Method)])
			content := r.Object(r.Object(o["requestBody"])["content"])
			if len(content) != 1 { // generated clients have a function for each, or for none
				t.Errorf("%s takes %v", op.ID, slices.Sorted(maps.Keys(content)))
			}
			for _, e := range r.Object(r.Object(content["application/json"])["examples"]) {
				raw, err := json.Marshal(r.Object(e)["value"])
				if err != nil {
					t.Fatal(err)
				}
				target := reflect.New(op.Body()).Interface()
				if err := r.Body(op.ID, raw, target, nil); err != nil {
					t.Errorf("%s: %v: %s", op.ID, fault.From(err).Fields, raw)
				}
			}
		}
	})
}

// walk calls visit for every object of a JSON tree. place is the JSON Pointer of the object.
func walk(v any, place string, visit func(place string, o map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(place, v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name != "examples" || place != "/components" {
				walk(v[name], place+schema.Pointer(name), visit)
			}
		}
	case []any:
		for i, e := range v {
			walk(e, fmt.Sprintf("%s/%d", place, i), visit)
		}
	}
}

// TestRequestsAreClosedAnswersOpen checks that the schemas of requests allow no additional members.
// So typing errors are found. The schemas of responses allow them, so that a version can grow.
func TestRequestsAreClosedAnswersOpen(t *testing.T) {
	eachDocument(t, func(t *testing.T, r *schema.Document, _ *jsonschema.Compiler) {
		inputs := map[string]bool{}
		for path, item := range r.Object(r.Root()["paths"]) {
			for method, o := range r.Object(item) {
				body := r.Object(o)["requestBody"]
				walk(body, path+" "+method, func(_ string, v map[string]any) {
					if ref, is := v["$ref"].(string); is {
						inputs[ref[strings.LastIndexByte(ref, '/')+1:]] = true
					}
				})
			}
		}
		schemas := r.Object(r.Object(r.Root()["components"])["schemas"])
		for range 3 { // inputs of inputs
			for name := range maps.Clone(inputs) {
				walk(schemas[name], "", func(_ string, v map[string]any) {
					if ref, is := v["$ref"].(string); is {
						inputs[ref[strings.LastIndexByte(ref, '/')+1:]] = true
					}
				})
			}
		}
		if !inputs["ContactCreate"] || !inputs["ContactPatch"] || !inputs["AddressInput"] {
			t.Errorf("inputs are %v", inputs)
		}
		for name, schema := range schemas {
			if r.Object(schema)["type"] != "object" { // a list of values
				continue
			}
			closed := r.Object(schema)["additionalProperties"] == false
			if closed != inputs[name] {
				t.Errorf("%s: closed is %v", name, closed)
			}
		}
	})
}

// TestPatterns checks that each pattern means the same to RE2, ECMA 262 and Python. It must not
// contain classes such as \s and \d, Unicode escapes, look-around, or possessive or lazy
// quantifiers.
func TestPatterns(t *testing.T) {
	eachDocument(t, func(t *testing.T, r *schema.Document, _ *jsonschema.Compiler) {
		foreign := regexp.MustCompile(`\\[sSdDwWbBAzZpPuUkQE]|\(\?|[*+?}][+?]|\[:|&&|--|~~`)
		n := 0
		walk(r.Root(), "", func(place string, o map[string]any) {
			pattern, is := o["pattern"].(string)
			if !is {
				return
			}
			n++
			if _, err := regexp.Compile(pattern); err != nil {
				t.Errorf("%s: %v", place, err)
			}
			if !strings.HasPrefix(pattern, "^") || foreign.MatchString(pattern) {
				t.Errorf("%s: %s", place, pattern)
			}
		})
		if n < 50 {
			t.Errorf("only %d patterns were found", n)
		}
	})
}

// TestLogsHideMembers checks that the logger removes the values of all personal members of records,
// in case such a member is logged under its name.
func TestLogsHideMembers(t *testing.T) {
	eachDocument(t, func(t *testing.T, r *schema.Document, _ *jsonschema.Compiler) {
		harmless := strings.Fields("address object id revision createdAt updatedAt companyId contactId documentId assigneeId ownerId visibility language externalId " +
			"status priority dueAt completedAt completedBy contentType size taskId uploadId textStatus textReason")
		var b bytes.Buffer
		log, err := telemetry.NewLogger(&b, "text", slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		schemas := r.Root()["components"].(map[string]any)["schemas"].(map[string]any)
		for _, family := range []string{"Contact", "Company", "Task", "Document"} {
			for name := range schemas[family].(map[string]any)["properties"].(map[string]any) {
				b.Reset()
				log.Info("said", name, "Geheimes")
				if hidden := !strings.Contains(b.String(), "Geheimes"); hidden == slices.Contains(harmless, name) {
					t.Errorf("%s.%s: hidden in logs is %v. Personal data, and every text, belongs into forbidden of kit/telemetry/log.go, and other members into harmless of this test", family, name, hidden)
				}
			}
		}
	})
}

// TestPatchesHaveNoDefaults checks that the schemas of patches have no
// defaults. A client that fills in defaults would otherwise reopen a completed
// task when it changes the title.
func TestPatchesHaveNoDefaults(t *testing.T) {
	for _, version := range openapi.Versions() {
		r, _ := frozen(t, version)
		patches := 0
		for i := range api.Operations {
			op := &api.Operations[i]
			if op.Method != "PATCH" {
				continue
			}
			patches++
			o := r.Object(r.Object(r.Object(r.Root()["paths"])[op.Path])["patch"])
			var look func(place string, node any)
			look = func(place string, node any) {
				schema := r.Object(node) // follows $ref
				for _, word := range []string{"default", "required", "minProperties"} {
					if schema[word] != nil {
						t.Errorf("%s, %s%s: %s is %v", version, op.ID, place, word, schema[word])
					}
				}
				for name, member := range r.Object(schema["properties"]) {
					look(place+"."+name, member)
				}
			}
			for media, content := range r.Object(r.Object(o["requestBody"])["content"]) {
				look(" as "+media, r.Object(content)["schema"])
			}
		}
		if patches == 0 {
			t.Errorf("%s: no operation patches", version)
		}
	}
}
