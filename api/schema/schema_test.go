package schema

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"kartei/api/op"
	"kartei/api/openapi"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record/contact"

	"github.com/go-json-experiment/json/jsontext"
)

// current is the current version.
const current = "2026-11-01"

// never is the Later function for a document without later versions.
func never(operation, parameter string) string { return "" }

func currentRules(t testing.TB) *Document {
	t.Helper()
	document, found := openapi.Document(current)
	if !found {
		t.Fatal("there is no document of " + current)
	}
	r, err := Compile(document, never)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// said returns a fault as text: CODE field CODE, field CODE. It returns ok for nil.
func said(err error) string {
	if err == nil {
		return "ok"
	}
	f := fault.From(err)
	var fields []string
	for _, field := range f.Fields {
		fields = append(fields, field.Name+" "+string(field.Code))
	}
	return strings.TrimSpace(string(f.Code) + " " + strings.Join(fields, ", "))
}

func TestParameters(t *testing.T) {
	r := currentRules(t)
	for query, want := range map[string]string{
		"":                                  "limit=25? includeDeleted? sort=-updatedAt?",
		"&&":                                "limit=25? sort=-updatedAt?",
		"limit=1":                           "limit=1 sort=-updatedAt?",
		"limit=100&sort=updatedAt":          "limit=100 sort=updatedAt",
		"q=M%C3%BCller+%26+Co":              "q=Müller & Co limit=25? sort=-updatedAt?",
		"includeDeleted=true":               "includeDeleted=true limit=25? sort=-updatedAt?",
		"%6c%69mit=7":                       "limit=7 sort=-updatedAt?",
		"q=a=b":                             "q=a=b limit=25? sort=-updatedAt?",
		"updatedSince=1970-01-01T00:00:00Z": "updatedSince=1969-12-31T23:59:59.999999Z limit=25? sort=-updatedAt?",
		"updatedSince=2026-11-01T01:00:00.1234567%2B01:00": "updatedSince=2026-11-01T00:00:00.123456Z limit=25? sort=-updatedAt?",
	} {
		parameters, err := r.Query("contacts.list", query)
		if err != nil {
			t.Errorf("%s: %s", query, said(err))
			continue
		}
		var got []string
		for _, p := range parameters {
			text := fmt.Sprintf("%s=%v", p.Name, p.Value)
			if !p.Given {
				text += "?"
			}
			got = append(got, text)
		}
		if s := strings.Join(got, " "); s != strings.Replace(want, " includeDeleted?", "", 1) {
			t.Errorf("%s:\nhave %s\nwant %s", query, s, want)
		}
	}
}

func TestWrongParameters(t *testing.T) {
	r := currentRules(t)
	for query, want := range map[string]string{
		"limt=5":                                 "UNKNOWN_PARAMETER limt UNKNOWN_FIELD",
		"a=1&limit=0&b":                          "UNKNOWN_PARAMETER a UNKNOWN_FIELD, limit OUT_OF_RANGE, b UNKNOWN_FIELD",
		"Limit=5":                                "UNKNOWN_PARAMETER Limit UNKNOWN_FIELD",
		"=5":                                     "UNKNOWN_PARAMETER  UNKNOWN_FIELD",
		"limit=0":                                "INVALID_REQUEST limit OUT_OF_RANGE",
		"limit=101":                              "INVALID_REQUEST limit OUT_OF_RANGE",
		"limit=9223372036854775808":              "INVALID_REQUEST limit OUT_OF_RANGE",
		"limit=":                                 "INVALID_REQUEST limit INVALID_FORMAT",
		"limit":                                  "INVALID_REQUEST limit INVALID_FORMAT",
		"limit=-0":                               "INVALID_REQUEST limit INVALID_FORMAT",
		"limit=05":                               "INVALID_REQUEST limit INVALID_FORMAT",
		"limit=%2B5":                             "INVALID_REQUEST limit INVALID_FORMAT",
		"limit=5.0":                              "INVALID_REQUEST limit INVALID_FORMAT",
		"limit=5e1":                              "INVALID_REQUEST limit INVALID_FORMAT",
		"limit=0x5":                              "INVALID_REQUEST limit INVALID_FORMAT",
		"limit=5&limit=5":                        "INVALID_REQUEST limit DUPLICATE",
		"sort=name":                              "INVALID_REQUEST sort NOT_IN_ENUM",
		"sort=":                                  "INVALID_REQUEST sort NOT_IN_ENUM",
		"includeDeleted=1":                       "INVALID_REQUEST includeDeleted INVALID_FORMAT",
		"includeDeleted=TRUE":                    "INVALID_REQUEST includeDeleted INVALID_FORMAT",
		"q=":                                     "INVALID_REQUEST q TOO_SHORT",
		"q=" + strings.Repeat("%C3%BC", 201):     "INVALID_REQUEST q TOO_LONG",
		"cursor=" + strings.Repeat("a", 4097):    "INVALID_REQUEST cursor TOO_LONG",
		"q=%ff":                                  "INVALID_REQUEST q INVALID_FORMAT",
		"q=%00":                                  "INVALID_REQUEST q INVALID_FORMAT",
		"q=%C2%85":                               "INVALID_REQUEST q INVALID_FORMAT",
		"q=%4":                                   "INVALID_REQUEST q INVALID_FORMAT",
		"q=%zz":                                  "INVALID_REQUEST q INVALID_FORMAT",
		"%ff=1":                                  "INVALID_REQUEST",
		"updatedSince=":                          "INVALID_REQUEST updatedSince INVALID_FORMAT",
		"updatedSince=2026-11-01":                "INVALID_REQUEST updatedSince INVALID_FORMAT",
		"updatedSince=2026-11-01T00:00:00":       "INVALID_REQUEST updatedSince INVALID_FORMAT",
		"updatedSince=2026-11-01T00:00:00+01:00": "INVALID_REQUEST updatedSince INVALID_FORMAT",
		"updatedSince=2026-11-01T00:00:00%2B24:00": "INVALID_REQUEST updatedSince INVALID_FORMAT",
		"updatedSince=2026-11-01T00:00:00%2B00:60": "INVALID_REQUEST updatedSince INVALID_FORMAT",
		"updatedSince=2026-11-01T00:00:00,5Z":      "INVALID_REQUEST updatedSince INVALID_FORMAT",
		"updatedSince=2026-11-01T0:00:00Z":         "INVALID_REQUEST updatedSince INVALID_FORMAT",
		"updatedSince=2026-11-01T23:59:61Z":        "INVALID_REQUEST updatedSince INVALID_FORMAT",
		"updatedSince=2026-02-29T00:00:00Z":        "INVALID_REQUEST updatedSince INVALID_FORMAT",
		"updatedSince=0000-01-01T00:00:00Z":        "INVALID_REQUEST updatedSince INVALID_FORMAT",
		"updatedSince=10000-01-01T00:00:00Z":       "INVALID_REQUEST updatedSince INVALID_FORMAT",
		"updatedSince=2026-11-01T00:00:00.Z":       "INVALID_REQUEST updatedSince INVALID_FORMAT",
		"sort=x&limit=0&q=&updatedSince=x":         "INVALID_REQUEST sort NOT_IN_ENUM, limit OUT_OF_RANGE, q TOO_SHORT, updatedSince INVALID_FORMAT",
	} {
		if _, err := r.Query("contacts.list", query); said(err) != want {
			t.Errorf("%.60s:\nhave %s\nwant %s", query, said(err), want)
		}
	}
	if _, err := r.Query("openapi.get", "version=2026-1-1"); said(err) != "INVALID_REQUEST version INVALID_FORMAT" {
		t.Error(said(err))
	}
	if _, err := r.Query("me.get", "limit=5"); said(err) != "UNKNOWN_PARAMETER limit UNKNOWN_FIELD" {
		t.Error(said(err))
	}
}

// TestPlus checks the error for a time offset whose plus sign was not encoded. The plus sign
// arrives as a space, and the error must mention %2B.
func TestPlus(t *testing.T) {
	_, err := currentRules(t).Query("contacts.list", "updatedSince=2026-11-01T00:00:00+01:00")
	f := fault.From(err).Fields[0]
	if !strings.Contains(f.Message(i18n.German), "%2B") || !strings.Contains(f.Message(i18n.English), "%2B") {
		t.Error(f.Message(i18n.German), f.Message(i18n.English))
	}
}

// goodBodies are bodies from which a contact can be created.
var goodBodies = []string{
	`{"firstName":"Anna"}`,
	" {\"firstName\":\"Anna\",\"lastName\":null} \r\n",
	`{"email":"a.b+c@xn--mller-kva.example"}`,
	`{"email":"jürgen@müller.example"}`,
	`{"lastName":"B","address":null}`,
	`{"lastName":"B","address":{}}`,
	`{"lastName":"B","note":"eins\nzwei\tdrei"}`,
	`{"lastName":"B","birthday":"2024-02-29"}`,
	`{"lastName":"B","language":"zh-Hant-TW"}`,
	`{"lastName":"B","address":{"country":"DE"},"tags":["a","b"],"visibility":"private"}`,
	`{"lastName":"` + strings.Repeat("ü", 200) + `"}`,
	`{}`, // valid for the document; contacts have a rule about names
}

// unreadableBodies are bodies that are not one JSON object, or are ambiguous.
var unreadableBodies = []string{
	"",
	" ",
	"null",
	"[]",
	`"x"`,
	"1",
	"{",
	"{}{}",
	"{} x",
	`{"a":}`,
	`{"a":1,}`,
	`{'a':1}`,
	`{"a":01}`,
	`{"a":NaN}`,
	"\ufeff{}",
	"{\"a\":\"\n\"}",
	"{\"a\":\"\xff\"}",
	`{"firstName":"\ud800"}`,
	`{"firstName":"a","firstName":"b"}`,
	`{"firstName":"a","\u0066irstName":"b"}`,
	`{"lastName":"B","address":{"city":"a","city":"b"}}`,
}

// wrongBodies are bodies that break rules of members, each with all errors in the order of the
// body.
var wrongBodies = map[string]string{
	`{"x":1}`:                         "x UNKNOWN_FIELD, firstName REQUIRED, lastName REQUIRED, email REQUIRED",
	`{"email":"x"}`:                   "email INVALID_FORMAT",
	`{"firstName":5}`:                 "firstName INVALID_TYPE",
	`{"firstName":""}`:                "firstName TOO_SHORT",
	`{"firstName":" "}`:               "firstName INVALID_FORMAT",
	`{"firstName":"a\u0000"}`:         "firstName INVALID_FORMAT",
	`{"firstName":"a\nb"}`:            "firstName INVALID_FORMAT",
	`{"firstName":"a","x":1}`:         "x UNKNOWN_FIELD",
	`{"firstName":"a","FirstName":1}`: "FirstName UNKNOWN_FIELD",
	`{"firstName":"a","id":"x"}`:      "id READ_ONLY",
	`{"firstName":"a","displayName":1,"revision":2,"object":""}`:       "displayName READ_ONLY, revision READ_ONLY, object READ_ONLY",
	`{"firstName":"a","address":[]}`:                                   "address INVALID_TYPE",
	`{"firstName":"a","address":{"country":"XX"}}`:                     "address.country NOT_IN_ENUM",
	`{"firstName":"a","address":{"country":"de"}}`:                     "address.country NOT_IN_ENUM",
	`{"firstName":"a","address":{"id":1}}`:                             "address.id UNKNOWN_FIELD",
	`{"firstName":"a","tags":null}`:                                    "tags INVALID_TYPE",
	`{"firstName":"a","tags":["x",""," ",5]}`:                          "tags[1] TOO_SHORT, tags[2] INVALID_FORMAT, tags[3] INVALID_TYPE",
	`{"firstName":"a","tags":[` + strings.Repeat(`"x",`, 20) + `"x"]}`: "tags TOO_LONG",
	`{"firstName":"a","visibility":"public"}`:                          "visibility NOT_IN_ENUM",
	`{"firstName":"a","salutation":"herr"}`:                            "salutation NOT_IN_ENUM",
	`{"firstName":"a","ownerId":"con_01jb2z5k3xf0q8r9s7t6v5w4y3"}`:     "ownerId NOT_FOUND",
	`{"firstName":"a","companyId":"x"}`:                                "companyId NOT_FOUND",
	`{"email":"a"}`:                                                    "email INVALID_FORMAT",
	`{"email":"a@b"}`:                                                  "email INVALID_FORMAT",
	`{"email":"a..b@example.com"}`:                                     "email INVALID_FORMAT",
	`{"email":"a b@example.com"}`:                                      "email INVALID_FORMAT",
	`{"email":"a@-example.com"}`:                                       "email INVALID_FORMAT",
	`{"email":"a@example.com\u0000"}`:                                  "email INVALID_FORMAT",
	`{"email":"` + strings.Repeat("a", 65) + `@example.com"}`:          "email INVALID_FORMAT",
	`{"firstName":"a","birthday":"2026-02-29"}`:                        "birthday INVALID_FORMAT",
	`{"firstName":"a","birthday":"0000-01-01"}`:                        "birthday INVALID_FORMAT",
	`{"firstName":"a","birthday":"26-1-1"}`:                            "birthday INVALID_FORMAT",
	`{"firstName":"a","language":"deutsch!"}`:                          "language INVALID_FORMAT",
	`{"firstName":1e999}`:                                              "firstName INVALID_TYPE",
	`{"firstName":-0}`:                                                 "firstName INVALID_TYPE",
	`{"firstName":"` + strings.Repeat("a", 201) + `"}`:                 "firstName TOO_LONG",
	"{\"firstName\":\"a\",\"x\\n\\u0085\":1}":                          "x\ufffd\ufffd UNKNOWN_FIELD",
	`{"zip":1,"tags":["",2],"email":"x","address":{"country":5,"zip":1},"id":1,"firstName":""}`: "zip UNKNOWN_FIELD, tags[0] TOO_SHORT, tags[1] INVALID_TYPE, email INVALID_FORMAT, address.country INVALID_TYPE, address.zip UNKNOWN_FIELD, id READ_ONLY, firstName TOO_SHORT",
}

func TestBody(t *testing.T) {
	r := currentRules(t)
	check := func(body, want string) {
		t.Helper()
		if got := said(r.Body("contacts.create", []byte(body), new(contact.Fields), nil)); got != want {
			t.Errorf("%.80s:\nhave %s\nwant %s", body, got, want)
		}
	}
	for _, body := range goodBodies {
		check(body, "ok")
	}
	for _, body := range unreadableBodies {
		check(body, "INVALID_REQUEST")
	}
	for body, want := range wrongBodies {
		check(body, "VALIDATION_FAILED "+want)
	}
}

func TestPatchBody(t *testing.T) {
	r := currentRules(t)
	for body, want := range map[string]string{
		`{}`:                        "ok",
		`{"firstName":null}`:        "ok",
		`{"tags":null}`:             "ok",
		`{"address":null}`:          "ok",
		`{"address":{"city":null}}`: "ok",
		`{"firstName":"a"}`:         "ok",
		`{"visibility":null}`:       "VALIDATION_FAILED visibility INVALID_TYPE",
		`{"updatedAt":null}`:        "VALIDATION_FAILED updatedAt READ_ONLY",
		`{"x":null}`:                "VALIDATION_FAILED x UNKNOWN_FIELD",
		`[{"op":"remove"}]`:         "INVALID_REQUEST",
	} {
		var patch op.Patch[contact.Fields]
		if got := said(r.Body("contacts.update", []byte(body), &patch, nil)); got != want {
			t.Errorf("%s:\nhave %s\nwant %s", body, got, want)
		}
	}
}

// TestBodyDecodes checks that Body stores the values of an accepted body in the struct.
func TestBodyDecodes(t *testing.T) {
	var f contact.Fields
	if err := currentRules(t).Body("contacts.create",
		[]byte(`{"firstName":"Anna","address":{"city":"Köln"},"tags":["a"]}`), &f, nil); err != nil {
		t.Fatal(err)
	}
	if *f.FirstName != "Anna" || *f.Address.City != "Köln" || f.LastName != nil || !slices.Equal(f.Tags, []string{"a"}) {
		t.Errorf("%+v", f)
	}
}

// TestMessages checks that every error has a text in both languages, and that it does not repeat
// the input.
func TestMessages(t *testing.T) {
	err := currentRules(t).Body("contacts.create",
		[]byte(`{"email":"geheim","address":{"country":"geheim"},"salutation":"geheim","birthday":"geheim","tags":"geheim","firstName":" \u0000geheim"}`), new(contact.Fields), nil)
	f := fault.From(err)
	if len(f.Fields) != 6 {
		t.Fatal(said(err))
	}
	for _, field := range f.Fields {
		for _, l := range []i18n.Language{i18n.German, i18n.English} {
			if m := field.Message(l); m == "" || strings.Contains(m, "geheim") {
				t.Errorf("%s: %q", field.Name, m)
			}
		}
	}
	if m := f.Fields[1].Message(i18n.English); !strings.Contains(m, "ISO 3166-1 alpha-2") {
		t.Errorf("country: %s", m)
	}
}

// TestCostlyBodies checks that a megabyte of invalid input does not need much memory, and that the
// response is small.
func TestCostlyBodies(t *testing.T) {
	r := currentRules(t)
	var members strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&members, `"x%d":1,`, i)
	}
	deep := strings.Repeat(`{"address":`, 10_000)
	for name, body := range map[string]string{
		"10,000 unknown members": `{` + members.String() + `"firstName":"a"}`,
		"10,000 levels":          deep + "1" + strings.Repeat("}", 10_000),
		"10,000 open brackets":   `{"tags":` + strings.Repeat("[", 10_000),
		"a million elements":     `{"firstName":"a","tags":[` + strings.Repeat("1,", 500_000) + `1]}`,
		"a long number":          `{"firstName":` + strings.Repeat("9", 1_000_000) + `}`,
		"a large exponent":       `{"firstName":1e999999999}`,
		"a small exponent":       `{"firstName":1e-999999999}`,
		"a long name":            `{"firstName":"a","` + strings.Repeat("ü", 500_000) + `":1}`,
		"a long text":            `{"firstName":"` + strings.Repeat(" ", 1_000_000) + `"}`,
		// Long names are not repeated for each element. This includes names that look like paths.
		"a long name of many": `{"` + strings.Repeat("k", 500_000) + `":[` + strings.Repeat("1,", 250_000) + `1],"b":1}`,
		"a long name, dotted": `{"` + strings.Repeat("k", 300_000) + `":[` + strings.Repeat("1,", 200_000) + `1],"` +
			strings.Repeat("k", 300_000) + `[7]":1}`,
		"a name of many parts": `{"a":1,"` + strings.Repeat("a.", 500_000) + `":1}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := r.Body("contacts.create", []byte(body), new(contact.Fields), nil)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20+200*uint64(len(body)) {
			t.Errorf("%s: %d bytes were allocated for %d", name, took, len(body))
		}
		f := fault.From(err)
		if f.Code != fault.InvalidRequest && f.Code != fault.ValidationFailed {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(f.AppendProblem(nil, fault.Problem{})); n > 64<<10 || len(f.Fields) > MaxErrors {
			t.Errorf("%s: the answer has %d fields and %d bytes", name, len(f.Fields), n)
		}
	}
	err := r.Body("contacts.create", []byte(`{`+members.String()+`"firstName":"a"}`), new(contact.Fields), nil)
	if f := fault.From(err); len(f.Fields) != MaxErrors || f.Fields[0].Name != "x0" || f.Fields[99].Name != "x99" {
		t.Errorf("the first hundred are not listed: %s", said(err))
	}
}

// numberRules is a document with rules for numbers, which the first version does not have.
const numberRules = `{"openapi":"3.1.1","paths":{"/x":{"post":{"operationId":"x.make","requestBody":{"content":{"application/json":{"schema":{
	"type":"object","additionalProperties":false,"required":["size"],"properties":{
		"size":{"type":"integer","minimum":1,"maximum":100},"low":{"type":"integer","minimum":0},"names":{"type":"array","uniqueItems":true},
		"url":{"type":"string","format":"uri"},"at":{"type":"string","format":"date-time"}}}}}},"responses":{}}}}}`

func TestNumbers(t *testing.T) {
	r, err := Compile([]byte(numberRules), never)
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"size":1}`:                       "ok",
		`{"size":100,"low":0}`:             "ok",
		`{}`:                               "VALIDATION_FAILED size REQUIRED",
		`{"size":0}`:                       "VALIDATION_FAILED size OUT_OF_RANGE",
		`{"size":101}`:                     "VALIDATION_FAILED size OUT_OF_RANGE",
		`{"size":1e999}`:                   "VALIDATION_FAILED size OUT_OF_RANGE",
		`{"size":-1e999}`:                  "VALIDATION_FAILED size OUT_OF_RANGE",
		`{"size":99999999999999999999}`:    "VALIDATION_FAILED size OUT_OF_RANGE",
		`{"size":1.5}`:                     "VALIDATION_FAILED size INVALID_TYPE",
		`{"size":5.0}`:                     "VALIDATION_FAILED size INVALID_TYPE",
		`{"size":5e0}`:                     "VALIDATION_FAILED size INVALID_TYPE",
		`{"size":-0}`:                      "VALIDATION_FAILED size INVALID_TYPE",
		`{"size":1,"low":-0}`:              "VALIDATION_FAILED low INVALID_TYPE",
		`{"size":"1"}`:                     "VALIDATION_FAILED size INVALID_TYPE",
		`{"size":1,"low":-1}`:              "VALIDATION_FAILED low OUT_OF_RANGE",
		`{"size":1,"names":["a","b","a"]}`: "VALIDATION_FAILED names[2] DUPLICATE",
		`{"size":1,"url":"https://kartei.example/a?b#c"}`: "ok",
		`{"size":1,"url":"ftp://kartei.example"}`:         "VALIDATION_FAILED url INVALID_FORMAT",
		`{"size":1,"url":"https://"}`:                     "VALIDATION_FAILED url INVALID_FORMAT",
		`{"size":1,"url":"https://u@kartei.example"}`:     "VALIDATION_FAILED url INVALID_FORMAT",
		`{"size":1,"at":"2026-11-01T00:00:00+01:00"}`:     "ok",
		`{"size":1,"at":"2026-11-01 00:00:00Z"}`:          "VALIDATION_FAILED at INVALID_FORMAT",
	} {
		var in struct {
			Size  int64        `json:"size"`
			Low   int64        `json:"low"`
			Names []string     `json:"names"`
			URL   string       `json:"url"`
			At    clock.Micros `json:"at"`
		}
		var target any = &in
		if got := said(r.Body("x.make", []byte(body), target, nil)); got != want {
			t.Errorf("%s:\nhave %s\nwant %s", body, got, want)
		}
	}
}

func TestParseNumber(t *testing.T) {
	for text, want := range map[string]any{
		"0": int64(0), "-1": int64(-1), "9223372036854775807": int64(math.MaxInt64), "1.5": 1.5,
		"1e400": math.MaxFloat64, "-1e400": -math.MaxFloat64, "1e-400": 0.0,
	} {
		if got := parseNumber(text); got != want {
			t.Errorf("%s: %v (%[2]T), want %v", text, got, want)
		}
	}
}

func TestBrokenDocuments(t *testing.T) {
	for name, document := range map[string]string{
		"no JSON":           `{`,
		"a foreign schema":  `{"paths":{"/x":{"post":{"operationId":"x","requestBody":{"content":{"application/json":{"schema":{"$ref":"https://kartei.example/x.json"}}}}}}}}`,
		"a file":            `{"paths":{"/x":{"post":{"operationId":"x","requestBody":{"content":{"application/json":{"schema":{"$ref":"file:///etc/passwd"}}}}}}}}`,
		"no schema":         `{"paths":{"/x":{"post":{"operationId":"x","requestBody":{"content":{}}}}}}`,
		"an array in query": `{"paths":{"/x":{"get":{"operationId":"x","parameters":[{"name":"a","in":"query","schema":{"type":"array"}}]}}}}`,
		"a broken pattern":  `{"paths":{"/x":{"get":{"operationId":"x","parameters":[{"name":"a","in":"query","schema":{"type":"string","pattern":"("}}]}}}}`,
	} {
		if _, err := Compile([]byte(document), never); err == nil {
			t.Errorf("%s is compiled", name)
		}
	}
	r := currentRules(t)
	if _, err := r.Query("x.y", ""); !fault.Is(err, fault.Internal) {
		t.Error(err)
	}
	if err := r.Body("contacts.list", []byte("{}"), new(contact.Fields), nil); !fault.Is(err, fault.Internal) {
		t.Error(err)
	}
}

func FuzzQueryRules(f *testing.F) {
	r := currentRules(f)
	for _, seed := range []string{
		"", "limit=5", "limit=-0&limit=1", "q=M%C3%BCller", "q=%ff&%ff=q", "updatedSince=2026-11-01T00:00:00%2B01:00",
		"updatedSince=2026-11-01T00:00:00+01:00",
		"sort=-updatedAt&includeDeleted=true", "a=1&b=2", "&&=&;", "%", "%4", "+=+", "cursor=%00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, op := range []string{"contacts.list", "contacts.count", "events.list", "openapi.get"} {
			parameters, err := r.Query(op, query)
			if err != nil {
				answer := fault.From(err)
				if answer.Code != fault.InvalidRequest && answer.Code != fault.UnknownParameter || len(answer.Fields) > MaxErrors {
					t.Fatalf("%q: %v", query, err)
				}
				if body := answer.AppendProblem(nil, fault.Problem{}); !jsontext.Value(body).IsValid() {
					t.Fatalf("%q is answered with %q", query, body)
				}
				continue
			}
			seen := map[string]bool{}
			for _, p := range parameters {
				if seen[p.Name] {
					t.Fatalf("%q gives %s twice", query, p.Name)
				}
				seen[p.Name] = true
				if s, is := p.Value.(string); is && (!utf8.ValidString(s) ||
					strings.ContainsFunc(s, func(c rune) bool { return c < ' ' })) {
					t.Fatalf("%q gives %s as %q", query, p.Name, s)
				}
			}
		}
	})
}

func BenchmarkQuery(b *testing.B) {
	r := currentRules(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Query("contacts.list", "limit=50&updatedSince=2026-11-01T00:00:00Z"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBody(b *testing.B) {
	r := currentRules(b)
	raw := []byte(`{"firstName":"Anna","lastName":"Berg","email":"anna.berg@example.com","address":{"city":"Köln","country":"DE"},"tags":["Mandant"]}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Body("contacts.create", raw, new(contact.Fields), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestManyMembers checks that at most maxElements+1 of a hundred thousand members are stored in
// memory.
func TestManyMembers(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"lastName":"Berg"`)
	for i := range 100_000 {
		fmt.Fprintf(&b, `,"%d":{"a":1}`, i)
	}
	b.WriteString("}")
	object, err := parseBody([]byte(b.String()))
	if err != nil || len(object) > maxElements+1 {
		t.Errorf("%d members are kept, %v", len(object), err)
	}
	if _, err := parseBody([]byte(strings.Replace(b.String(), `"99999"`, `"99998"`, 1))); err == nil {
		t.Error("a name that occurs twice behind the bound is not seen")
	}
}
