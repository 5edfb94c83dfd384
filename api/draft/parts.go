package draft

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"kartei/api"
	"kartei/api/pattern"
	"kartei/app"
	"kartei/kit/fault"

	"github.com/go-json-experiment/json/jsontext"
)

// The parts of the document that the table does not say: who we are, how
// callers prove who they are, and what every request and answer carries.

// exampleHost stands in for an instance. .example never resolves (RFC 2606).
const exampleHost = "kartei.example"

func info(version string) object {
	return object{
		{"title", "Kartei API"},
		{"summary", "Kontakte, Firmen, Aufgaben und Dokumente einer Organisation und der Strom ihrer Änderungen"},
		{"description", infoWords(version)},
		{"contact", object{{"name", "Wer die Instanz betreibt"}, {"url", "https://" + exampleHost + "/guide"}}},
		{"license", object{{"name", "Apache License 2.0"}, {"identifier", "Apache-2.0"}}},
		{"version", version},
	}
}

func servers() []object {
	return []object{{
		{"url", "https://{host}/v1"},
		{"description", "Eine Instanz von Kartei"},
		{"variables", object{{"host", object{
			{"default", exampleHost},
			{"description", "Name der Instanz, bei Bedarf mit Port"},
		}}}},
	}}
}

// security is that of all operations; what a credential must hold besides is in
// x-kartei-scope. There is one scheme only: clients that are generated from two
// send the other one over the key.
func security() []object { return []object{{{"apiKey", []string{}}}} }

func securitySchemes() object {
	return object{
		{"apiKey", object{
			{"type", "http"},
			{"scheme", "bearer"},
			{"description", "API-Schlüssel, angelegt mit kartei key create. Er wird wie ein Bearer-Token (RFC 6750) gesendet und gilt für genau eine Organisation."},
		}},
	}
}

// parameters lists what a call may carry besides its body.
func (d *drafter) parameters(op *api.Operation, preview bool) ([]object, error) {
	var out []object
	in := op.Run.Input
	for _, f := range reflect.VisibleFields(in) {
		name := f.Tag.Get("query")
		switch {
		case f.Tag.Get("path") != "":
			out = append(out, d.pathParameter(op, f))
		case name != "" && op.TakesIn(d.version, name):
			p, err := d.queryParameter(op, f)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
	}
	return append(out, d.headerParameters(op, preview)...), nil
}

func (d *drafter) pathParameter(op *api.Operation, f reflect.StructField) object {
	prefix := op.Prefix()
	singular := strings.TrimSuffix(op.Family, "s")
	for _, f := range api.Families {
		if f.Prefix == prefix {
			singular = f.Object
		}
	}
	return d.share("parameters", pascal(singular)+"Id", object{
		{"name", "id"}, {"in", "path"}, {"required", true},
		{"description", "Kennung des Datensatzes. Unbekannte, fremde und unsichtbare werden gleichermaßen mit 404 beantwortet."},
		{"schema", object{{"type", "string"}, {"maxLength", idLength}, {"pattern", pattern.ID(prefix)}}},
		{"example", prefix + exampleSuffix},
	})
}

func (d *drafter) queryParameter(op *api.Operation, f reflect.StructField) (object, error) {
	name := f.Tag.Get("query")
	schema, err := d.value(nil, f, creating)
	if err != nil {
		return nil, err
	}
	p := object{{"name", name}, {"in", "query"}, {"required", false}, {"description", f.Tag.Get("doc")}}
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
	p.set("schema", rest)
	component, in := title(name), declaring(op.Run.Input, f)
	family := title(in.PkgPath()[strings.LastIndexByte(in.PkgPath(), '/')+1:])
	switch old := d.shared["parameters"].lookup(component); {
	case in.Name() == "Filters": // means something else in every family
		component = family + component
	case old == nil || equal(old, p):
	case in.PkgPath() == envelopeType.PkgPath(): // another meaning of the name: CountQ, EventListLimit
		component = strings.TrimSuffix(in.Name(), "Input") + component
	default:
		component = family + strings.TrimSuffix(in.Name(), "Input") + component
	}
	return d.share("parameters", component, p), nil
}

// declaring returns the struct in which a field of t stands, which may be
// embedded.
func declaring(t reflect.Type, f reflect.StructField) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	return t
}

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// pascal writes webhook_endpoint as WebhookEndpoint.
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

// headerParameters lists the headers that an operation needs or heeds. Those
// that every operation heeds and none needs (Svc-Version, Accept-Language,
// Svc-Organization) stand in the introduction only: as parameters, they would be
// arguments of every function of a generated client.
func (d *drafter) headerParameters(op *api.Operation, preview bool) []object {
	header := func(component, name string, required bool, description, example string, schema object) object {
		return d.share("parameters", component, object{
			{"name", name}, {"in", "header"}, {"required", required},
			{"description", description}, {"schema", schema}, {"example", example},
		})
	}
	var out []object
	if preview {
		out = append(out, header("SvcPreview", "Svc-Preview", true,
			"Schaltet Vorschau-Operationen frei; ohne den Header antwortet diese Operation 404 OPERATION_NOT_IN_VERSION. Vorschauen können sich ändern und sind keine Grundlage für den Produktivbetrieb.",
			"true", object{{"type", "string"}, {"maxLength", 4}, {"pattern", "^true$"}})) // no enum: that would be a class for each operation
	}
	if op.Idempotent() {
		component, words := "IdempotencyKey", "Darf fehlen."
		if op.Creates() {
			component, words = "IdempotencyKeyRequired", "Pflicht bei Operationen, die etwas anlegen."
		}
		out = append(out, header(component, "Idempotency-Key", op.Creates(),
			"Frei gewählter Schlüssel, mit dem ein Aufruf gefahrlos wiederholt werden kann: Derselbe Schlüssel mit demselben Inhalt liefert 24 Stunden lang die gespeicherte Antwort. "+words,
			"5f0c7a52-3e0b-4a53-9d0e-8d5c1f6f2b11",
			object{{"type", "string"}, {"minLength", 1}, {"maxLength", 255}, {"pattern", keyPattern}}))
	}
	const tags = ` Ein ETag ist r und die Revision in Anführungszeichen.`
	if op.Preconditional() {
		component, words := "IfMatchOptional", "Darf fehlen. "
		if op.Conditional() {
			component, words = "IfMatch", ""
		}
		out = append(out, header(component, "If-Match", op.Conditional(), words+
			"ETag der Revision, auf der die Änderung beruht; * passt auf jede. Passt er nicht mehr, antwortet die API 412."+tags, `"r3"`,
			object{{"type", "string"}, {"maxLength", 1000}, {"pattern", entityTagsPattern}}))
	}
	if op.AnswersFile() {
		out = append(out, d.fileParameters()...)
	}
	if !op.Writes() && revised(op) {
		out = append(out, header("IfNoneMatch", "If-None-Match", false,
			"ETag, den der Client schon hat; ist er noch aktuell, antwortet die API 304 ohne Inhalt."+tags, `"r3"`,
			object{{"type", "string"}, {"maxLength", 1000}, {"pattern", entityTagsPattern}}))
	}
	return out
}

const (
	// keyPattern is 1 to 255 printable ASCII characters; in double quotes it
	// is a structured field string (RFC 9651).
	keyPattern = `^("[\x20\x21\x23-\x5b\x5d-\x7e]{1,253}"|[\x21\x23-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?)$`
	// entityTagsPattern is * or a list of entity tags (RFC 9110, section 13.1.1).
	entityTagsPattern = `^(\*|(W/)?"[\x21\x23-\x7e]{0,100}"(, ?(W/)?"[\x21\x23-\x7e]{0,100}"){0,8})$`
)

// responses describes every answer that an operation can give.
func (d *drafter) responses(op *api.Operation, preview bool) (object, error) {
	status := op.Run.Status()
	success := object{{"description", successWords[status]}, {"headers", d.successHeaders(op, status)}}
	var part object
	switch {
	case op.AnswersFile():
		success, part = d.file()
	case status != http.StatusNoContent:
		schema, err := d.answerSchema(op)
		if err != nil {
			return nil, err
		}
		example, err := d.answerExample(op)
		if err != nil {
			return nil, err
		}
		success.set("content", object{{"application/json", object{
			{"schema", schema},
			{"examples", object{{"example", example}}},
		}}})
	}
	if links := d.links(op); links != nil {
		success.set("links", links)
	}
	out := object{{fmt.Sprint(status), success}}
	if part != nil {
		out.set(fmt.Sprint(http.StatusPartialContent), part)
	}
	if op.ShowsRecord() {
		out.set("204", object{
			{"description", "Geändert. Der Datensatz steht nicht dabei, weil den Zugangsdaten das Recht `" + op.ReadScope() + "` fehlt."},
			{"headers", d.successHeaders(op, http.StatusNoContent)},
		})
	}
	if !op.Writes() && revised(op) {
		out.set("304", d.share("responses", "NotModified", object{
			{"description", "Der Client hat schon den aktuellen Stand."},
			{"headers", d.headers(append(slices.Clone(always), "ETag")...)},
		}))
	}
	faults := d.faults(op, preview)
	for _, status := range slices.Sorted(maps.Keys(faults)) {
		out.set(fmt.Sprint(status), d.problem(status, faults[status]))
	}
	return out, nil
}

// answerExample shares an example of the answer of success.
func (d *drafter) answerExample(op *api.Operation) (object, error) {
	t, page := answerType(op)
	if t == reflect.TypeFor[api.Document]() {
		return d.share("examples", schemaName(t), object{{"summary", op.Summary}, {"description", "Der Anfang einer Beschreibung."}, {"value", object{
			{"openapi", "3.1.1"},
			{"info", object{{"title", "Kartei API"}, {"version", d.version}}},
			{"paths", object{}},
		}}}), nil
	}
	value, err := valueExample(t)
	if err != nil {
		return nil, err
	}
	name := answerName(op)
	if after, changes := afterwards[op.ID]; changes {
		members := value.(object)
		for _, m := range after {
			members.set(m.name, m.value)
		}
		name += "After" + title(op.ID[strings.IndexByte(op.ID, '.')+1:])
	} else if op.Idempotent() && op.Named() && revised(op) {
		return nil, fmt.Errorf("add what it changes in the example to afterwards in api/draft/parts.go")
	}
	if page {
		value = object{{"data", []any{value}}, {"hasMore", true}, {"nextCursor", "AX3k9bQ"}}
	}
	summary := structWords[schemaName(t)]
	if page {
		summary = "Eine Seite einer Liste"
	}
	return d.share("examples", name, object{{"summary", summary}, {"description", "So sieht die Antwort aus."}, {"value", value}}), nil
}

// afterwards is what an act has made of the record that its example shows.
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

// always are the headers of every answer, errors too.
var always = []string{"Request-Id", "Svc-Version", "RateLimit", "RateLimit-Policy", "Deprecation", "Sunset", "Link", "Cache-Control", "Vary", "X-Content-Type-Options"}

func (d *drafter) successHeaders(op *api.Operation, status int) object {
	names := slices.Clone(always)
	if revised(op) {
		names = append(names, "ETag")
	}
	if status == http.StatusCreated || status == http.StatusAccepted {
		names = append(names, "Location")
	}
	if op.Idempotent() {
		names = append(names, "Idempotent-Replayed")
	}
	if op.Run.Output.Implements(reflect.TypeFor[app.Waiting]()) {
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
			{"description", h.doc}, {"required", h.required}, {"schema", h.schema}, {"example", h.example},
		}))
	}
	return out
}

type responseHeader struct {
	doc      string
	required bool
	example  any
	schema   object
}

func matching(p string, most int) object {
	return object{{"type", "string"}, {"maxLength", most}, {"pattern", p}}
}

// responseHeaders are all headers that an answer can carry.
var responseHeaders = map[string]responseHeader{
	"Request-Id":              {"Kennung der Anfrage, auch im Anfrageprotokoll", true, "req_" + exampleSuffix, matching("^req"+pattern.IDShape, 30)},
	"Svc-Version":             {"Version, in der geantwortet wird", true, "2026-11-01", matching(pattern.Version, 10)},
	"RateLimit":               {"Das knappste Limit: r ist der Rest, t die Sekunden, bis alles wieder voll ist (draft-ietf-httpapi-ratelimit-headers-11)", true, `"key";r=412;t=38`, matching(`^"[a-z-]+";r=[0-9]+;t=[0-9]+$`, 200)},
	"RateLimit-Policy":        {"Die Limits, die für den Aufruf gelten: q ist das Kontingent, w das Zeitfenster in Sekunden", true, `"key";q=300;w=60, "writes";q=60;w=60`, matching(`^"[a-z-]+";q=[0-9]+;w=[0-9]+(;qu="[a-z-]+")?(, "[a-z-]+";q=[0-9]+;w=[0-9]+(;qu="[a-z-]+")?)*$`, 1000)},
	"Deprecation":             {"Seit wann die Version veraltet ist (RFC 9745); fehlt, solange sie es nicht ist", false, "@1793491200", matching("^@[0-9]+$", 20)},
	"Sunset":                  {"Wann die Version abgeschaltet wird (RFC 8594); fehlt, solange das nicht feststeht", false, "Mon, 01 Nov 2027 00:00:00 GMT", matching("^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$", 29)},
	"Link":                    {"Verweise (RFC 8288): service-desc führt zu dieser Beschreibung, ohne Schlüssel zu lesen; deprecation, sunset und successor-version stehen dabei, sobald es sie gibt", true, `<https://` + exampleHost + `/docs/openapi.json?version=2026-11-01>; rel="service-desc"; type="application/json"`, matching(`^<[^<>]+>; rel="[a-z -]+"`, 2000)},
	"Cache-Control":           {"Antworten gehören dem Aufrufer und werden vor erneuter Verwendung geprüft; no-store, wo ein Geheimnis darin steht", true, "private, no-cache", object{{"type", "string"}, {"enum", []string{"private, no-cache", "no-store"}}}},
	"Vary":                    {"Wovon die Antwort abhängt", true, "Authorization, Accept-Language, Svc-Version", matching("^[A-Za-z, -]+$", 200)},
	"X-Content-Type-Options":  {"Der Inhaltstyp gilt, wie er dasteht", true, "nosniff", object{{"type", "string"}, {"enum", []string{"nosniff"}}}},
	"ETag":                    {"Kennzeichen des Standes für If-Match und If-None-Match", true, `"r3"`, matching(`^"[0-9a-z]+"$`, 100)},
	"Location":                {"Pfad des neuen Datensatzes, mit /v1", true, "/v1/contacts/con_" + exampleSuffix, matching("^/v1/", 500)},
	"Idempotent-Replayed":     {"true: die gespeicherte Antwort eines früheren Aufrufs mit demselben Idempotency-Key; fehlt sonst", false, "true", object{{"type", "string"}, {"enum", []string{"true"}}}},
	"Accept-Ranges":           {"Teile der Datei lassen sich verlangen", false, "bytes", object{{"type", "string"}, {"enum", []string{"bytes"}}}},
	"Content-Range":           {"Welcher Teil der Datei es ist; fehlt, wenn es mehrere sind", false, "bytes 0-1023/48213", matching("^bytes ", 100)},
	"Content-Disposition":     {"Der Name der Datei, auch mit Umlauten und anderen Schriften (RFC 8187)", true, "attachment; filename=\"Klage_.pdf\"; filename*=UTF-8''Klage%C3%BC.pdf", matching("^attachment; ", 4000)},
	"Content-Security-Policy": {"Die Datei wird gespeichert und nie als Seite gezeigt", true, "default-src 'none'; sandbox", matching("^default-src 'none'", 100)},
	"Last-Modified":           {"Wann die Datei kam", true, "Sun, 01 Nov 2026 09:30:00 GMT", matching("^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$", 29)},
	"Repr-Digest":             {"SHA-256 der ganzen Datei (RFC 9530)", true, "sha-256=:n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=:", matching("^sha-256=:[0-9A-Za-z+/]{43}=:$", 60)},
	"Content-Language":        {"Sprache von title und detail", true, "de", object{{"type", "string"}, {"enum", []string{"de", "en"}}}},
	"Retry-After":             {"Nach wie vielen Sekunden sich ein neuer Versuch lohnt", false, "1", matching("^[0-9]+$", 10)},
	"WWW-Authenticate":        {"Wie sich ein Aufrufer ausweist (RFC 6750)", true, "Bearer", matching("^Bearer", 500)},
}

// problem shares the description of a problem with one of the codes.
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
	description, examples := problemWords(status, codes), object{}
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

// usual are the codes that give a status its plain name; others are added to
// the name.
var usual = map[int][]fault.Code{
	http.StatusBadRequest:          {fault.InvalidRequest, fault.UnknownParameter},
	http.StatusForbidden:           {fault.Forbidden, fault.OrganizationMismatch, fault.APIModuleDisabled},
	http.StatusNotFound:            {fault.NotFound},
	http.StatusUnprocessableEntity: {fault.ValidationFailed},
	http.StatusTooManyRequests:     {fault.RateLimited, fault.Overloaded},
	http.StatusServiceUnavailable:  {fault.APIPaused, fault.InstancePending},
}

// undeclared shows what a status looks like where none of its causes can arise.
var undeclared = map[int]fault.Code{
	http.StatusNotFound:            fault.NotFound,
	http.StatusConflict:            fault.IdempotencyInProgress,
	http.StatusUnprocessableEntity: fault.ValidationFailed,
}

// problemName names a response: by its status, and by those codes that not
// every operation with this status has.
func problemName(status int, codes []fault.Code) string {
	name := strings.NewReplacer(" ", "", "-", "").Replace(http.StatusText(status))
	if len(codes) == 0 {
		return "Unused" + name
	}
	known := usual[status]
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

// camel writes NOT_FOUND as NotFound.
func camel(c fault.Code) string {
	var b strings.Builder
	for word := range strings.SplitSeq(string(c), "_") {
		b.WriteString(word[:1] + strings.ToLower(word[1:]))
	}
	return b.String()
}

func problemWords(status int, codes []fault.Code) string {
	if len(codes) == 0 {
		return "Für Operationen dieser Art vorgesehen; zurzeit gibt es keinen Anlass dafür."
	}
	var b strings.Builder
	for i, c := range codes {
		e := c.Entry()
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "`%s`: %s", c, e.Title.DE)
		if e.Detail.DE != "" {
			b.WriteString(". " + e.Detail.DE)
		}
	}
	return b.String()
}

// problemExample shares an example as the wire has it.
func (d *drafter) problemExample(code fault.Code) object {
	e := code.Entry()
	return d.share("examples", string(code), object{{"summary", e.Title.DE}, {"description", e.What.DE}, {"value", problemBody(code)}})
}

// problemBody returns an example of a problem.
func problemBody(code fault.Code) jsontext.Value {
	e := code.Entry()
	f := e.Example.Fault
	f.Code = code
	return f.AppendProblem(nil, fault.Problem{
		TypeBase: "https://" + exampleHost, Instance: e.Example.Instance, RequestID: "req_" + exampleSuffix, Language: fault.German,
	})
}

// problemSchema describes RFC 9457 as the contract has it ('Errors').
func (d *drafter) problemSchema() object {
	text := func(doc, example string, more ...field) object {
		if more == nil {
			more = []field{{"pattern", pattern.Parameter}}
		}
		return append(object{{"description", doc}, {"type", "string"}, {"maxLength", 2000}, {"examples", []string{example}}}, more...)
	}
	fieldCodes := make([]string, 0, 12)
	for _, c := range fault.FieldCodes() {
		fieldCodes = append(fieldCodes, string(c))
	}
	entry := d.share("schemas", "ProblemField", object{
		{"description", "Was an einer Stelle der Anfrage nicht stimmt."},
		{"type", "object"},
		{"required", []string{"field", "code", "message"}},
		{"properties", object{
			{"field", text("Stelle im Inhalt (address.country, tags[3]) oder Name des Parameters oder Headers", "email")},
			{"code", text("Grund; weitere können hinzukommen", "INVALID_FORMAT", field{"pattern", codePattern}, field{"x-extensible-enum", fieldCodes})},
			{"message", text("Der Grund in Worten", "Das Format dieser Angabe stimmt nicht.")},
		}},
	})
	return object{
		{"description", "Fehlerantwort nach RFC 9457. Clients verzweigen nach code, nie nach Texten."},
		{"type", "object"},
		{"required", []string{"type", "title", "status", "instance", "code", "requestId"}},
		{"properties", object{
			{"type", text("Seite zu diesem code", "https://"+exampleHost+"/problems/NOT_FOUND", field{"format", "uri-reference"})},
			{"title", text("Kurze Bezeichnung, je code immer dieselbe", "Nicht gefunden")},
			{"status", object{{"description", "HTTP-Status"}, {"type", "integer"}, {"format", "int32"}, {"minimum", 400}, {"maximum", 599}, {"examples", []int{404}}}},
			{"detail", text("Was hier vorliegt; fehlt bei 401", "Unter dieser Adresse gibt es nichts, oder es ist für Sie nicht sichtbar.")},
			{"instance", text("Pfad der Anfrage", "/v1/contacts/con_"+exampleSuffix, field{"format", "uri-reference"})},
			{"code", text("Maschinenlesbarer Grund; weitere können hinzukommen", "NOT_FOUND", field{"pattern", codePattern})},
			{"requestId", text("Kennung der Anfrage, wie im Header Request-Id", "req_"+exampleSuffix, field{"pattern", "^req" + pattern.IDShape})},
			{"errors", object{{"description", "Die Fehler im Einzelnen"}, {"type", "array"}, {"maxItems", api.MaxErrors}, {"items", entry}, {"examples", []any{[]any{object{{"field", "email"}, {"code", "INVALID_FORMAT"}, {"message", "Das Format dieser Angabe stimmt nicht."}}}}}}},
			{"retryAfterMs", object{{"description", "Wartezeit in Millisekunden"}, {"type", "integer"}, {"format", "int64"}, {"minimum", 0}, {"maximum", maxInteger}, {"examples", []int{1000}}}},
			{"currentRevision", object{{"description", "Bei 412: die aktuelle Revision"}, {"type", "integer"}, {"format", "int64"}, {"minimum", 1}, {"maximum", maxInteger}, {"examples", []int{5}}}},
			{"violated-policies", object{
				{"description", "Bei 429: die Namen der Limits, die erreicht sind"}, {"type", "array"}, {"maxItems", 20},
				{"items", object{{"type", "string"}, {"maxLength", 50}, {"pattern", "^[a-z-]+$"}}}, {"examples", []any{[]string{"key"}}},
			}},
		}},
	}
}

const codePattern = "^[A-Z][A-Z0-9_]*$"

// links lead from what was made to what can be done with it.
func (d *drafter) links(op *api.Operation) object {
	if !op.Creates() {
		return nil
	}
	family, _, _ := strings.Cut(op.ID, ".")
	path := op.Path
	if op.Run.Status() == http.StatusAccepted {
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
		out.set(verb, object{{"operationId", o.ID}, {"description", o.Summary}, {"parameters", parameters}})
	}
	return out
}

// Words.

var successWords = map[int]string{
	http.StatusOK:        "Erfolg",
	http.StatusCreated:   "Angelegt",
	http.StatusAccepted:  "Angenommen; der Vorgang läuft weiter",
	http.StatusNoContent: "Gelöscht",
}

var tagWords = map[string]string{
	"meta":              "Wer fragt an, wie stehen die Limits, und was kann die API",
	"contacts":          "Kontakte: die Personen im Adressbuch",
	"companies":         "Firmen und andere Organisationen",
	"tasks":             "Aufgaben mit Fälligkeit und Zuständigkeit",
	"documents":         "Dokumente und ihre Dateien",
	"uploads":           "Uploads, aus denen Dokumente entstehen",
	"batch":             "Mehrere Aufrufe in einem",
	"operations":        "Lang laufende Vorgänge",
	"webhook_endpoints": "Webhook-Endpunkte und ihre Zustellungen",
	"events":            "Ereignisse der letzten 30 Tage",
	webhookTag:          "Was an Webhook-Endpunkte gesendet wird: je Ereignisart eine Anfrage an den Empfänger",
}

var structWords = map[string]string{
	"Address":                   "Postanschrift",
	"BatchCall":                 "Ein Aufruf eines Batch",
	"BatchCalls":                "Ein Batch",
	"BatchHeaders":              "Die Header, die ein Teil eines Batch selbst haben kann",
	"BatchResult":               "Die Antwort auf einen Teil eines Batch: was der Aufruf allein bekommen hätte",
	"BatchResults":              "Die Antworten auf die Teile eines Batch",
	"Company":                   "Eine Firma oder andere Organisation",
	"Contact":                   "Ein Kontakt: eine Person",
	"Count":                     "Ergebnis einer Zählung",
	"DeletionMarker":            "Steht beim Abgleich für einen gelöschten Datensatz; deleted ist immer true",
	"Document":                  "Ein Dokument: was über eine Datei bekannt ist",
	"Event":                     "Ein Ereignis: was sich geändert hat, ohne Inhalte",
	"EventPage":                 "Eine Seite von Ereignissen",
	"EventSubject":              "Worum es in einem Ereignis geht",
	"Fields":                    "Die Felder, die sich setzen lassen",
	"LimitPolicy":               "Ein Limit und was davon übrig ist",
	"Me":                        "Wer mit diesen Zugangsdaten anfragt",
	"MeGrant":                   "Eine OAuth-Freigabe",
	"MeKey":                     "Ein API-Schlüssel ohne sein Geheimnis",
	"MeOrg":                     "Eine Organisation",
	"New":                       "Die Angaben, mit denen etwas Neues beginnt",
	"Operation":                 "Ein lang laufender Vorgang",
	"OperationResult":           "Was ein Vorgang hervorgebracht hat",
	"RateLimit":                 "Stand der Limits",
	"Upload":                    "Ein Upload: wohin eine Datei gesendet wird",
	"WebhookDelivery":           "Ein Zustellversuch",
	"WebhookDeliveryPage":       "Eine Seite des Zustellprotokolls",
	"WebhookEndpoint":           "Ein Webhook-Endpunkt: wohin welche Ereignisse gesendet werden",
	"WebhookEndpointPage":       "Eine Seite von Webhook-Endpunkten",
	"WebhookEndpointWithSecret": "Ein Webhook-Endpunkt mit seinem Geheimnis, das nur dieses eine Mal genannt wird",
	"WebhookTestSent":           "Die Prüfung eines Webhook-Endpunkts",
	"Task":                      "Eine Aufgabe: was zu tun ist, von wem und bis wann",
}

// infoWords introduce the document. One of a version that is not released yet
// does not call itself frozen.
func infoWords(version string) string {
	state := "Diese Beschreibung ist eingefroren."
	if i := slices.IndexFunc(api.Versions, func(v api.Version) bool { return v.Name == version }); i >= 0 && api.Versions[i].Candidate {
		state = "Diese Version ist noch nicht freigegeben; bis dahin kann sich die Beschreibung ändern."
	}
	return `Die öffentliche Schnittstelle von Kartei: Kontakte, Firmen, Aufgaben, Dokumente und ihre Uploads, gebündelte Aufrufe, der Strom der Ereignisse, Webhooks und Auskünfte über die eigenen Zugangsdaten und Limits. Ein Leitfaden vom ersten Aufruf bis zum Abgleich steht auf jeder Instanz unter /guide.

**Zugang.** Jede Anfrage trägt ` + "`Authorization: Bearer <API_KEY>`" + `. Testschlüssel sehen nur die Sandbox, Schlüssel für den Echtbetrieb nur die Organisation selbst.

**Versionen.** ` + state + ` Innerhalb einer Version kommen Felder, Codes und Werte nur hinzu; Clients lesen daher tolerant. Operationen, die als Vorschau bezeichnet sind, brauchen ` + "`Svc-Preview: true`" + ` und können sich ändern.

**Header.** Alle Operationen beachten drei Header, die fehlen dürfen und daher nicht bei jeder einzelnen stehen. ` + "`Svc-Version`" + ` wählt eine Version der API und geht der vor, an die der Schlüssel gebunden ist. ` + "`Accept-Language`" + ` wählt die Sprache von title und detail in Fehlerantworten: en ergibt Englisch, alles andere Deutsch. ` + "`Svc-Organization`" + ` nennt die Organisation, für die der Aufruf gemeint ist; ist es nicht die des Schlüssels, antwortet die API 403 ORGANIZATION_MISMATCH.

**Kosten.** Jeder Aufruf kostet die Punkte, die bei ihm stehen; eine Suche mit q kostet 5 mehr. Ein Schlüssel hat 300 Punkte in der Minute und sammelt bis zu 600 an.

**Fehler** sind application/problem+json (RFC 9457) mit einem stabilen ` + "`code`" + `; x-kartei-codes nennt die möglichen.

**Abgleich.** Mit ` + "`updatedSince`" + ` und dem größten gesehenen ` + "`updatedAt`" + ` entgeht Ihnen nichts, und nichts kommt zweimal. Zusammen mit ` + "`sort=updatedAt`" + ` hat auch die letzte Seite einen ` + "`nextCursor`" + `, mit dem ein Client binnen 24 Stunden weiterliest; danach beginnt er mit ` + "`updatedSince`" + ` neu. Zeiten haben Mikrosekunden: Speichern Sie sie unverändert als Text. Jede Liste hat ihren eigenen Stand.

**Personen.** Eigentümer und Zuständige stehen als Kennung (usr_, svc_) im Datensatz. Namen und Kennungen von Personen gibt die API nicht heraus; man erfährt sie vom Betreiber (` + "`kartei user list`" + `), die eigenen mit ` + "`GET /me`" + `.

**Verweise** auf Datensätze, die gelöscht oder für Sie nicht sichtbar sind, werden mit null beantwortet; ein solches null im PATCH lässt den verborgenen Verweis stehen.`
}
