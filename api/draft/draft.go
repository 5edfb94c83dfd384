// Package draft owns the drafting of the next OpenAPI document from the table of operations and the Go types.
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

// Document returns the OpenAPI 3.1 document of an API version as JSON. It is generated from the
// table of operations (api.Operations) and from the Go types of their inputs and outputs. The same
// table and types give the same bytes. The frozen document of the next release is a copy of this
// document.
func Document(version string) ([]byte, error) {
	if version == release.Internal.Name {
		return internal()
	}
	return document(version, api.Operations, false)
}

// Reference returns the document of a version together with the section webhooks, which describes
// the requests to webhook endpoints. Client generators fail on this section. The frozen document
// therefore lacks it, and only the API reference shows it.
func Reference(version string) ([]byte, error) { return document(version, api.Operations, true) }

// Schema tags of the fields of inputs, request bodies and responses:
//
//	example       value for examples: JSON for arrays, null, or else the text itself
//	patch         set or clear: whether the example of a merge patch sets the member or
//	              clears it
//	min, max      the bounds of a number; or the length of a text in characters, which
//	              is at least 1 if min is absent; or the length of each item of an array
//	minItems      least length of an array
//	maxItems      greatest length of an array
//	format        email, date, date-time, uri, language (BCP 47), or website
//	pattern       a pattern with the same meaning in RE2, ECMA 262 and Python
//	enum          the allowed values, separated by commas; or iso3166 for the country
//	              codes; or events for the event types that endpoints can subscribe to
//	named         on a member of a body: the name of the schema with the values of enum
//	default       value of an absent member
//	prefix        prefixes of the id in the field, separated by commas: con_ or usr_,svc_
//	multiline     true: newline and tab are allowed
//	required      true: a body must have the member
//	read          true: the member is in responses only; in a request body it gets the
//	              error READ_ONLY
//	problem       problem codes, separated by commas: the member is a problem
//	              document with one of these codes, or null
//	named         on a body: the name of its schema, if the schema of the response has
//	              another name
//	rule          on a body: true if the body has a rule that a schema cannot express
//
// Package words has the description of each field. The key of a description is the declaring type
// and the member's name: contact.Fields.firstName. The key of a body's rule begins with the type of
// the input: contact.CreateInput.body.rule.
//
// The value of a field with a pointer type may be null. Every member is present in responses.
// Packages record and schema read further tags, which the document does not show:
//
//	bare          true: invisible characters are removed, as from names and numbers
//	verbatim      true: a text for programs, in which any character is accepted
//	ref           on an id: the family of the record with this id, in the plural, or
//	              principals
//	few           on a filter: true if few records share a value
//	with          on a filter: another filter that is often used together with it
//	of            on a filter: the member that is compared, if its name differs
//	each          on a filter: the member, a list of texts, that must contain the value
//	fold          on a filter: true if the case of ASCII letters is ignored

// document returns the document of a version for the operations ops as JSON. It fails if the words
// of a description are missing. If webhooks is true, the document includes the section webhooks.
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

// written encodes a document as indented JSON with a newline at the end.
func written(root object) ([]byte, error) {
	var b bytes.Buffer
	if err := json.MarshalWrite(&b, root, jsontext.WithIndent("  "), json.Deterministic(true)); err != nil {
		return nil, fmt.Errorf("draft: writing the draft: %w", err)
	}
	b.WriteByte('\n')
	return escapeSpaces(b.Bytes()), nil
}

// document returns the document for the operations ops, before it is encoded.
func (d *drafter) document(ops []api.Operation, webhooks bool) (object, error) {
	var tags []any
	var paths object
	for i := range ops {
		row := &ops[i]
		if !row.In(d.version) {
			continue
		}
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

// escapeSpaces writes white space outside ASCII as \u escapes, so that readers of a pattern can see
// it.
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

// object is a JSON object whose members keep their order.
type object []field

type field struct {
	name  string
	value any
}

// MarshalJSONTo writes the members in the order of the slice.
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

// drafter collects the shared components while it describes the operations.
type drafter struct {
	version string
	names   map[schemaKey]string
	shared  map[string]*object // the components by kind (schemas, parameters, …) and name
	// said maps each requested key of package words to whether words exist for it.
	said map[string]bool
	// clash is the latest error of share: two different components with one name.
	clash error
}

func newDrafter(version string) *drafter {
	return &drafter{version: version, names: map[schemaKey]string{}, shared: map[string]*object{}, said: map[string]bool{}}
}

// say returns the German words for a key. The method missing reports keys without words.
func (d *drafter) say(key string) string {
	german, found := words.German(key)
	d.said[key] = found
	return german
}

// missing returns an error that lists the requested keys without words and their files, or nil.
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

// share adds the component v and returns a reference to it. If another component of this kind has
// the same name and differs from v, share sets d.clash.
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

// terms returns a German line about a call: its cost, its required scope, and whether it is a
// preview. The extensions x-kartei-cost, x-kartei-scope and x-kartei-channel have the same facts
// for programs.
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

// requestBody describes the request body of an operation: a new record, a merge patch, or the input
// of an action.
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
	// A rule about several members is described in words, and Go code enforces it. JSON Schema
	// could express it by anyOf, but then generated clients lose all members outside the first
	// branch.
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
		// The server also accepts application/merge-patch+json, and the description says this. With
		// two content types, client generators create two functions for the operation, or none.
		description = d.say("body.patch")
	}
	return object{{"description", description}, {"required", true}, {"content", content}}, nil
}

// answerType returns the Go type of an operation's response body. For a page of a list, it returns
// the type of an entry, and page is true.
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

// answerName returns the schema name of an operation's response body, for example Contact or
// ContactPage.
func answerName(row *api.Operation) string {
	t, page := answerType(row)
	name := schemaName(t)
	if page {
		name += "Page"
	}
	return name
}

// exampleSuffix follows a prefix such as con_ in the ids of examples.
const exampleSuffix = "01jb2z5k3xf0q8r9s7t6v5w4y3"

// faults returns the problem codes that an operation can return, by status. The contract declares
// some statuses for all operations with an id or a body. If no problem with such a status is
// possible, the list of its codes is empty.
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
	// A repeated create returns NOT_FOUND if its record has been deleted meanwhile. Uploads are
	// never deleted.
	if row.Named() || row.Creates() && row.Family != "uploads" {
		add(fault.NotFound)
	}
	quota := row.Deletes() || row.Discloses()
	for _, c := range row.Faults {
		if c == fault.QuotaExhausted { // added below, after the codes of all operations
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

// revised reports whether the response has an ETag.
func revised(row *api.Operation) bool {
	return row.Output.Implements(reflect.TypeFor[op.EntityTagger]())
}
