// Package draft owns the drafting of the next OpenAPI document from the table and the Go types.
package draft

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"kartei/api"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/api/schema/pattern"
	"kartei/api/words"
	"kartei/kit/fault"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Document returns the OpenAPI 3.1 document of a version for the current table
// and types. The frozen document of the next release is made from it. The same
// table gives the same bytes.
func Document(version string) ([]byte, error) {
	if version == release.Internal.Name {
		return internal()
	}
	return document(version, api.Operations, false)
}

// Reference returns the document of a version, with the requests to webhook
// endpoints added. Client generators fail on that section, so the frozen
// document omits it and the reference uses this document.
func Reference(version string) ([]byte, error) { return document(version, api.Operations, true) }

// Schema tags on the fields of inputs, bodies and answers:
//
//	example       value for examples: JSON for arrays, null, or else the text itself
//	patch         set or clear: the member's part in the example of a merge patch
//	min, max      the bounds of a number; the length of a text in characters, at
//	              least 1 without min; the length of the items of an array
//	minItems      least length of an array
//	maxItems      greatest length of an array
//	format        email, date, date-time, uri, or language (BCP 47)
//	pattern       a pattern with the same meaning in RE2, ECMA 262 and Python
//	enum          the allowed values, separated by commas; or iso3166; or events
//	              for the event types that endpoints can subscribe to
//	named         on a member of a body: the name of the schema of these values
//	default       value of an absent member
//	prefix        prefix of the id in the field: con_ or usr_,svc_
//	multiline     true: newline and tab are allowed
//	required      true: a body must have the member
//	read          true: in answers only; in a body the member is READ_ONLY
//	problem       problem codes, separated by commas: the member is a problem
//	              document with one of them, or null
//	named         on a body: the name of its schema, if it is not the answer's
//	rule          on a body: true if it has a rule that no schema expresses
//
// Package words has the description of each field. Its key is the declaring type
// and the member's name: contact.Fields.firstName. The rule of a body has the key
// of the input: contact.CreateInput.body.rule.
//
// A pointer may be null. In answers every member is present. Packages record and schema
// read further tags, which the document does not show:
//
//	bare          true: invisible characters are removed, as from names and numbers
//	verbatim      true: a text for programs, in which any character is accepted
//	ref           family of the record that the field names, in the plural, or
//	              principals
//	few           on a filter: true if few records share a value
//	with          on a filter: another filter that is often used together with it
//	of            on a filter: the member that it filters by, if its name differs
//	each          on a filter: the list of texts that has the value among others
//	fold          on a filter: true if the case of ASCII letters is ignored

// document writes the document of version from a table.
func document(version string, ops []api.Operation, webhooks bool) ([]byte, error) {
	d := newDrafter(version)
	root, err := d.document(ops, webhooks)
	if err != nil {
		return nil, err
	}
	if err := d.missing(); err != nil {
		return nil, err
	}
	return written(root)
}

// written returns a document as JSON.
func written(root object) ([]byte, error) {
	var b bytes.Buffer
	if err := json.MarshalWrite(&b, root, jsontext.WithIndent("  "), json.Deterministic(true)); err != nil {
		return nil, fmt.Errorf("draft: writing the draft: %w", err)
	}
	b.WriteByte('\n')
	return escapeSpaces(b.Bytes()), nil
}

// document describes the operations of a table.
func (d *drafter) document(ops []api.Operation, webhooks bool) (object, error) {
	var tags []any
	var paths object
	for i := range ops {
		row := &ops[i]
		described, err := d.operation(row)
		if err != nil {
			return nil, fmt.Errorf("draft: %s: %w", row.ID, err)
		}
		item, _ := paths.get(row.Path).(object)
		item.set(strings.ToLower(row.Method), described)
		paths.set(row.Path, item)
		tag := object{{"name", row.Family}, {"description", d.say("tag." + row.Family)}}
		if !slices.ContainsFunc(tags, func(t any) bool { return t.(object).get("name") == row.Family }) {
			tags = append(tags, tag)
		}
	}
	root := object{
		{"openapi", "3.1.1"},
		{"info", d.info()},
		{"servers", d.servers()},
		{"security", security()},
		{"tags", tags},
		{"paths", paths},
	}
	if webhooks {
		sent, err := d.webhooks()
		if err != nil {
			return nil, fmt.Errorf("draft: webhooks: %w", err)
		}
		root.set("tags", append(tags, object{{"name", webhookTag}, {"description", d.say("tag." + webhookTag)}}))
		root.set("webhooks", sent)
	}
	root.set("components", d.components())
	return root, d.clash
}

// escapeSpaces escapes the spaces outside ASCII in patterns, so that they are
// visible.
func escapeSpaces(document []byte) []byte {
	var b bytes.Buffer
	for _, c := range string(document) {
		if c > 0x7e && strings.ContainsRune(pattern.Spaces, c) {
			fmt.Fprintf(&b, "\\u%04x", c)
			continue
		}
		b.WriteRune(c)
	}
	return b.Bytes()
}

// object is a JSON object that keeps its order.
type object []field

type field struct {
	name  string
	value any
}

// MarshalJSONTo writes the members in their order.
func (o object) MarshalJSONTo(e *jsontext.Encoder) error {
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, f := range o {
		if err := e.WriteToken(jsontext.String(f.name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(e, f.value); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndObject)
}

func (o object) get(name string) any {
	for _, f := range o {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

func (o *object) set(name string, value any) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, field{name, value})
}

// drafter collects the components while it describes the operations.
type drafter struct {
	version string
	names   map[schemaKey]string
	shared  map[string]*object // by kind of component
	// said has the keys of all requested words, and whether the words exist.
	said map[string]bool
	// clash is the last error of share.
	clash error
}

func newDrafter(version string) *drafter {
	return &drafter{version: version, names: map[schemaKey]string{}, shared: map[string]*object{}, said: map[string]bool{}}
}

// say returns the words with a key, and remembers missing ones.
func (d *drafter) say(key string) string {
	german, found := words.German(key)
	d.said[key] = found
	return german
}

// missing returns an error that lists all missing words.
func (d *drafter) missing() error {
	var places []string
	for _, key := range slices.Sorted(maps.Keys(d.said)) {
		if !d.said[key] {
			places = append(places, key+" in "+words.File(key))
		}
	}
	if places == nil {
		return nil
	}
	return fmt.Errorf("draft: words are missing; add %s", strings.Join(places, ", "))
}

// componentKinds are the sections of components, in the document's order.
var componentKinds = []string{"schemas", "responses", "parameters", "examples", "headers"}

// share adds v to the components and returns a reference to it. A different
// component of the same name is an error of the document.
func (d *drafter) share(kind, name string, v any) object {
	section := d.shared[kind]
	if section == nil {
		section = new(object)
		d.shared[kind] = section
	}
	if old := section.get(name); old != nil && !equal(old, v) {
		d.clash = fmt.Errorf("draft: two different %s are called %s", kind, name)
	}
	section.set(name, v)
	return reference(kind, name)
}

func reference(kind, name string) object {
	return object{{"$ref", "#/components/" + kind + "/" + name}}
}

func equal(a, b any) bool {
	x, errX := json.Marshal(a, json.Deterministic(true))
	y, errY := json.Marshal(b, json.Deterministic(true))
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func (d *drafter) components() object {
	var out object
	for _, kind := range componentKinds {
		section := *d.shared[kind]
		slices.SortFunc(section, func(a, b field) int { return strings.Compare(a.name, b.name) })
		out.set(kind, section)
	}
	out.set("securitySchemes", d.securitySchemes())
	return out
}

// terms repeats the extensions in words: the cost of the call, its scope, and
// whether it is a preview.
func terms(row *api.Operation, channel string) string {
	words := fmt.Sprintf("Kosten: %d Punkte", row.Cost)
	switch row.Cost {
	case 0:
		words = "Kosten: die Summe seiner Teile"
	case 1:
		words = "Kosten: 1 Punkt"
	}
	if row.Scope != "" {
		words += " · Recht: `" + row.Scope + "`"
	}
	if channel == "preview" {
		words += " · Vorschau: braucht `Svc-Preview: true`"
	}
	return words
}

func (d *drafter) operation(row *api.Operation) (object, error) {
	channel := "stable"
	if row.Channel.Preview(d.version) {
		channel = "preview"
	}
	out := object{
		{"operationId", row.ID},
		{"tags", []string{row.Family}},
		{"summary", d.say(row.ID + ".summary")},
		{"description", d.say(row.ID+".description") + "\n\n" + terms(row, channel)},
		{"x-kartei-channel", channel},
		{"x-kartei-cost", row.Cost},
	}
	if row.Scope != "" {
		out.set("x-kartei-scope", row.Scope)
	}
	if row.Events != nil {
		out.set("x-kartei-events", row.Events)
	}
	parameters, err := d.parameters(row, channel == "preview")
	if err != nil {
		return nil, err
	}
	out.set("parameters", parameters)
	if row.HasBody() {
		body, err := d.requestBody(row)
		if err != nil {
			return nil, err
		}
		out.set("requestBody", body)
	}
	responses, err := d.responses(row, channel == "preview")
	if err != nil {
		return nil, err
	}
	out.set("responses", responses)
	return out, nil
}

// requestBody describes the body of a create or of a merge patch.
func (d *drafter) requestBody(row *api.Operation) (object, error) {
	in := row.Input.Field(row.BodyField())
	t, mode := in.Type, creating
	if in.Tag.Get("body") == "patch" {
		p, is := reflect.New(t).Elem().Interface().(interface{ Type() reflect.Type })
		if !is {
			return nil, fmt.Errorf("%s has no method Type, which returns what it patches", t)
		}
		t, mode = p.Type(), patching
	}
	name := answerName(row) + mode.suffix()
	description := d.say("body.create")
	if !row.Creates() && mode == creating {
		name, description = schemaName(t), d.say(row.Input.String()+".body")
	}
	if named := in.Tag.Get("named"); named != "" {
		name = named
	}
	schema, err := d.members(t, mode)
	if err != nil {
		return nil, err
	}
	// A rule for several members is described in words, and the code of the
	// body enforces it. JSON Schema has anyOf for it, but then generated
	// clients drop the members that were not named first.
	if in.Tag.Get("rule") == "true" {
		schema.set("description", schema.get("description").(string)+"\n\n"+d.say(row.Input.String()+".body.rule"))
	}
	example, err := bodyExample(t, mode)
	if err != nil {
		return nil, err
	}
	media := object{
		{"schema", d.share("schemas", name, schema)},
		{"examples", object{{"example", object{{"summary", d.say(row.ID + ".summary")}, {"value", example}}}}},
	}
	content := object{{"application/json", media}}
	if mode == patching {
		// The server accepts application/merge-patch+json too, which is
		// described in words. With two content types, generated clients have
		// two functions or none.
		description = d.say("body.patch")
	}
	return object{{"description", description}, {"required", true}, {"content", content}}, nil
}

// answerType returns the type of an operation's answer in the view of a client,
// and whether it is a page of a list.
func answerType(row *api.Operation) (t reflect.Type, page bool) {
	zero := reflect.New(row.Output).Elem().Interface()
	switch v := zero.(type) {
	case interface{ ItemType() reflect.Type }:
		return v.ItemType(), true
	case interface{ Type() reflect.Type }:
		return v.Type(), false
	}
	return row.Output, false
}

// answerName returns the name of an answer's schema, for example Contact.
func answerName(row *api.Operation) string {
	t, page := answerType(row)
	name := schemaName(t)
	if page {
		name += "Page"
	}
	return name
}

// exampleSuffix completes a prefix to an example id.
const exampleSuffix = "01jb2z5k3xf0q8r9s7t6v5w4y3"

// faults returns the codes that an operation can answer with, by status. The
// contract declares some statuses for all operations of a sort. Where none of a status's
// causes can arise, it has no codes.
func (d *drafter) faults(row *api.Operation, preview bool) map[int][]fault.Code {
	byStatus := map[int][]fault.Code{}
	add := func(codes ...fault.Code) {
		for _, c := range codes {
			byStatus[c.Status()] = append(byStatus[c.Status()], c)
		}
	}
	add(fault.InvalidRequest, fault.UnknownParameter)
	if row.Takes("cursor") {
		add(fault.CursorMismatch)
	}
	add(fault.Unauthenticated, fault.Forbidden, fault.OrganizationMismatch, fault.APIModuleDisabled)
	// A repeated create is NOT_FOUND if its record has been deleted. Uploads
	// are never deleted.
	if row.Named() || row.Creates() && row.Family != "uploads" {
		add(fault.NotFound)
	}
	quota := row.Deletes() || row.Discloses()
	for _, c := range row.Faults {
		if c == fault.QuotaExhausted { // goes after the codes of all operations
			quota = true
			continue
		}
		add(c)
	}
	if preview {
		add(fault.OperationNotInVersion)
	}
	add(fault.NotAcceptable, fault.VersionSunset, fault.PayloadTooLarge)
	if row.Preconditional() {
		add(fault.PreconditionFailed)
	}
	if row.Conditional() {
		add(fault.PreconditionRequired)
	}
	if row.HasBody() {
		add(fault.UnsupportedMediaType, fault.ValidationFailed)
	}
	if row.Idempotent() {
		add(fault.IdempotencyInProgress, fault.IdempotencyPayloadMismatch)
	}
	add(fault.RateLimited, fault.Overloaded)
	if quota {
		add(fault.QuotaExhausted)
	}
	add(fault.Internal, fault.APIPaused, fault.InstancePending)
	if row.Named() || row.HasBody() { // contract, 'Common rules' 4
		for _, status := range []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity} {
			if byStatus[status] == nil {
				byStatus[status] = []fault.Code{}
			}
		}
	}
	return byStatus
}

// revised reports whether the answer carries an ETag.
func revised(row *api.Operation) bool {
	return row.Output.Implements(reflect.TypeFor[op.EntityTagger]())
}
