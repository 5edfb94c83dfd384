package draft

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kartei/api/release"

	"github.com/go-json-experiment/json"
)

// The file testdata/published-VERSION.txt has the promises of a version's document. A promise is
// what the document guarantees to clients. Each line has a place in the document, and the keywords
// there with their values:
//
//	sent ContactCreate.title: maxLength 200; minLength 1; pattern ^...; type null string
//
// A line begins with `call` for an operation, `sent` for the content of requests, or `answered` for
// the content of responses. A line with `problem` is about all problem responses of a status.
//
// Clients are generated from the names of schemas, so these names are promised. The names of other
// components are not. The lengths and sizes in responses follow from the requests and are not
// promised either.
var (
	grow    = flag.Bool("grow", false, "write what documents promise in addition; what they took back fails (make openapi)")
	retract = flag.Bool("retract", false, "write what documents promise, also where less than before (make retract)")
)

// TestPublished compares the document of each released version with the promises in its file.
// Within a version, parts may be added, but none removed (contract, 'Versioning' 5).
func TestPublished(t *testing.T) {
	for _, version := range release.Versions {
		if version.Candidate {
			continue
		}
		is := promisesOf(t, withWebhooks(t, version.Name))
		file := "testdata/published-" + version.Name + ".txt"
		read, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		broken := takenBack(readPromises(string(read)), is)
		switch {
		case *retract || *grow && len(broken) == 0:
			if err := os.WriteFile(file, []byte(is.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		case len(broken) > 0:
			t.Errorf("%s takes back what it promised:\n\t%s\nWithin a version things are only added (contract, 'Versioning'). "+
				"Put it back, or see 'Taking back a promise' in CONTRIBUTING.md.", version.Name, strings.Join(broken, "\n\t"))
		case is.String() != string(read):
			t.Errorf("%s promises more than %s says: run make openapi", version.Name, file)
		}
	}
}

// node is a JSON object in the document.
type node = map[string]any

// changesOfDocument are changes of the object at a path. broken is the broken promise, or empty if
// the change is allowed. A ~ in a path is a slash in a name.
var changesOfDocument = []struct {
	path   string
	change func(node)
	broken string
}{
	// Requests
	{
		"components/schemas/ContactCreate/properties/title", func(o node) { o["maxLength"] = 60 },
		"sent ContactCreate.title: maxLength was 200 and is 60",
	},
	{"components/schemas/ContactCreate/properties/title", func(o node) { o["maxLength"] = 300 }, ""},
	{"components/schemas/ContactCreate/properties/title", func(o node) { delete(o, "maxLength") }, ""},
	{
		"components/schemas/ContactCreate/properties/title", func(o node) { o["minLength"] = 2 },
		"sent ContactCreate.title: minLength was 1 and is 2",
	},
	{
		"components/schemas/ContactCreate/properties/title", func(o node) { o["pattern"] = "^[a-z]+$" },
		"sent ContactCreate.title: pattern has gained ^[a-z]+$",
	},
	{
		"components/schemas/ContactCreate/properties/title", func(o node) { o["type"] = "string" },
		"sent ContactCreate.title: type has lost null",
	},
	{
		"components/schemas/ContactCreate/properties/title", func(o node) { o["enum"] = []any{"Dr."} },
		"sent ContactCreate.title: enum is new and allows only Dr.",
	},
	{
		"components/schemas/ContactCreate/properties/tags", func(o node) { o["maxItems"] = 5 },
		"sent ContactCreate.tags: maxItems was 20 and is 5",
	},
	{
		"components/schemas/ContactCreate/properties/visibility", func(o node) { o["default"] = "private" },
		"sent ContactCreate.visibility: default has lost organization",
	},
	{"components/schemas/Salutation", func(o node) { o["enum"] = []any{"mr", "ms"} }, "sent Salutation: enum has lost mx"},
	{"components/schemas/Salutation", func(o node) { o["enum"] = []any{"mr", "ms", "mx", "dr"} }, ""},
	{
		"components/schemas/ContactPatch/properties/salutation",
		func(o node) { o["anyOf"] = o["anyOf"].([]any)[:1] },
		"sent ContactPatch.salutation: oneOf has lost null",
	},
	{
		"components/schemas/CompanyCreate", func(o node) { o["required"] = []any{"name", "email"} },
		"sent CompanyCreate: required has gained email",
	},
	{"components/schemas/CompanyCreate", func(o node) { delete(o, "required") }, ""},
	{
		"components/schemas/ContactCreate/properties", func(o node) { delete(o, "mobile") },
		"sent ContactCreate: members has lost mobile",
	},
	{
		"components/schemas/ContactCreate/properties",
		func(o node) { o["addedLater"] = node{"type": "string", "maxLength": 5.0} }, "",
	},
	{
		"components/schemas/ContactCreate/properties/address",
		func(o node) { o["anyOf"] = o["anyOf"].([]any)[:1] },
		"sent ContactCreate.address: oneOf has lost null",
	},
	{
		"components/schemas/Operation/properties/error",
		func(o node) { o["x-kartei-codes"] = []any{"INTERNAL"} },
		"answered Operation.error: codes has lost UPLOAD_CHECKSUM_MISMATCH UPLOAD_INCOMPLETE UPLOAD_REJECTED UPSTREAM VALIDATION_FAILED",
	},
	{
		"components/parameters/Limit/schema", func(o node) { o["maximum"] = 50 },
		"sent GET /contacts query:limit: maximum was 100 and is 50",
	},
	{
		"components/parameters/Sort", func(o node) { o["required"] = true },
		"call GET /contacts: required has gained query:sort",
	},
	{"components/parameters/IdempotencyKeyRequired", func(o node) { o["required"] = false }, ""},
	// Responses
	{"components/schemas/Contact/properties", func(o node) { delete(o, "note") }, "answered Contact.note is gone"},
	{
		"components/schemas/Contact/properties",
		func(o node) { o["addedLater"] = node{"type": []any{"string", "null"}} }, "",
	},
	{
		"components/schemas/Contact", func(o node) { o["required"] = o["required"].([]any)[1:] },
		"answered Contact: required has lost object",
	},
	{
		"components/schemas/Contact/properties/createdAt",
		func(o node) { o["type"] = []any{"string", "null"} },
		"answered Contact.createdAt: type has gained null",
	},
	{
		"components/schemas/Contact/properties/createdAt", func(o node) { delete(o, "format") },
		"answered Contact.createdAt: format has lost date-time",
	},
	{
		"components/schemas/Contact/properties/salutation",
		func(o node) { o["x-extensible-enum"] = []any{"mr", "ms"} },
		"answered Contact.salutation: enum has lost mx",
	},
	{
		"components/schemas/Contact/properties/salutation",
		func(o node) { o["x-extensible-enum"] = []any{"mr", "ms", "mx", "dr"} }, "",
	},
	{
		"components/headers/ETag/schema", func(o node) { o["pattern"] = "^x$" },
		`answered header ETag: pattern has lost ^\"[0-9a-z]+\"$`,
	},
	{
		"paths/~contacts/get/responses/200/headers", func(o node) { delete(o, "Link") },
		"answered GET /contacts 200: headers has lost Link",
	},
	{
		"components/responses/NotAcceptable/headers", func(o node) { delete(o, "Link") },
		"problem 406: headers has lost Link",
	},
	{
		"components/responses/Unauthenticated", func(o node) { o["x-kartei-codes"] = []any{"FORBIDDEN"} },
		"call GET /me problems: 401 has lost UNAUTHENTICATED",
	},
	{
		"components/responses/Unauthenticated",
		func(o node) { o["x-kartei-codes"] = []any{"UNAUTHENTICATED", "KEY_EXPIRED"} }, "",
	},
	// Operations and webhooks
	{"paths", func(o node) { delete(o, "/tasks/{id}/complete") }, "call POST /tasks/{id}/complete is gone"},
	{"paths/~contacts~{id}", func(o node) { o["put"] = o["patch"] }, ""},
	{
		"paths/~contacts~{id}/get/responses", func(o node) { delete(o, "304") },
		"call GET /contacts/{id}: answers has lost 304",
	},
	{
		"paths/~contacts~{id}/get/responses", func(o node) { delete(o, "404") },
		"call GET /contacts/{id} problems: 404 has lost NOT_FOUND",
	},
	{
		"paths/~contacts~{id}/get/responses", func(o node) { delete(o, "409") },
		"call GET /contacts/{id}: answers has lost 409",
	},
	{"paths/~contacts~{id}/get/responses", func(o node) { o["451"] = node{"x-kartei-codes": []any{"LEGAL_HOLD"}} }, ""},
	{"components/responses/UnusedConflict", func(o node) { o["x-kartei-codes"] = []any{"CONTACT_ARCHIVED"} }, ""},
	{"paths/~contacts/get", func(o node) { o["x-kartei-cost"] = 5 }, "call GET /contacts: cost was 2 and is 5"},
	{
		"paths/~contacts/get", func(o node) { o["x-kartei-scope"] = "companies:read" },
		"call GET /contacts: scope has lost contacts:read",
	},
	{
		"paths/~contacts/get", func(o node) { o["x-kartei-channel"] = "preview" },
		"call GET /contacts: channel has lost stable",
	},
	{"paths/~contacts/post", func(o node) { o["x-kartei-channel"] = "stable" }, ""},
	{"webhooks", func(o node) { delete(o, "task.completed") }, "answered webhook task.completed is gone"},
	{
		"webhooks/contact.created/post", func(o node) { o["parameters"] = o["parameters"].([]any)[1:] },
		"answered webhook contact.created: headers has lost webhook-id",
	},
	{"webhooks", func(o node) { o["contact.merged"] = o["contact.created"] }, ""},
	{
		"paths/~contacts/get", func(o node) { o["operationId"] = "contacts.all" },
		"call GET /contacts: id has lost contacts.list",
	},
}

// TestTakenBack changes the document in ways that break clients, and in ways that do not. It checks
// that takenBack returns the expected sentence for the former and nothing for the latter.
func TestTakenBack(t *testing.T) {
	document := withWebhooks(t, "2026-11-01")
	for _, test := range changesOfDocument {
		var root node
		if err := json.Unmarshal(document, &root); err != nil {
			t.Fatal(err)
		}
		o := root
		for name := range strings.SplitSeq(test.path, "/") {
			o = o[strings.ReplaceAll(name, "~", "/")].(node)
		}
		test.change(o)
		changed, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		broken := takenBack(promisesOf(t, document), promisesOf(t, changed))
		switch {
		case test.broken == "" && broken != nil:
			t.Errorf("%s: reported as breaking clients: %s", test.path, broken)
		case test.broken != "" && !slices.Contains(broken, test.broken):
			t.Errorf("%s: %s is not among %s", test.path, test.broken, broken)
		}
	}
	if is := promisesOf(t, document); readPromises(is.String()).String() != is.String() {
		t.Error("what is written is not what is read")
	}
}

// promises maps a place in the document and a keyword to the values of the keyword.
type promises map[string]map[string][]string

// add adds values to a keyword at a place.
func (p promises) add(place, keyword string, words ...string) {
	if p[place] == nil {
		p[place] = map[string][]string{}
	}
	for _, w := range words {
		// Spaces separate the values in the file.
		w = strings.ReplaceAll(strings.Trim(strconv.QuoteToASCII(w), `"`), " ", `\x20`)
		if !slices.Contains(p[place][keyword], w) {
			p[place][keyword] = append(p[place][keyword], w)
		}
	}
	slices.Sort(p[place][keyword])
}

// String returns one line for each place, as in the file.
func (p promises) String() string {
	var b strings.Builder
	for _, place := range slices.Sorted(maps.Keys(p)) {
		var said []string
		for _, keyword := range slices.Sorted(maps.Keys(p[place])) {
			said = append(said, strings.Join(append([]string{keyword}, p[place][keyword]...), " "))
		}
		fmt.Fprintf(&b, "%s: %s\n", place, strings.Join(said, "; "))
	}
	return b.String()
}

// readPromises parses text in the form that String returns.
func readPromises(text string) promises {
	p := promises{}
	for line := range strings.Lines(text) {
		place, said, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		p[place] = map[string][]string{}
		for words := range strings.SplitSeq(said, "; ") {
			f := strings.Fields(words)
			p[place][f[0]] = f[1:]
		}
	}
	return p
}

// takenBack compares an old document (was) with a new one (is). It returns a sentence for each
// broken promise.
func takenBack(was, is promises) []string {
	var broken []string
	gone := "-"
	for _, place := range slices.Sorted(maps.Keys(was)) {
		if part, is := strings.CutPrefix(place, gone); is && strings.ContainsAny(part[:1], " .([") {
			continue // the sentence about the outer place is enough
		}
		if is[place] == nil {
			gone = place
			broken = append(broken, place+" is gone")
			continue
		}
		keywords := maps.Clone(was[place])
		maps.Copy(keywords, is[place])
		side, _, _ := strings.Cut(place, " ")
		for _, keyword := range slices.Sorted(maps.Keys(keywords)) {
			rule := rules[side][keyword]
			if rule == nil { // The keyword is a status. Its values are problem codes.
				rule = keeps
			}
			if why := rule(was[place][keyword], is[place][keyword]); why != "" {
				broken = append(broken, place+": "+keyword+" "+why)
			}
		}
	}
	return broken
}

// rule compares the old and the new values of a keyword. It returns why the change breaks clients,
// or "" if it does not. A nil slice means that the document lacks the keyword.
type rule func(was, is []string) string

// rules maps the first word of a line, such as sent, and a keyword to the rule of the keyword.
// Requests (sent) may only accept more. Responses (answered) may have more members, but their
// values may not have new types.
var rules = map[string]map[string]rule{
	"call": {
		"answers": keeps, "body": keeps, "channel": keeps, "cost": bounded(-1), "events": keeps, "id": fixed, "links": keeps,
		"required": gainsNone, "scope": fixed, "takes": keeps,
	},
	"sent": {
		"closed": gainsNone, "default": fixed, "enum": widens, "format": gainsNone, "is": fixed, "members": keeps,
		"oneOf":    widens,
		"maxItems": bounded(1), "maxLength": bounded(1), "maximum": bounded(1), "maxProperties": bounded(1), "minItems": bounded(-1),
		"minLength": bounded(-1), "minimum": bounded(-1),
		"names": gainsNone, "pattern": gainsNone, "required": gainsNone, "type": keeps,
	},
	"answered": {
		"codes": keeps, "enum": keeps, "format": keeps, "headers": keeps, "is": fixed, "members": keeps, "oneOf": fixed,
		"pattern": keeps, "required": keeps, "type": gainsNone,
	},
	"problem":  {"content": keeps, "headers": keeps},
	"servers":  {"url": keeps},
	"security": {"schemes": keeps},
}

func keeps(was, is []string) string {
	if lost := without(was, is); lost != "" {
		return "has lost " + lost
	}
	return ""
}

func gainsNone(was, is []string) string {
	if more := without(is, was); more != "" {
		return "has gained " + more
	}
	return ""
}

func fixed(was, is []string) string { return cmp.Or(keeps(was, is), gainsNone(was, is)) }

// widens allows additional values. It also allows the removal of the keyword, because then every
// value is allowed.
func widens(was, is []string) string {
	switch {
	case is == nil:
		return ""
	case was == nil:
		return "is new and allows only " + strings.Join(is, " ")
	}
	return keeps(was, is)
}

// bounded returns the rule of a number that may only rise (way is 1) or only fall (way is -1). The
// keyword may be removed, but not added.
func bounded(way int) rule {
	return func(was, is []string) string {
		switch {
		case is == nil:
			return ""
		case was == nil:
			return "is new: " + is[0]
		}
		before, _ := strconv.ParseFloat(was[0], 64)
		now, _ := strconv.ParseFloat(is[0], 64)
		if (now-before)*float64(way) < 0 {
			return fmt.Sprintf("was %s and is %s", was[0], is[0])
		}
		return ""
	}
}

// without returns the elements of a that are not in b, separated by spaces.
func without(a, b []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(a), func(w string) bool { return slices.Contains(b, w) }), " ")
}

// withWebhooks returns the document of a version together with the section webhooks. TestFrozen
// compares the other sections with the frozen document.
func withWebhooks(t *testing.T, version string) []byte {
	t.Helper()
	document, err := Reference(version)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// promiser collects the promises of a document.
type promiser struct {
	testing.TB
	root map[string]any
	promises
}

func promisesOf(t testing.TB, document []byte) promises {
	p := &promiser{t, map[string]any{}, promises{}}
	if err := json.Unmarshal(document, &p.root); err != nil {
		t.Fatal(err)
	}
	for _, s := range p.root["servers"].([]any) {
		p.add("servers", "url", s.(map[string]any)["url"].(string))
	}
	problems := map[string][]string{} // header names that all problem responses of a status have
	for _, alternative := range p.root["security"].([]any) {
		p.add("security", "schemes", slices.Collect(maps.Keys(alternative.(map[string]any)))...)
	}
	for path, item := range p.root["paths"].(map[string]any) {
		for method, row := range item.(map[string]any) {
			p.operation(strings.ToUpper(method)+" "+path, row.(map[string]any), problems)
		}
	}
	for name, item := range p.root["webhooks"].(map[string]any) {
		p.webhook(name, item.(map[string]any)["post"].(map[string]any))
	}
	for status, headers := range problems {
		p.add("problem "+status, "headers", headers...)
	}
	return p.promises
}

// follow returns the target of a reference, or v itself.
func (p *promiser) follow(v any) map[string]any {
	m := v.(map[string]any)
	if ref, is := m["$ref"].(string); is {
		v = p.root
		for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			v = v.(map[string]any)[name]
		}
		return v.(map[string]any)
	}
	return m
}

func (p *promiser) operation(name string, row map[string]any, problems map[string][]string) {
	call := "call " + name
	p.add(call, "id", row["operationId"].(string))
	p.add(call, "cost", fmt.Sprint(row["x-kartei-cost"]))
	if row["x-kartei-channel"] == "stable" {
		p.add(call, "channel", "stable")
	}
	if scope, is := row["x-kartei-scope"].(string); is {
		p.add(call, "scope", scope)
	}
	p.add(call, "events", texts(row["x-kartei-events"])...)
	for _, v := range row["parameters"].([]any) {
		parameter := p.follow(v)
		where := fmt.Sprintf("%s:%s", parameter["in"], parameter["name"])
		p.add(call, "takes", where)
		if parameter["required"] == true {
			p.add(call, "required", where)
		}
		p.schema("sent", name+" "+where, parameter["schema"])
	}
	if v, is := row["requestBody"]; is {
		body := p.follow(v)
		if body["required"] == true {
			p.add(call, "required", "body")
		}
		for media, content := range body["content"].(map[string]any) {
			p.add(call, "body", media)
			p.schema("sent", name+" "+media, content.(map[string]any)["schema"])
		}
	}
	for status, v := range row["responses"].(map[string]any) {
		response := p.follow(v)
		headers, _ := response["headers"].(map[string]any)
		names := slices.Sorted(maps.Keys(headers))
		for _, h := range names {
			header := p.follow(headers[h])
			if header["required"] == true {
				p.add("answered header "+h, "required", "always")
			}
			p.schema("answered", "header "+h, header["schema"])
		}
		content, _ := response["content"].(map[string]any)
		for media, c := range content {
			if schema := c.(map[string]any)["schema"]; status < "400" {
				p.schema("answered", name+" "+status+" "+media, schema)
			} else {
				p.add("problem "+status, "content", media)
				p.schema("answered", "problem "+media, schema)
			}
		}
		links, _ := response["links"].(map[string]any)
		p.add(call, "links", slices.Collect(maps.Keys(links))...)
		p.add(call, "answers", status)
		if status < "400" {
			p.add("answered "+name+" "+status, "headers", names...)
			continue
		}
		p.add(call+" problems", status, texts(response["x-kartei-codes"])...)
		if others, is := problems[status]; is {
			names = slices.DeleteFunc(names, func(h string) bool { return !slices.Contains(others, h) })
		}
		problems[status] = names
	}
}

// webhook adds the promises about the deliveries of an event type: the body and the headers.
func (p *promiser) webhook(name string, row map[string]any) {
	for _, v := range row["parameters"].([]any) {
		parameter := p.follow(v)
		if parameter["required"] == true {
			p.add("answered webhook "+name, "headers", parameter["name"].(string))
		}
		p.schema("answered", "webhook header "+parameter["name"].(string), parameter["schema"])
	}
	for media, content := range p.follow(row["requestBody"])["content"].(map[string]any) {
		p.schema("answered", "webhook "+name+" "+media, content.(map[string]any)["schema"])
	}
}

// schema adds the promises of the schema v at a place. The members of a schema with a name are
// promised once, under that name.
func (p *promiser) schema(side, name string, v any) {
	place := side + " " + name
	for keyword, v := range v.(map[string]any) {
		switch keyword {
		case "$ref":
			named := v.(string)[strings.LastIndexByte(v.(string), '/')+1:]
			p.add(place, "is", named)
			if p.promises[side+" "+named] == nil {
				p.schema(side, named, p.follow(map[string]any{"$ref": v}))
			}
		case "properties":
			for member, schema := range v.(map[string]any) {
				p.add(place, "members", member)
				p.schema(side, name+"."+member, schema)
			}
		case "items":
			p.schema(side, name+"[]", v)
		case "anyOf":
			for _, branch := range v.([]any) {
				b := branch.(map[string]any)
				title := ""
				if ref, is := b["$ref"].(string); is {
					title = ref[strings.LastIndexByte(ref, '/')+1:]
				}
				if title == "" {
					title = fmt.Sprint(b["type"]) // null
				}
				p.add(place, "oneOf", title)
				p.schema(side, name+"("+strings.ReplaceAll(title, " ", "_")+")", branch)
			}
		case "additionalProperties":
			if v == false {
				p.add(place, "closed", "true")
			} else if _, is := v.(map[string]any); is {
				p.schema(side, name+".*", v)
			}
		case "type", "required":
			p.add(place, keyword, texts(v)...)
		case "enum", "x-extensible-enum":
			p.add(place, "enum", texts(v)...)
		case "propertyNames":
			if rule := v.(map[string]any)["pattern"]; rules[side]["names"] != nil {
				p.add(place, "names", word(rule))
			}
		case "pattern", "format", "default", "maxItems", "maxLength", "maximum", "maxProperties", "minItems", "minLength", "minimum":
			if rules[side][keyword] != nil {
				p.add(place, keyword, word(v))
			}
		case "x-kartei-codes":
			p.add(place, "codes", texts(v)...)
		case "description", "examples", "x-kartei-list":
		default:
			p.Fatalf("%s: what a change of %s means is not said in this test", place, keyword)
		}
	}
}

// texts returns the elements of an array as texts. Any other value gives one text, and nil gives
// none.
func texts(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		words := []string{}
		for _, w := range v {
			words = append(words, word(w))
		}
		return words
	}
	return []string{word(v)}
}

// word returns a value as text, with large numbers without an exponent.
func word(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
