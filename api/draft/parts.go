package draft

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"kartei/api"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/api/schema"
	"kartei/api/schema/pattern"
	"kartei/kit/fault"
	"kartei/kit/i18n"

	"github.com/go-json-experiment/json/jsontext"
)

// This file describes the parts of the document that the table of operations lacks: the publisher,
// the credentials, and the common parts of requests and responses.

// exampleHost is the host name in examples. Names below .example never resolve (RFC 2606).
const exampleHost = "kartei.example"

func (d *drafter) info() object {
	return object{
		{"title", d.say("info.title")},
		{"summary", d.say("info.summary")},
		{"description", d.introduction()},
		{"contact", object{{"name", d.say("info.contact")}, {"url", "https://" + exampleHost + "/guide"}}},
		{"license", object{{"name", "Apache License 2.0"}, {"identifier", "Apache-2.0"}}},
		{"version", d.version},
	}
}

func (d *drafter) servers() []object {
	return []object{{
		{"url", "https://{host}/v1"},
		{"description", d.say("server")},
		{"variables", object{{"host", object{
			{"default", exampleHost},
			{"description", d.say("server.host")},
		}}}},
	}}
}

// security returns the security requirements of all operations: an API key or an access token. The
// required scope is in x-kartei-scope.
func security() []object { return []object{{{"apiKey", []string{}}}, {{"accessToken", []string{}}}} }

// securitySchemes describes the two credentials, API keys and access tokens. Both are bearer
// tokens. A client that fills in either of them therefore sends the same header.
//
// The type oauth2 would be wrong here. Clients that openapi-generator makes for typescript-fetch
// would then overwrite the key's header by the token, without the word Bearer. The description
// links to the metadata that says how to get a token.
func (d *drafter) securitySchemes() object {
	bearer := func(name string) object {
		return object{{"type", "http"}, {"scheme", "bearer"}, {"description", d.say("security." + name)}}
	}
	return object{{"apiKey", bearer("apiKey")}, {"accessToken", bearer("accessToken")}}
}

// parameters returns the parameters of an operation: path, query and headers. It fails if a filter
// was added in a version and is not in the Parameters of that version.
func (d *drafter) parameters(row *api.Operation, preview bool) ([]object, error) {
	var out []object
	in := row.Input
	for _, f := range reflect.VisibleFields(in) {
		name := f.Tag.Get("query")
		switch {
		case f.Tag.Get("path") != "":
			out = append(out, d.pathParameter(row, f))
		case isFilter(in, f) && release.Takes(row.Family, "", name):
			return nil, fmt.Errorf("the filter %s belongs into Parameters of the version that it begins with, in api/release/release.go", name)
		case name != "" && release.Takes(row.Family, d.version, name):
			p, err := d.queryParameter(row, f)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
	}
	return append(out, d.headerParameters(row, preview)...), nil
}

// isFilter reports whether a field of an input is declared in a struct with the name Filters.
func isFilter(input reflect.Type, f reflect.StructField) bool {
	return declaring(input, f).Name() == "Filters"
}

func (d *drafter) pathParameter(row *api.Operation, f reflect.StructField) object {
	prefix := row.Prefix()
	singular := strings.TrimSuffix(row.Family, "s")
	for _, f := range api.Families {
		if f.Prefix == prefix {
			singular = f.Object
		}
	}
	return d.share("parameters", pascal(singular)+"Id", object{
		{"name", "id"}, {"in", "path"}, {"required", true},
		{"description", d.say("parameter.id")},
		{"schema", object{{"type", "string"}, {"maxLength", idLength}, {"pattern", pattern.ID(prefix)}}},
		{"example", prefix + exampleSuffix},
	})
}

func (d *drafter) queryParameter(row *api.Operation, f reflect.StructField) (object, error) {
	name := f.Tag.Get("query")
	schema, err := d.value(nil, member{f, declaring(row.Input, f)}, creating)
	if err != nil {
		return nil, err
	}
	p := object{{"name", name}, {"in", "query"}, {"required", false}, {"description", schema.get("description")}}
	var rest object
	for _, member := range schema {
		switch member.name {
		case "description":
		case "examples":
			p.set("example", member.value.([]any)[0])
		default:
			rest = append(rest, member)
		}
	}
	if more := d.orders(row); name == "sort" && more != nil {
		values, _ := rest.get("enum").([]any)
		for _, order := range more {
			values = append(values, order)
		}
		rest.set("enum", values)
		p.set("schema", rest)
		return p, nil // sort has another component in every family
	}
	p.set("schema", rest)
	component, in := title(name), declaring(row.Input, f)
	family := title(in.PkgPath()[strings.LastIndexByte(in.PkgPath(), '/')+1:])
	switch old := d.shared["parameters"].lookup(component); {
	case isFilter(row.Input, f): // filters have another meaning in every family
		component = family + component
	case old == nil || equal(old, p):
	case in.PkgPath() == envelopeType.PkgPath(): // the same name with another meaning: CountQ, EventListLimit
		component = strings.TrimSuffix(in.Name(), "Input") + component
	default:
		component = family + strings.TrimSuffix(in.Name(), "Input") + component
	}
	return d.share("parameters", component, p), nil
}

// orders returns the values of sort that only the internal version has for the lists of a family.
func (d *drafter) orders(row *api.Operation) []string {
	if d.version != release.Internal.Name {
		return nil
	}
	return release.Internal.Orders[row.Family]
}

// declaring returns the struct type that declares the field f. This is t itself or a struct
// embedded in it.
func declaring(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	return t
}

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// pascal converts webhook_endpoint to WebhookEndpoint.
func pascal(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(title(word))
	}
	return b.String()
}

func (o *object) lookup(name string) any {
	if o == nil {
		return nil
	}
	return o.get(name)
}

// headerParameters returns the request headers that an operation requires or reads. Every operation
// reads the optional headers Svc-Version, Accept-Language and Svc-Organization. Only the
// introduction describes these three. If they were parameters, every function of a generated client
// would have them as arguments.
func (d *drafter) headerParameters(row *api.Operation, preview bool) []object {
	header := func(component, name string, required bool, example string, schema object) object {
		return d.share("parameters", component, object{
			{"name", name}, {"in", "header"}, {"required", required},
			{"description", d.say("parameter." + component)}, {"schema", schema}, {"example", example},
		})
	}
	var out []object
	if preview {
		out = append(out, header("SvcPreview", "Svc-Preview", true,
			// The schema has a pattern instead of an enum, because a generated client would have a
			// class for the enum of each operation.
			"true", object{{"type", "string"}, {"maxLength", 4}, {"pattern", "^true$"}}))
	}
	if row.Idempotent() {
		component := "IdempotencyKey"
		if row.Creates() {
			component = "IdempotencyKeyRequired"
		}
		out = append(out, header(component, "Idempotency-Key", row.Creates(),
			"5f0c7a52-3e0b-4a53-9d0e-8d5c1f6f2b11",
			object{{"type", "string"}, {"minLength", 1}, {"maxLength", 255}, {"pattern", keyPattern}}))
	}
	if row.Preconditional() {
		component := "IfMatchOptional"
		if row.Conditional() {
			component = "IfMatch"
		}
		out = append(out, header(component, "If-Match", row.Conditional(), `"r3"`,
			object{{"type", "string"}, {"maxLength", 1000}, {"pattern", entityTagsPattern}}))
	}
	if row.AnswersFile() {
		out = append(out, d.fileParameters()...)
	}
	if !row.Writes() && revised(row) {
		out = append(out, header("IfNoneMatch", "If-None-Match", false, `"r3"`,
			object{{"type", "string"}, {"maxLength", 1000}, {"pattern", entityTagsPattern}}))
	}
	return out
}

const (
	// keyPattern matches an idempotency key: 1 to 255 printable ASCII characters. A key in double
	// quotes is a string of RFC 9651 (structured fields).
	keyPattern = `^("[\x20\x21\x23-\x5b\x5d-\x7e]{1,253}"|[\x21\x23-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?)$`
	// entityTagsPattern matches * or a list of entity tags (RFC 9110, section
	// 13.1.1).
	entityTagsPattern = `^(\*|(W/)?"[\x21\x23-\x7e]{0,100}"(, ?(W/)?"[\x21\x23-\x7e]{0,100}"){0,8})$`
)

// responses describes all responses of an operation by their status.
func (d *drafter) responses(row *api.Operation, preview bool) (object, error) {
	status := row.Status()
	success := object{{"description", d.say(fmt.Sprint("status.", status))}, {"headers", d.successHeaders(row, status)}}
	var part object
	switch {
	case row.AnswersFile():
		success, part = d.file()
	case status != http.StatusNoContent:
		schema, err := d.answerSchema(row)
		if err != nil {
			return nil, err
		}
		example, err := d.answerExample(row)
		if err != nil {
			return nil, err
		}
		success.set("content", object{{"application/json", object{
			{"schema", schema},
			{"examples", object{{"example", example}}},
		}}})
	}
	if links := d.links(row); links != nil {
		success.set("links", links)
	}
	out := object{{fmt.Sprint(status), success}}
	if part != nil {
		out.set(fmt.Sprint(http.StatusPartialContent), part)
	}
	if row.ShowsRecord() {
		out.set("204", object{
			{"description", d.say("unread." + row.Family)},
			{"headers", d.successHeaders(row, http.StatusNoContent)},
		})
	}
	if !row.Writes() && revised(row) {
		out.set("304", d.share("responses", "NotModified", object{
			{"description", d.say("status.304")},
			{"headers", d.headers(append(slices.Clone(always), "ETag")...)},
		}))
	}
	faults := d.faults(row, preview)
	for _, status := range slices.Sorted(maps.Keys(faults)) {
		out.set(fmt.Sprint(status), d.problem(status, faults[status]))
	}
	return out, nil
}

// answerExample returns a reference to an example of the successful response.
func (d *drafter) answerExample(row *api.Operation) (object, error) {
	t, page := answerType(row)
	if t == reflect.TypeFor[api.Document]() {
		return d.share("examples", schemaName(t),
			object{{"summary", d.say(row.ID + ".summary")}, {"description", d.say("example.OpenAPIDocument")}, {"value", object{
				{"openapi", "3.1.1"},
				{"info", object{{"title", "Kartei API"}, {"version", d.version}}},
				{"paths", object{}},
			}}}), nil
	}
	value, err := valueExample(t)
	if err != nil {
		return nil, err
	}
	name := answerName(row)
	if after, changes := afterwards[row.ID]; changes {
		members := value.(object)
		for _, m := range after {
			members.set(m.name, m.value)
		}
		name += "After" + title(row.ID[strings.IndexByte(row.ID, '.')+1:])
	} else if row.Idempotent() && row.Named() && revised(row) {
		return nil, fmt.Errorf("add what it changes in the example to afterwards in api/draft/parts.go")
	}
	if page {
		value = object{{"data", []any{value}}, {"hasMore", true}, {"nextCursor", "AX3k9bQ"}}
	}
	summary := d.say(t.String())
	if page {
		summary = d.say("example.Page")
	}
	return d.share("examples", name, object{
		{"summary", summary},
		{"description", d.say("example")},
		{"value", value},
	}), nil
}

// afterwards maps an action to the members that it changes in the example of its record.
var afterwards = map[string]object{
	"webhookEndpoints.rotateSecret": {
		{"previousSecretValidUntil", "2026-11-03T14:05:12.345678Z"},
	},
	"tasks.complete": {
		{"status", "completed"},
		{"completedAt", "2026-11-02T14:05:12.345678Z"},
		{"completedBy", "usr_" + exampleSuffix},
	},
}

// always are the headers of every response, also of error responses.
var always = []string{
	"Request-Id", "Svc-Version", "RateLimit", "RateLimit-Policy", "Deprecation", "Sunset", "Link",
	"Cache-Control", "Vary", "X-Content-Type-Options",
}

func (d *drafter) successHeaders(row *api.Operation, status int) object {
	names := slices.Clone(always)
	if revised(row) {
		names = append(names, "ETag")
	}
	if row.Output.Implements(reflect.TypeFor[op.Locator]()) {
		names = append(names, "Location")
	}
	if row.Idempotent() {
		names = append(names, "Idempotent-Replayed")
	}
	if row.Output.Implements(reflect.TypeFor[op.Progress]()) {
		names = append(names, "Retry-After")
	}
	return d.headers(names...)
}

func (d *drafter) headers(names ...string) object {
	var out object
	for _, name := range names {
		h := responseHeaders[name]
		component := strings.ReplaceAll(name, "-", "")
		out.set(name, d.share("headers", component, object{
			{"description", d.say("header." + name)}, {"required", h.required}, {"schema", h.schema}, {"example", h.example},
		}))
	}
	return out
}

type responseHeader struct {
	required bool
	example  any
	schema   object
}

func matching(p string, limit int) object {
	return object{{"type", "string"}, {"maxLength", limit}, {"pattern", p}}
}

// responseHeaders are all headers that the document describes for responses.
var responseHeaders = map[string]responseHeader{
	"Request-Id":  {true, "req_" + exampleSuffix, matching("^req"+pattern.IDShape, 30)},
	"Svc-Version": {true, "2026-11-01", matching(pattern.Version, 10)},
	"RateLimit":   {true, `"key";r=412;t=38`, matching(`^"[a-z-]+";r=[0-9]+;t=[0-9]+$`, 200)},
	"RateLimit-Policy": {
		true, `"key";q=300;w=60, "writes";q=60;w=60`,
		matching(`^"[a-z-]+";q=[0-9]+;w=[0-9]+(;qu="[a-z-]+")?(, "[a-z-]+";q=[0-9]+;w=[0-9]+(;qu="[a-z-]+")?)*$`, 1000),
	},
	"Deprecation": {false, "@1793491200", matching("^@[0-9]+$", 20)},
	"Sunset": {
		false, "Mon, 01 Nov 2027 00:00:00 GMT",
		matching("^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$", 29),
	},
	"Link": {
		true,
		`<https://` + exampleHost + `/docs/openapi.json?version=2026-11-01>; rel="service-desc"; type="application/json"`,
		matching(`^<[^<>]+>; rel="[a-z -]+"`, 2000),
	},
	"Cache-Control": {
		true,
		"private, no-cache",
		object{{"type", "string"}, {"enum", []string{"private, no-cache", "no-store"}}},
	},
	"Vary":                   {true, "Authorization, Accept-Language, Svc-Version", matching("^[A-Za-z, -]+$", 200)},
	"X-Content-Type-Options": {true, "nosniff", object{{"type", "string"}, {"enum", []string{"nosniff"}}}},
	"ETag":                   {true, `"r3"`, matching(`^"[0-9a-z]+"$`, 100)},
	"Location":               {true, "/v1/contacts/con_" + exampleSuffix, matching("^/v1/", 500)},
	"Idempotent-Replayed":    {false, "true", object{{"type", "string"}, {"enum", []string{"true"}}}},
	"Accept-Ranges":          {false, "bytes", object{{"type", "string"}, {"enum", []string{"bytes"}}}},
	"Content-Range":          {false, "bytes 0-1023/48213", matching("^bytes ", 100)},
	"Content-Disposition": {
		true, "attachment; filename=\"Klage_.pdf\"; filename*=UTF-8''Klage%C3%BC.pdf",
		matching("^attachment; ", 4000),
	},
	"Content-Security-Policy": {true, "default-src 'none'; sandbox", matching("^default-src 'none'", 100)},
	"Last-Modified": {
		true, "Sun, 01 Nov 2026 09:30:00 GMT",
		matching("^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$", 29),
	},
	"Repr-Digest": {
		true, "sha-256=:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=:",
		matching("^sha-256=:[0-9A-Za-z+/]{43}=:$", 60),
	},
	"Content-Language": {true, "de", object{{"type", "string"}, {"enum", []string{"de", "en"}}}},
	"Retry-After":      {false, "1", matching("^[0-9]+$", 10)},
	"WWW-Authenticate": {true, "Bearer", matching("^Bearer", 500)},
}

// problem returns a reference to the error response with this status and these problem codes.
func (d *drafter) problem(status int, codes []fault.Code) object {
	names := slices.Clone(always)
	names = append(names, "Content-Language")
	switch status {
	case http.StatusUnauthorized:
		names = append(names, "WWW-Authenticate")
	case http.StatusNotFound:
		names = append(names, "Idempotent-Replayed")
	case http.StatusRequestedRangeNotSatisfiable:
		names = append(names, "Content-Range")
	case http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		names = append(names, "Retry-After")
	}
	description, examples := d.problemWords(codes), object{}
	for _, code := range codes {
		examples.set(string(code), d.problemExample(code))
	}
	if len(codes) == 0 {
		code := undeclared[status]
		examples.set(string(code), d.problemExample(code))
	}
	return d.share("responses", problemName(status, codes), object{
		{"description", description},
		{"headers", d.headers(names...)},
		{"content", object{{"application/problem+json", object{
			{"schema", d.share("schemas", "Problem", d.problemSchema())},
			{"examples", examples},
		}}}},
		{"x-kartei-codes", codes},
	})
}

// defaultCodes are the problem codes of a response that is named after its status alone. Other
// codes are added to the name.
var defaultCodes = map[int][]fault.Code{
	http.StatusBadRequest:          {fault.InvalidRequest, fault.UnknownParameter},
	http.StatusForbidden:           {fault.Forbidden, fault.OrganizationMismatch, fault.APIModuleDisabled},
	http.StatusNotFound:            {fault.NotFound},
	http.StatusUnprocessableEntity: {fault.ValidationFailed},
	http.StatusTooManyRequests:     {fault.RateLimited, fault.Overloaded},
	http.StatusServiceUnavailable:  {fault.APIPaused, fault.InstancePending},
}

// undeclared has the code in the example of a status for which the operation has no problem codes.
var undeclared = map[int]fault.Code{
	http.StatusNotFound:            fault.NotFound,
	http.StatusConflict:            fault.IdempotencyInProgress,
	http.StatusUnprocessableEntity: fault.ValidationFailed,
}

// problemName returns the component name of a response, such as BadRequestOrCursorMismatch. The
// text of the status stands for the codes in defaultCodes, if codes has all of them. The other
// codes follow.
func problemName(status int, codes []fault.Code) string {
	name := strings.NewReplacer(" ", "", "-", "").Replace(http.StatusText(status))
	if len(codes) == 0 {
		return "Unused" + name
	}
	known := defaultCodes[status]
	if len(codes) == 1 && len(known) == 0 {
		return camel(codes[0])
	}
	var rest []fault.Code
	all := true
	for _, k := range known {
		all = all && slices.Contains(codes, k)
	}
	if !all {
		name = ""
	}
	for _, c := range codes {
		if !all || !slices.Contains(known, c) {
			rest = append(rest, c)
		}
	}
	for i, c := range rest {
		if i > 0 || name != "" {
			name += "Or"
		}
		name += camel(c)
	}
	return name
}

// camel converts NOT_FOUND to NotFound.
func camel(c fault.Code) string {
	var b strings.Builder
	for word := range strings.SplitSeq(string(c), "_") {
		b.WriteString(word[:1] + strings.ToLower(word[1:]))
	}
	return b.String()
}

func (d *drafter) problemWords(codes []fault.Code) string {
	if len(codes) == 0 {
		return d.say("problem.unused")
	}
	var b strings.Builder
	for i, c := range codes {
		e := c.Entry()
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "`%s`: %s", c, e.Title.In(i18n.German))
		if e.Detail != "" {
			b.WriteString(". " + e.Detail.In(i18n.German))
		}
	}
	return b.String()
}

// problemExample returns a reference to an example of a problem document (RFC 9457).
func (d *drafter) problemExample(code fault.Code) object {
	e := code.Entry()
	return d.share("examples", string(code), object{
		{"summary", e.Title.In(i18n.German)},
		{"description", e.What.In(i18n.German)},
		{"value", problemBody(code)},
	})
}

// problemBody returns an example of a problem document as JSON.
func problemBody(code fault.Code) jsontext.Value {
	e := code.Entry()
	f := e.Example.Fault
	f.Code = code
	return f.AppendProblem(nil, fault.Problem{
		TypeBase: "https://" + exampleHost, Instance: e.Example.Instance, RequestID: "req_" + exampleSuffix,
		Language: i18n.German,
	})
}

// problemSchema describes problem documents (RFC 9457) as the section 'Errors' of the contract
// defines them.
func (d *drafter) problemSchema() object {
	text := func(key, example string, more ...field) object {
		if more == nil {
			more = []field{{"pattern", pattern.Parameter}}
		}
		return append(object{
			{"description", d.say(key)},
			{"type", "string"},
			{"maxLength", 2000},
			{"examples", []string{example}},
		}, more...)
	}
	fieldCodes := make([]string, 0, 12)
	for _, c := range fault.FieldCodes() {
		fieldCodes = append(fieldCodes, string(c))
	}
	entry := d.share("schemas", "ProblemField", object{
		{"description", d.say("schema.ProblemField")},
		{"type", "object"},
		{"required", []string{"field", "code", "message"}},
		{"properties", object{
			{"field", text("schema.ProblemField.field", "email")},
			{"code", text("schema.ProblemField.code", "INVALID_FORMAT", field{"pattern", codePattern},
				field{"x-extensible-enum", fieldCodes})},
			{"message", text("schema.ProblemField.message", "Das Format dieser Angabe stimmt nicht.")},
		}},
	})
	return object{
		{"description", d.say("schema.Problem")},
		{"type", "object"},
		{"required", []string{"type", "title", "status", "instance", "code", "requestId"}},
		{"properties", object{
			{
				"type",
				text("schema.Problem.type", "https://"+exampleHost+"/problems/NOT_FOUND", field{"format", "uri-reference"}),
			},
			{"title", text("schema.Problem.title", "Nicht gefunden")},
			{"status", object{
				{"description", d.say("schema.Problem.status")},
				{"type", "integer"},
				{"format", "int32"},
				{"minimum", 400},
				{"maximum", 599},
				{"examples", []int{404}},
			}},
			{
				"detail",
				text("schema.Problem.detail", "Unter dieser Adresse gibt es nichts, oder es ist für Sie nicht sichtbar."),
			},
			{"instance", text("schema.Problem.instance", "/v1/contacts/con_"+exampleSuffix, field{"format", "uri-reference"})},
			{"code", text("schema.Problem.code", "NOT_FOUND", field{"pattern", codePattern})},
			{"requestId", text("schema.Problem.requestId", "req_"+exampleSuffix, field{"pattern", "^req" + pattern.IDShape})},
			{"errors", object{
				{"description", d.say("schema.Problem.errors")},
				{"type", "array"},
				{"maxItems", schema.MaxErrors},
				{"items", entry},
				{"examples", []any{[]any{
					object{{"field", "email"}, {"code", "INVALID_FORMAT"}, {"message", "Das Format dieser Angabe stimmt nicht."}},
				}}},
			}},
			{"retryAfterMs", object{
				{"description", d.say("schema.Problem.retryAfterMs")},
				{"type", "integer"},
				{"format", "int64"},
				{"minimum", 0},
				{"maximum", maxInteger},
				{"examples", []int{1000}},
			}},
			{"currentRevision", object{
				{"description", d.say("schema.Problem.currentRevision")},
				{"type", "integer"},
				{"format", "int64"},
				{"minimum", 1},
				{"maximum", maxInteger},
				{"examples", []int{5}},
			}},
			{"violated-policies", object{
				{"description", d.say("schema.Problem.violated-policies")}, {"type", "array"}, {"maxItems", 20},
				{"items", object{{"type", "string"}, {"maxLength", 50}, {"pattern", "^[a-z-]+$"}}},
				{"examples", []any{[]string{"key"}}},
			}},
		}},
	}
}

const codePattern = "^[A-Z][A-Z0-9_]*$"

// links returns the OpenAPI links from a created record to the operations on it, or nil if the
// operation does not create.
func (d *drafter) links(row *api.Operation) object {
	if !row.Creates() {
		return nil
	}
	family, _, _ := strings.Cut(row.ID, ".")
	path := row.Path
	if row.Status() == http.StatusAccepted {
		family, path = "operations", "/operations"
	}
	var out object
	for i := range api.Operations {
		o := &api.Operations[i]
		if o.Path != path+"/{id}" {
			continue
		}
		parameters := object{{"path.id", "$response.body#/id"}}
		if o.Conditional() {
			parameters.set("header.If-Match", "$response.header.ETag")
		}
		verb := strings.TrimPrefix(o.ID, family+".")
		out.set(verb, object{{"operationId", o.ID}, {"description", d.say(o.ID + ".summary")}, {"parameters", parameters}})
	}
	return out
}

// introduction returns the introductory paragraphs of the document. The document of a released
// version says that the version is frozen. The document of a candidate does not.
func (d *drafter) introduction() string {
	versions := "info.versions"
	if i := slices.IndexFunc(release.Versions, func(v release.Version) bool { return v.Name == d.version }); i >= 0 &&
		release.Versions[i].Candidate {
		versions = "info.versions.candidate"
	}
	var paragraphs []string
	for _, key := range []string{
		"info", "info.access", versions, "info.headers", "info.costs", "info.problems",
		"info.synchronization", "info.people", "info.references",
	} {
		paragraphs = append(paragraphs, d.say(key))
	}
	return strings.Join(paragraphs, "\n\n")
}
