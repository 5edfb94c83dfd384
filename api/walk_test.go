package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/api/openapi"
	"kartei/integration/key"
	"kartei/integration/limit"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/people/organization"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// The walks of this file check every operation in the table, including future operations, against
// the rules for all operations.

func TestTable(t *testing.T) {
	ids, places := map[string]bool{}, map[string]bool{}
	for op := range rows() {
		if op.Run.Do == nil && op.ID != "batch.run" { // the API itself runs batch.run
			t.Errorf("%s does nothing", op.ID)
		}
		if place := op.Method + " " + op.Path; ids[op.ID] || places[place] {
			t.Errorf("%s stands twice in the table", op.ID)
		} else {
			ids[op.ID], places[place] = true, true
		}
	}
}

func TestMain(m *testing.M) { dbtest.Main(m) }

// each runs f as a test with an office on each database engine.
func each(t *testing.T, f func(*testing.T, *apitest.Office)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d db.DB) { f(t, apitest.New(t, d)) })
}

// rows yields the operations of the current version.
func rows() func(func(*api.Operation) bool) {
	return func(yield func(*api.Operation) bool) {
		for i := range api.Operations {
			if op := &api.Operations[i]; op.In(apitest.Current()) && !yield(op) {
				return
			}
		}
	}
}

// office returns an office on SQLite. The rules that the walks check do not depend on the database.
func office(t testing.TB, with ...apitest.Option) *apitest.Office {
	t.Helper()
	return apitest.New(t, dbtest.SQLite(t), with...)
}

// somePath returns the path of an operation with an unknown id.
func somePath(op *api.Operation) string {
	return strings.Replace(op.Path, "{id}", id.New(id.Contact), 1)
}

// document returns the frozen OpenAPI document of the current version. It is decoded on first use.
// The test program is also started as a process for each file whose text is extracted, and this
// process does not need the document.
var document = sync.OnceValue(func() (d struct {
	Paths map[string]map[string]struct {
		Parameters  []ref
		RequestBody struct {
			Content map[string]struct {
				Schema   ref
				Example  json.RawMessage
				Examples map[string]struct{ Value json.RawMessage }
			}
		}
	}
	Components struct {
		Parameters map[string]ref
		Schemas    map[string]ref
	}
}) {
	b, _ := openapi.Document(apitest.Current())
	if err := json.Unmarshal(b, &d); err != nil {
		panic(err)
	}
	return d
})

// ref is a parameter or a schema, or a reference to one of them.
type ref struct {
	Ref        string `json:"$ref"`
	Name, In   string
	Example    json.RawMessage
	Examples   json.RawMessage
	Properties map[string]json.RawMessage
}

func resolve(r ref) ref {
	if name, ok := strings.CutPrefix(r.Ref, "#/components/parameters/"); ok {
		return document().Components.Parameters[name]
	}
	if name, ok := strings.CutPrefix(r.Ref, "#/components/schemas/"); ok {
		return document().Components.Schemas[name]
	}
	return r
}

// example returns a request body of an operation, or nil if the operation has no body. It is the
// document's example without members that must be unique or that refer to other records.
func example(t testing.TB, op *api.Operation) any {
	t.Helper()
	if !op.HasBody() {
		return nil
	}
	if op.ID == "batch.run" { // a part with an unknown path is neither charged nor counted
		return map[string]any{"calls": []any{map[string]any{"method": "GET", "path": "/nothing"}}}
	}
	media := document().Paths[op.Path][strings.ToLower(op.Method)].RequestBody.Content["application/json"]
	found := []json.RawMessage{media.Example}
	for _, name := range slices.Sorted(maps.Keys(media.Examples)) {
		found = append(found, media.Examples[name].Value)
	}
	schema := resolve(media.Schema)
	var list []json.RawMessage
	json.Unmarshal(schema.Examples, &list)
	found = append(append(found, schema.Example), list...)
	for _, raw := range found {
		body := map[string]any{}
		if json.Unmarshal(raw, &body) == nil && len(body) > 0 {
			maps.DeleteFunc(body, func(name string, _ any) bool { return strings.HasSuffix(name, "Id") })
			return body
		}
	}
	t.Fatalf("%s has no example of its body", op.ID)
	return nil
}

// ready returns the body that example returns. For documents.create, it adds the id of an upload
// from uploaded.
func ready(t testing.TB, c *apitest.Client, op *api.Operation) any {
	t.Helper()
	body := example(t, op)
	if op.ID == "documents.create" {
		body.(map[string]any)["uploadId"] = uploaded(c)
	}
	return body
}

// picture is the beginning of a PNG file of one pixel. A picture has no text, so no process is
// started to extract text from it.
const picture = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00"

// uploaded returns the id of a finished upload from which c can create a document. If c may not
// upload, it returns an unknown id.
func uploaded(c *apitest.Client) string {
	c.Helper()
	session := c.Do("POST", "/uploads", map[string]any{
		"fileName": "Klageschrift.png", "contentType": "image/png", "size": len(picture),
	})
	if session.Status != 201 {
		return id.New(id.Upload)
	}
	c.Put(session, []byte(picture)).Want(204)
	return session.Text("id")
}

// begin calls an operation whose work continues after its response (202), and returns the response.
func begin(t testing.TB, c *apitest.Client, op *api.Operation, body any) *apitest.Answer {
	t.Helper()
	if body == nil {
		body = example(t, op)
	}
	body.(map[string]any)["uploadId"] = uploaded(c)
	return c.Do("POST", op.Path, body).Want(202)
}

// begun returns the id of a long-running operation that has ended.
func begun(t testing.TB, c *apitest.Client) string {
	t.Helper()
	return c.Await(begin(t, c, creator("documents"), nil)).Text("id")
}

// create creates a record and returns the response. If a long-running operation creates the record,
// create waits for its end, reads the record and returns this response.
func create(t testing.TB, c *apitest.Client, op *api.Operation, body any) *apitest.Answer {
	t.Helper()
	if op.Status() != 202 {
		made := c.Do("POST", op.Path, body)
		if made.Status == 409 { // a principal may have 16 endpoints
			for _, e := range c.Do("GET", op.Path, nil).Want(200).Data() {
				c.Do("DELETE", op.Path+"/"+e["id"].(string), nil, "If-Match", "*").Want(204)
			}
			made = c.Do("POST", op.Path, body)
		}
		return made.Want(201)
	}
	ended := c.Await(begin(t, c, op, body)).JSON()
	return c.Do("GET", op.Path+"/"+ended["result"].(map[string]any)["id"].(string), nil).Want(200)
}

// path creates a record of the operation's family, if the path has an id, and returns the path with
// this id.
func path(t testing.TB, c *apitest.Client, op *api.Operation) string {
	t.Helper()
	if !strings.Contains(op.Path, "{id}") {
		return op.Path
	}
	family := op.Path[:strings.Index(op.Path, "/{id}")]
	for other := range rows() {
		if other.Path == family && other.Creates() {
			return strings.Replace(op.Path, "{id}", create(t, c, other, example(t, other)).Text("id"), 1)
		}
	}
	if family == "/operations" {
		return family + "/" + begun(t, c)
	}
	c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201) // so that there is an event to read
	return strings.Replace(op.Path, "{id}", c.Do("GET", family, nil).Want(200).Data()[0]["id"].(string), 1)
}

// call calls an operation so that it succeeds, unless headers prevent this.
func call(t testing.TB, c *apitest.Client, op *api.Operation, headers ...string) *apitest.Answer {
	t.Helper()
	return callAt(t, c, op, path(t, c, op), headers...)
}

// callAt calls an operation like call, but with the path at.
func callAt(t testing.TB, c *apitest.Client, op *api.Operation, at string, headers ...string) *apitest.Answer {
	t.Helper()
	if op.Conditional() {
		headers = append([]string{"If-Match", "*"}, headers...)
	}
	return c.Do(op.Method, at, ready(t, c, op), headers...)
}

// bare returns a response as text without its path and request id. The header WWW-Authenticate is
// left out too, because it depends on whether a credential was sent.
func bare(a *apitest.Answer) string {
	own := regexp.MustCompile(`"instance":"[^"]*"|"requestId":"[^"]*"`)
	h := a.Header.Clone()
	h.Del("Request-Id")
	h.Del("Content-Length")
	h.Del("WWW-Authenticate")
	return fmt.Sprint(a.Status, h, own.ReplaceAllString(string(a.Body), ""))
}

func TestWalkCredentials(t *testing.T) {
	o := office(t)
	c := o.As(access.Member)
	credentials := map[string]string{
		"none": "", "scheme only": "Bearer", "empty": "Bearer  ", "another scheme": "Basic dXNlcjpwYXNz", "no scheme": c.Key,
		"malformed": "Bearer kart_test_nonsense", "wrong checksum": "Bearer " + c.Key[:len(c.Key)-1] + "_",
		"cut":           "Bearer " + c.Key[:len(c.Key)-3],
		"unknown":       "Bearer " + resealed(c.Key, len("kart_test_")),
		"wrong secret":  "Bearer " + resealed(c.Key, len("kart_test_")+20),
		"spaces inside": "Bearer " + c.Key[:20] + " " + c.Key[20:], "twice in one": "Bearer " + c.Key + ", Bearer " + c.Key,
		"another environment": "Bearer " + strings.Replace(c.Key, "_test_", "_live_", 1),
	}
	for name, change := range map[string]func(context.Context, string) error{
		"paused": func(ctx context.Context, key string) error {
			_, err := o.Operator.PauseKey(ctx, op.ByID{ID: key})
			return err
		},
		"revoked": func(ctx context.Context, key string) error {
			_, err := o.Operator.RevokeKey(ctx, op.ByID{ID: key})
			return err
		},
	} {
		made, err := o.Operator.CreateKey(t.Context(), key.New{
			Organization: o.ID, Principal: c.Principal, Environment: "test", Scopes: []string{"contacts:read"},
		})
		if err == nil {
			err = change(t.Context(), made.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		credentials[name] = "Bearer " + made.Key
	}
	seen := map[string]string{}
	refused := func(method, at string) {
		for name, authorization := range credentials {
			a := c.Do(method, at, nil, "Authorization", authorization).Want(401)
			if method != "HEAD" {
				a.Want(401, "UNAUTHENTICATED")
			}
			want := `Bearer error="invalid_token", `
			if name == "none" || name == "empty" {
				want = "Bearer "
			}
			if want += `resource_metadata="` + apitest.BaseURL +
				`/.well-known/oauth-protected-resource/v1"`; a.Header.Get("WWW-Authenticate") != want {
				t.Errorf("%s %s, %s: WWW-Authenticate %q", method, at, name, a.Header["Www-Authenticate"])
			}
			if strings.Contains(string(a.Body), `"detail"`) {
				t.Errorf("%s %s, %s: says why: %s", method, at, name, a.Body)
			}
			seen[bare(a)] = method + " " + at + ", " + name
		}
	}
	for op := range rows() {
		refused(op.Method, somePath(op))
	}
	if len(seen) != 1 {
		t.Errorf("%d different answers: %v", len(seen), seen)
	}
	clear(seen)
	for op := range rows() {
		if op.Method == "GET" {
			refused("HEAD", somePath(op))
		}
	}
	if len(seen) != 1 {
		t.Errorf("%d different answers to HEAD: %v", len(seen), seen)
	}
}

// resealed changes the character i of an API key, and corrects the checksum of the key.
func resealed(key string, i int) string {
	const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := []byte(key[:len(key)-6])
	b[i] = base62[(strings.IndexByte(base62, b[i])+1)%62]
	digits := make([]byte, 6)
	for sum, j := crc32.ChecksumIEEE(b), 5; j >= 0; j-- {
		digits[j] = base62[sum%62]
		sum /= 62
	}
	return string(b) + string(digits)
}

func TestWalkScope(t *testing.T) {
	o := office(t)
	all := o.As(access.Member)
	for op := range rows() {
		if op.Scope == "" {
			for _, scope := range []string{"contacts:read", "tasks:write"} {
				few := &apitest.Client{Office: o, Principal: all.Principal, Key: o.Key(all.Principal, scope)}
				if a := few.Do(op.Method, somePath(op), nil); a.Status == 403 {
					t.Errorf("%s needs a scope", op.ID)
				}
			}
			continue
		}
		others := slices.DeleteFunc(slices.Clone(apitest.AllScopes), func(s string) bool { return s == op.Scope })
		c := &apitest.Client{Office: o, Principal: all.Principal, Key: o.Key(all.Principal, others...)}
		c.Do(op.Method, path(t, all, op), example(t, op), "If-Match", "*").Want(403, "FORBIDDEN")
		scopes := []string{op.Scope}
		if op.ID == "webhookEndpoints.create" || op.ID == "webhookEndpoints.update" {
			scopes = append(scopes, "contacts:read") // the scope for its event types
		}
		only := &apitest.Client{Office: o, Principal: all.Principal, Key: o.Key(all.Principal, scopes...)}
		status := op.Status()
		// If a caller may write but not read, the response has no existing record.
		changes := op.ShowsRecord()
		if changes {
			status = 204
		}
		a := only.Do(op.Method, path(t, all, op), ready(t, all, op), "If-Match", "*").Want(status)
		if changes && len(a.Body) > 0 || op.Revises() && !strings.HasPrefix(a.Header.Get("ETag"), `"r`) {
			t.Errorf("%s without the right to read: ETag %q, %s", op.ID, a.Header.Get("ETag"), a.Body)
		}
	}
	viewer := o.As(access.Viewer)
	for op := range rows() {
		if strings.HasSuffix(op.Scope, ":write") {
			viewer.Do(op.Method, somePath(op), nil).Want(403, "FORBIDDEN")
		}
	}
}

func TestWalkPreview(t *testing.T) {
	c := office(t).As(access.Member)
	version := apitest.Current()
	for op := range rows() {
		for value, want := range map[string]struct {
			status int
			code   string
		}{"": {404, "OPERATION_NOT_IN_VERSION"}, "false": {404, "OPERATION_NOT_IN_VERSION"}, "true": {op.Status(), ""}} {
			if !op.Channel.Preview(version) {
				want.status, want.code = op.Status(), ""
			}
			a := call(t, c, op, "Svc-Preview", value).Want(want.status)
			if want.code != "" {
				a.Want(want.status, want.code)
			}
		}
		for _, value := range []string{"True", "1", "yes", "true, true", " "} {
			a := c.Do(op.Method, somePath(op), nil, "Svc-Preview", value).Want(400, "INVALID_REQUEST")
			wantFields(t, a, "Svc-Preview NOT_IN_ENUM")
		}
		r := c.Request(op.Method, somePath(op), nil)
		r.Header["Svc-Preview"] = []string{"true", "true"}
		wantFields(t, c.Send(r).Want(400, "INVALID_REQUEST"), "Svc-Preview NOT_IN_ENUM")
	}
}

func wantFields(t testing.TB, a *apitest.Answer, want ...string) {
	t.Helper()
	if got := a.Fields(); !slices.Equal(got, want) {
		t.Errorf("errors %q, want %q: %s", got, want, a.Body)
	}
}

func TestWalkOrganization(t *testing.T) {
	o := office(t)
	c := o.As(access.Member)
	other, _ := o.Organization("Kanzlei Abendroth")
	for op := range rows() {
		for _, value := range []string{other, o.ID /* the live one of a test key */, "org_x", " "} {
			c.Do(op.Method, somePath(op), nil, "Svc-Organization", value).Want(403, "ORGANIZATION_MISMATCH")
		}
	}
	for op := range rows() {
		call(t, c, op, "Svc-Organization", o.SandboxID).Want(op.Status())
	}
}

func TestWalkUnknownParameter(t *testing.T) {
	c := office(t).As(access.Member)
	for op := range rows() {
		at, body := somePath(op), example(t, op)
		send := func(query string) *apitest.Answer {
			return c.Do(op.Method, at+"?"+query, body, "If-Match", "*")
		}
		wantFields(t, send("nosuch=1").Want(400, "UNKNOWN_PARAMETER"), "nosuch UNKNOWN_FIELD")
		wantFields(t, send("a=1&b&a=2&%C3%A4=3").Want(400, "UNKNOWN_PARAMETER"), "a UNKNOWN_FIELD", "b UNKNOWN_FIELD",
			"ä UNKNOWN_FIELD")
		wantFields(t, send("Limit=1").Want(400, "UNKNOWN_PARAMETER"), "Limit UNKNOWN_FIELD")
		send("%zz=1").Want(400, "INVALID_REQUEST")
		for _, p := range parameters(op) {
			pair := p.Name + "=" + url.QueryEscape(sample(p))
			wantFields(t, send(pair+"&nosuch=1").Want(400, "UNKNOWN_PARAMETER"), "nosuch UNKNOWN_FIELD")
			a := send(pair+"&"+pair).Want(400, "INVALID_REQUEST")
			if !slices.Contains(a.Fields(), p.Name+" DUPLICATE") {
				t.Errorf("%s?%s twice: %s", op.ID, pair, a.Body)
			}
		}
	}
}

// parameters returns the query parameters of an operation.
func parameters(op *api.Operation) (query []ref) {
	for _, p := range document().Paths[op.Path][strings.ToLower(op.Method)].Parameters {
		if p = resolve(p); p.In == "query" {
			query = append(query, p)
		}
	}
	return query
}

// sample returns the example of a parameter as the value of a query parameter.
func sample(p ref) string {
	var named map[string]struct{ Value json.RawMessage }
	json.Unmarshal(p.Examples, &named)
	raw := p.Example
	for _, e := range named {
		raw = e.Value
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

var english = map[string]bool{
	"": false, "de": false, "fr": false, "en": true, "EN": true, "en-GB": true, "de-AT, en;q=0.9": false,
	"en, de;q=0.9":       true,
	"de;q=0.1, en;q=0.2": true, "*": false, "en;q=0": false, "x": false, ";;;,,,=": false, "en;q=nan": false,
	"en;q=2": false, "fr, en;q=0.5": true,
	"english": false, "de;q=0": false, "en;level=1": true, "\"en\"": false, strings.Repeat("en,", 1000): true,
}

// TestWalkLanguage checks the language of two kinds of problems from every operation, for several
// values of Accept-Language.
func TestWalkLanguage(t *testing.T) {
	c := office(t).As(access.Member)
	for op := range rows() {
		at := somePath(op)
		for _, authorization := range []string{"Basic x", "Bearer " + c.Key} {
			titles := map[bool]string{}
			codes := map[string]bool{}
			for accept, inEnglish := range english {
				a := c.Do(op.Method, at+"?nosuch=1", emptyBody(op), "Authorization", authorization, "Accept-Language", accept)
				checkProblem(t, a, at, inEnglish)
				if titles[inEnglish] == "" {
					titles[inEnglish] = a.Text("title")
				}
				if titles[inEnglish] != a.Text("title") {
					t.Errorf("%s, %q: title %q", op.ID, accept, a.Text("title"))
				}
				codes[a.Text("code")] = true
			}
			if titles[true] == titles[false] || len(codes) != 1 {
				t.Errorf("%s: titles %v, codes %v", op.ID, titles, codes)
			}
		}
	}
}

// emptyBody returns a body that is refused only after the query has been checked.
func emptyBody(op *api.Operation) any {
	if op.Method == "POST" || op.Method == "PATCH" {
		return `{}`
	}
	return nil
}

// checkProblem fails the test unless a response is a valid problem document in the language.
func checkProblem(t testing.TB, a *apitest.Answer, path string, inEnglish bool) {
	t.Helper()
	p := a.JSON()
	language := "de"
	if inEnglish {
		language = "en"
	}
	if got := a.Header.Get("Content-Language"); got != language {
		t.Errorf("Content-Language %q, want %q: %s", got, language, a.Body)
	}
	if got := a.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type %q", got)
	}
	code := a.Text("code")
	for _, member := range []string{"type", "title", "instance", "code", "requestId"} {
		if a.Text(member) == "" {
			t.Errorf("no %s: %s", member, a.Body)
		}
	}
	if a.Text("type") != "https://kartei.example/problems/"+code {
		t.Errorf("type %q of %s", a.Text("type"), code)
	}
	if p["status"] != float64(a.Status) || a.Text("requestId") != a.Header.Get("Request-Id") ||
		a.Text("instance") != "/v1"+path {
		t.Errorf("status %d, Request-Id %s: %s", a.Status, a.Header.Get("Request-Id"), a.Body)
	}
	if _, has := p["detail"]; has == (code == "UNAUTHENTICATED") {
		t.Errorf("detail of %s: %v", code, p["detail"])
	}
	if errors, has := p["errors"].([]any); has {
		for _, e := range errors {
			m := e.(map[string]any)
			if len(m) != 3 || m["field"] == "" || m["code"] == "" || m["message"] == "" {
				t.Errorf("errors holds %v", m)
			}
		}
	}
}

var (
	rateLimit       = regexp.MustCompile(`^"[a-z-]+";r=[0-9]+;t=[0-9]+$`)
	rateLimitPolicy = regexp.MustCompile(`^"[a-z-]+";q=[0-9]+;w=[0-9]+(;qu="[a-z-]+")?(, "[a-z-]+";q=[0-9]+;w=[0-9]+(;qu="[a-z-]+")?)*$`)
)

// secret lists the operations whose response contains a secret. The secret of an upload is its URL.
var secret = []string{"uploads.create", "webhookEndpoints.create", "webhookEndpoints.rotateSecret"}

// checkHeaders checks the headers that every response must have exactly once.
func checkHeaders(t testing.TB, name string, a *apitest.Answer) {
	t.Helper()
	for header, want := range map[string]string{
		"Svc-Version": apitest.Current(), "Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff",
		"Vary": "Authorization, Accept-Language, Svc-Version",
	} {
		if header == "Cache-Control" && a.Status < 300 && slices.Contains(secret, name) {
			want = "no-store"
		}
		if got := a.Header[header]; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %s %q, want %q", name, header, got, want)
		}
	}
	for header, form := range map[string]*regexp.Regexp{
		"Request-Id": regexp.MustCompile(`^req_[0-7][0-9a-hjkmnp-tv-z]{25}$`), "Ratelimit": rateLimit, "Ratelimit-Policy": rateLimitPolicy,
		"Link": regexp.MustCompile(`^<https://kartei\.example/docs/openapi\.json\?version=[0-9-]{10}>; rel="service-desc"`),
	} {
		if got := a.Header[header]; len(got) != 1 || !form.MatchString(got[0]) {
			t.Errorf("%s: %s %q", name, header, got)
		}
	}
}

func TestWalkHeaders(t *testing.T) {
	for _, metered := range []bool{false, true} {
		var with []apitest.Option
		if metered {
			with = append(with, apitest.Metered())
		}
		c := office(t, with...).As(access.Member)
		for op := range rows() {
			checkHeaders(t, op.ID+" refused", c.Do(op.Method, somePath(op), nil, "Authorization", ""))
			a := call(t, c, op).Want(op.Status())
			checkHeaders(t, op.ID, a)
			if got := a.Header.Get("Content-Type"); len(a.Body) > 0 && got != "application/json" && !op.AnswersFile() {
				t.Errorf("%s: Content-Type %q", op.ID, got)
			}
			for _, unwanted := range []string{"Content-Language", "Www-Authenticate", "Retry-After", "Idempotent-Replayed"} {
				if got, has := a.Header[unwanted]; has && !(unwanted == "Retry-After" && a.Status == 202) {
					t.Errorf("%s: %s %q", op.ID, unwanted, got)
				}
			}
			if a.Status == 202 && a.Header.Get("Location") != "/v1/operations/"+a.Text("id") {
				t.Errorf("%s: Location %q", op.ID, a.Header.Get("Location"))
			}
			if op.Creates() && a.Status == 201 {
				name := a.Text("id")
				at := "/v1" + op.Path + "/" + name
				if op.Family == "uploads" { // an upload session cannot be read
					at = ""
				}
				if got := strings.Join(a.Header.Values("Location"), " "); got != at || a.Header.Get("ETag") != `"r1"` {
					t.Errorf("%s: Location %q, want %q, ETag %q", op.ID, got, at, a.Header.Get("ETag"))
				}
				if at != "" {
					c.Do("GET", strings.TrimPrefix(at, "/v1"), nil).Want(200)
				}
			}
			checkHeaders(t, op.ID+" wrong", c.Do(op.Method, somePath(op)+"?nosuch=1", nil).Want(400))
			c.Clock.Advance(time.Minute) // so that enough points are left
		}
	}
}

// TestWalkRequestID checks that every response has a unique request id, and that the request log
// has an entry with this id.
func TestWalkRequestID(t *testing.T) {
	c := office(t).As(access.Member)
	seen := map[string]bool{}
	for op := range rows() {
		for range 2 {
			name := c.Do(op.Method, somePath(op), nil).Header.Get("Request-Id")
			if seen[name] {
				t.Errorf("%s: Request-Id %s again", op.ID, name)
			}
			seen[name] = true
		}
	}
}

func TestWalkIdempotencyKey(t *testing.T) {
	o := office(t)
	for op := range rows() {
		c := o.As(access.Member) // idempotency keys belong to a principal
		if !op.Creates() {
			if !op.Writes() {
				continue
			}
			call(t, c, op, "Idempotency-Key", "").Want(op.Status())
			continue
		}
		wantFields(t, call(t, c, op, "Idempotency-Key", "").Want(400, "INVALID_REQUEST"), "Idempotency-Key REQUIRED")
		for _, key := range []string{
			strings.Repeat("k", 256), "schlüssel", "a\x01b", "a\tb", `"open`, `"a"b`, `""`, `"a", "b"`,
		} {
			wantFields(t, call(t, c, op, "Idempotency-Key", key).Want(400, "INVALID_REQUEST"), "Idempotency-Key INVALID_FORMAT")
		}
		r := c.Request(op.Method, op.Path, example(t, op))
		r.Header["Idempotency-Key"] = []string{"one", "one"}
		wantFields(t, c.Send(r).Want(400, "INVALID_REQUEST"), "Idempotency-Key INVALID_FORMAT")
		r = c.Request(op.Method, op.Path, example(t, op))
		r.Header["Idempotency-Key"] = []string{""}
		wantFields(t, c.Send(r).Want(400, "INVALID_REQUEST"), "Idempotency-Key INVALID_FORMAT")
		for _, key := range []string{"x", strings.Repeat("k", 255), "with spaces ~!@#", `"quoted \"text\""`} {
			call(t, c, op, "Idempotency-Key", key).Want(op.Status())
		}
	}
}

func TestWalkPreconditions(t *testing.T) {
	c := office(t).As(access.Member)
	for op := range rows() {
		if !op.Preconditional() {
			continue
		}
		at, body := path(t, c, op), example(t, op)
		send := func(ifMatch string) *apitest.Answer { return c.Do(op.Method, at, body, "If-Match", ifMatch) }
		if op.Conditional() {
			send("").Want(428, "PRECONDITION_REQUIRED")
		}
		for _, malformed := range []string{
			"r1", `"r1`, `r1"`, `W/r1`, `w/"r1"`, `"r1" "r2"`, `*, "r1"`, `"r1", *`, "**", ",", `"r1";`, `"a b"`,
			"\"a\x7fb\"",
		} {
			wantFields(t, send(malformed).Want(400, "INVALID_REQUEST"), "If-Match INVALID_FORMAT")
		}
		for _, stale := range []string{
			`"r2"`, `"*"`, `"r0"`, `"r01"`, `"R1"`, `W/"r1"`, `""`, `"r2", W/"r1"`, `"99999999999999999999"`,
		} {
			if got := send(stale).Want(412, "PRECONDITION_FAILED").JSON()["currentRevision"]; got != 1.0 {
				t.Errorf("%s, %s: currentRevision %v", op.ID, stale, got)
			}
		}
		r := c.Request(op.Method, at, body)
		r.Header["If-Match"] = []string{`"r7"`, `"r8"`}
		c.Send(r).Want(412, "PRECONDITION_FAILED")
		send(`, W/"r9" ,, "r1",`).Want(op.Status())
	}
}

// TestWalkHead checks that HEAD returns the same status and headers as GET, without the content.
func TestWalkHead(t *testing.T) {
	o := office(t)
	c, s := o.As(access.Member), o.Listen()
	for op := range rows() {
		if op.Method != "GET" {
			continue
		}
		for _, at := range []string{path(t, c, op), somePath(op) + "?nosuch=1"} {
			get, head := s.Send(c, apitest.Wire{Method: "GET", Path: at}), s.Send(c, apitest.Wire{Method: "HEAD", Path: at})
			if head.Status != get.Status || len(head.Body) != 0 {
				t.Errorf("HEAD %s: %d %q, GET %d", at, head.Status, head.Body, get.Status)
			}
			for _, h := range []http.Header{get.Header, head.Header} {
				if h.Get("Request-Id") == "" || h.Get("Content-Length") == "" {
					t.Errorf("%s: %v", at, h)
				}
				h.Del("Request-Id")
				h.Del("Date")
			}
			if !maps.EqualFunc(get.Header, head.Header, slices.Equal) {
				t.Errorf("%s\nGET  %v\nHEAD %v", at, get.Header, head.Header)
			}
		}
	}
}

// TestWalkMethods sends all other methods to every path. It checks that the responses with and
// without credentials are equal.
func TestWalkMethods(t *testing.T) {
	c := office(t).As(access.Member)
	allowed := map[string][]string{}
	for op := range rows() {
		allowed[op.Path] = append(allowed[op.Path], op.Method)
		if op.Method == "GET" {
			allowed[op.Path] = append(allowed[op.Path], "HEAD")
		}
	}
	for at, methods := range allowed {
		for _, method := range []string{
			"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "CONNECT", "QUERY", "PROPFIND",
			"FOO", "get", "X-Y",
		} {
			if slices.Contains(methods, method) {
				continue
			}
			for _, authorization := range []string{"", "Bearer " + c.Key} {
				// Request adds headers for some methods, so the method is set afterwards.
				r := c.Request("POST", strings.Replace(at, "{id}", id.New(id.Contact), 1), nil, "Authorization", authorization)
				r.Method = method
				a := c.Send(r).Want(405)
				if method != "HEAD" {
					a.Want(405, "METHOD_NOT_ALLOWED")
				}
				got := strings.Split(a.Header.Get("Allow"), ", ")
				slices.Sort(got)
				slices.Sort(methods)
				if !slices.Equal(got, methods) {
					t.Errorf("%s %s: Allow %q, want %q", method, at, got, methods)
				}
				checkHeaders(t, method+" "+at, a)
			}
		}
	}
}

func TestUnknownPaths(t *testing.T) {
	c := office(t).As(access.Member)
	for _, at := range []string{
		"", "/", "//", "/contact", "/Contacts", "/contacts/", "//contacts", "/contacts//",
		"/contacts/" + id.New(id.Contact) + "/",
		"/contacts/a/b", "/contacts/count/x", "/me/x", "/me/", "/openapi.yaml", "/contacts/%2F/complete", "/%63ontacts",
		"/tasks/x/finish", "/v1/contacts", "/events/a/b/c/d/e/f",
	} {
		for _, method := range []string{"GET", "POST", "HEAD", "FOO"} {
			for _, authorization := range []string{"", "Bearer " + c.Key} {
				r := c.Request("POST", at, nil, "Authorization", authorization)
				r.Method = method
				a := c.Send(r).Want(404)
				if method != "HEAD" {
					a.Want(404, "NOT_FOUND")
				}
				checkHeaders(t, method+" "+at, a)
			}
		}
	}
}

func TestBlockedFamilies(t *testing.T) {
	c := office(t).As(access.Admin)
	for _, at := range []string{
		"/invoices", "/invoices/", "/invoices/1/finalize", "/secrets", "/secrets/x", "/users",
		"/users/usr_1/keys", "/api_keys", "/api_keys/%2F",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "TRACE", "FOO"} {
			send := func(headers ...string) *apitest.Answer {
				r := c.Request("POST", at+"?nosuch=1", nil, headers...)
				r.Method = method
				return c.Send(r)
			}
			for _, preview := range []string{"", "true"} {
				if a := send("Svc-Preview", preview).Want(403); method != "HEAD" {
					a.Want(403, "RISK_FAMILY_BLOCKED")
				}
			}
			if a := send("Authorization", "").Want(401); method != "HEAD" {
				a.Want(401, "UNAUTHENTICATED")
			}
			if method == "GET" {
				send("Svc-Organization", "org_x").Want(403, "ORGANIZATION_MISMATCH")
				send("Svc-Version", "2000-01-01").Want(400, "INVALID_REQUEST")
			}
		}
	}
	c.Do("GET", "/invoicesx", nil).Want(404, "NOT_FOUND")
	b, _ := openapi.Document(apitest.Current())
	if strings.Contains(string(b), `"/invoices`) {
		t.Error("the document has a blocked family")
	}
}

// request is a request to which TestOrder adds faults.
type request struct {
	method, path           string
	body                   any
	headers                []string
	gate, scope, exhausted bool
	key                    string
}

// faulty is a fault of a request, with the status and the code of the response that reports it.
type faulty struct {
	name   string
	status int
	code   string
	inject func(*request)
}

// faultyRequest is a request with the faults that only this request can have.
type faultyRequest struct {
	base   request
	status int // status without a fault; 0 if the request cannot be repeated
	own    []faulty
}

// orderOffice is an office with a client for each combination of three conditions. The conditions
// are an organization with the API off, a key without the scope, and a key that has reached its
// limit.
type orderOffice struct {
	*apitest.Office
	clients map[string]*apitest.Client
	closed  string // the id of an organization for which the API is off
	made    string // the contact with the external id 'taken'
	free    string // a contact without an external id
}

func newOrderOffice(t *testing.T) *orderOffice {
	t.Helper()
	// The other limits are so high that no call reaches them.
	raised := func(name string) limit.Override { return limit.Override{Name: name, Quota: 1 << 40, Capacity: 1 << 40} }
	o := &orderOffice{clients: map[string]*apitest.Client{}}
	o.Office = office(t, apitest.Metered(raised("writes"), raised("deletes"), raised("deletes-day"),
		raised("principal"), raised("organization")))
	closed, sandbox := o.Organization("Kanzlei Abendroth")
	o.closed = closed
	for n := range 8 {
		gate, scope, exhausted := n&1 > 0, n&2 > 0, n&4 > 0
		home, scopes := o.ID, []string{"contacts:read", "contacts:write"}
		if gate {
			home = closed
		}
		if scope {
			scopes = []string{"tasks:read"}
		}
		user := o.User(access.Member, home)
		o.clients[fmt.Sprint(gate, scope, exhausted)] = &apitest.Client{
			Office: o.Office, Principal: user, Key: o.Key(user, scopes...),
		}
	}
	c := o.client(false, false, false)
	o.made = c.Do("POST", "/contacts", `{"lastName":"Berg","externalId":"taken"}`, "Idempotency-Key",
		"used").Want(201).Text("id")
	o.free = c.Do("POST", "/contacts", `{"lastName":"Thal"}`).Want(201).Text("id")
	for who, c := range o.clients {
		if strings.HasSuffix(who, "true") {
			for a := c.Do("GET", "/me", nil); a.Status != 429; a = c.Do("GET", "/me", nil) {
			}
		}
	}
	off := "off"
	if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: sandbox, Module: &off}); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *orderOffice) client(gate, scope, exhausted bool) *apitest.Client {
	return o.clients[fmt.Sprint(gate, scope, exhausted)]
}

// common returns the faults that every request can have, in the order in which the API checks them.
func (o *orderOffice) common() []faulty {
	return []faulty{
		{"method", 405, "METHOD_NOT_ALLOWED", func(r *request) { r.method = "PUT" }},
		{"credentials", 401, "UNAUTHENTICATED", func(r *request) { r.key = "kart_test_nonsense" }},
		{"gate", 403, "API_MODULE_DISABLED", func(r *request) { r.gate = true }},
		{
			"organization", 403, "ORGANIZATION_MISMATCH",
			func(r *request) { r.headers = append(r.headers, "Svc-Organization", o.closed) },
		},
		{"version", 400, "INVALID_REQUEST", func(r *request) { r.headers = append(r.headers, "Svc-Version", "2000-01-01") }},
		{
			"channel", 404, "OPERATION_NOT_IN_VERSION",
			func(r *request) { r.headers = append(r.headers, "Svc-Version", old, "Svc-Preview", "") },
		},
		{"scope", 403, "FORBIDDEN", func(r *request) { r.scope = true }},
		{"limits", 429, "RATE_LIMITED", func(r *request) { r.exhausted = true }},
		{"query", 400, "UNKNOWN_PARAMETER", func(r *request) { r.path += "?nosuch=1" }},
		{"accept", 406, "NOT_ACCEPTABLE", func(r *request) { r.headers = append(r.headers, "Accept", "text/html") }},
		{
			"media type", 415, "UNSUPPORTED_MEDIA_TYPE",
			func(r *request) { r.headers = append(r.headers, "Content-Type", "text/plain") },
		},
	}
}

func (o *orderOffice) requests() []faultyRequest {
	unknown := func(r *request) { r.path = strings.Replace(r.path, o.free, id.New(id.Contact), 1) }
	return []faultyRequest{
		{request{
			method:  "PATCH",
			path:    "/contacts/" + o.free,
			body:    map[string]any{},
			headers: []string{"If-Match", `"r1"`},
		}, 200, []faulty{
			{"body", 422, "VALIDATION_FAILED", func(r *request) { r.body.(map[string]any)["nosuch"] = 1 }},
			{"record", 404, "NOT_FOUND", unknown},
			{"precondition", 428, "PRECONDITION_REQUIRED", func(r *request) { r.headers = append(r.headers, "If-Match", "") }},
			{"business rule", 422, "VALIDATION_FAILED", func(r *request) { r.body.(map[string]any)["externalId"] = "taken" }},
		}},
		{request{method: "DELETE", path: "/contacts/" + o.free, headers: []string{"If-Match", "*"}}, 0, []faulty{
			{"record", 404, "NOT_FOUND", unknown},
			{"precondition", 412, "PRECONDITION_FAILED", func(r *request) { r.headers = append(r.headers, "If-Match", `"r9"`) }},
		}},
		{request{method: "POST", path: "/contacts", body: map[string]any{"lastName": "Kern"}}, 201, []faulty{
			{"body", 422, "VALIDATION_FAILED", func(r *request) { r.body.(map[string]any)["nosuch"] = 1 }},
			{
				"idempotency", 422, "IDEMPOTENCY_PAYLOAD_MISMATCH",
				func(r *request) { r.headers = append(r.headers, "Idempotency-Key", "used") },
			},
			{"business rule", 422, "VALIDATION_FAILED", func(r *request) { r.body.(map[string]any)["externalId"] = "taken" }},
		}},
	}
}

// send sends a copy of a request with faults.
func (o *orderOffice) send(base request, inject ...func(*request)) *apitest.Answer {
	o.Helper()
	r := base
	r.headers = slices.Clone(r.headers)
	if body, is := r.body.(map[string]any); is {
		r.body = maps.Clone(body)
	}
	for _, f := range inject {
		f(&r)
	}
	c := *o.client(r.gate, r.scope, r.exhausted)
	if r.key != "" {
		c.Key = r.key
	}
	return c.Do(r.method, r.path, r.body, r.headers...)
}

// TestOrder sends requests with every pair of faults. It checks that the response reports the fault
// that is checked first (open points, 'Order of the checks').
func TestOrder(t *testing.T) {
	o := newOrderOffice(t)
	for _, r := range o.requests() {
		if r.status != 0 {
			o.send(r.base).Want(r.status)
			o.Clock.Advance(time.Millisecond) // too short for a refill of points
		}
		faults := slices.Concat(o.common(), r.own)
		if r.base.method == "DELETE" { // a DELETE has no body
			faults = slices.DeleteFunc(faults, func(f faulty) bool { return f.name == "media type" })
		}
		for i, first := range faults {
			o.send(r.base, first.inject).Want(first.status, first.code)
			for _, second := range faults[i+1:] {
				a := o.send(r.base, second.inject, first.inject)
				if a.Status != first.status || a.Text("code") != first.code {
					t.Errorf("%s: %s before %s: %d %s", r.base.method, first.name, second.name, a.Status, a.Body)
				}
			}
		}
	}
	o.blockedFamily()

	o.API.Pause(true)
	c := o.client(false, false, false)
	c.Do("FOO", "/nothing", nil, "Authorization", "").Want(503, "API_PAUSED")
	o.API.Pause(false)
	c.Do("GET", "/contacts/"+o.made, nil).Want(200)
}

// blockedFamily checks that a blocked family is refused before the checks of scope and limits, and
// after all other checks.
func (o *orderOffice) blockedFamily() {
	o.Helper()
	blocked := func(gate bool, status int, code string, headers ...string) {
		o.Helper()
		o.client(gate, true, true).Do("DELETE", "/invoices/1?nosuch=1", nil, headers...).Want(status, code)
	}
	blocked(false, 403, "RISK_FAMILY_BLOCKED", "Accept", "text/html")
	blocked(false, 400, "INVALID_REQUEST", "Svc-Version", "2000-01-01")
	blocked(false, 403, "ORGANIZATION_MISMATCH", "Svc-Version", "2000-01-01", "Svc-Organization", o.closed)
	blocked(true, 403, "API_MODULE_DISABLED", "Svc-Version", "2000-01-01", "Svc-Organization", o.closed)
}

func TestAccept(t *testing.T) {
	c := office(t).As(access.Member)
	for op := range rows() {
		if op.AnswersFile() {
			continue // files ignore the header Accept
		}
		for _, accept := range []string{
			"text/html", "application/xml;q=1, text/*", "application/json;q=0", "application/json;q=0.0",
			"*/*; q=0.000", "json", "application/jsonp",
		} {
			checkHeaders(t, op.ID, call(t, c, op, "Accept", accept).Want(406, "NOT_ACCEPTABLE"))
		}
		for _, accept := range []string{
			"", "*/*", "application/*", "application/json", "APPLICATION/JSON",
			"text/html, application/xhtml+xml, */*;q=0.8", "application/json; charset=utf-8",
			"application/json;q=0.001", "application/problem+json", ", ,",
		} {
			call(t, c, op, "Accept", accept).Want(op.Status())
		}
	}
}

// TestNotModified checks 304 for every read whose response has an ETag.
func TestNotModified(t *testing.T) {
	c := office(t).As(access.Member)
	tagged := 0
	for op := range rows() {
		if op.Method != "GET" {
			continue
		}
		at := path(t, c, op)
		first := c.Do("GET", at, nil).Want(200)
		tag := first.Header.Get("ETag")
		if tag == "" {
			c.Do("GET", at, nil, "If-None-Match", "*").Want(200)
			continue
		}
		tagged++
		for _, match := range []string{tag, "*", "W/" + tag, `"other", ` + tag, `"a","b" , W/` + tag} {
			for _, method := range []string{"GET", "HEAD"} {
				a := c.Do(method, at, nil, "If-None-Match", match).Want(304)
				checkHeaders(t, op.ID, a)
				if len(a.Body) != 0 || a.Header.Get("ETag") != tag {
					t.Errorf("%s: 304 with ETag %q and %q", op.ID, a.Header.Get("ETag"), a.Body)
				}
			}
		}
		for _, other := range []string{`"other"`, `"R1"`, `""`, `"*"`, `W/"*"`} {
			c.Do("GET", at, nil, "If-None-Match", other).Want(200)
		}
		wantFields(t, c.Do("GET", at, nil, "If-None-Match", "r1").Want(400, "INVALID_REQUEST"),
			"If-None-Match INVALID_FORMAT")
	}
	if tagged < 2 { // openapi.get and at least one kind of record
		t.Errorf("%d reads carry a tag", tagged)
	}
}

// TestPausedAndPending checks the responses of every operation while the instance is paused or
// pending.
func TestPausedAndPending(t *testing.T) {
	o := office(t)
	c := o.As(access.Member)
	for name, set := range map[string]func(bool){"API_PAUSED": o.API.Pause, "INSTANCE_PENDING": o.API.Pending} {
		set(true)
		for op := range rows() {
			at := somePath(op)
			a := c.Do(op.Method, at, nil).Want(503, name)
			checkProblem(t, a, at, false)
			checkHeaders(t, op.ID, a)
			if a.Header.Get("Retry-After") == "" || a.JSON()["retryAfterMs"] == nil {
				t.Errorf("%s says not when: %v %s", op.ID, a.Header, a.Body)
			}
		}
		set(false)
		c.Do("GET", "/me", nil).Want(200)
	}
}

// TestTimestamps checks the format of every time in every response.
func TestTimestamps(t *testing.T) {
	c := office(t).As(access.Member)
	form := regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$`)
	var look func(where string, v any)
	look = func(where string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				if s, is := member.(string); is && strings.HasSuffix(name, "At") {
					if _, err := clock.Parse(s); err != nil || !form.MatchString(s) {
						t.Errorf("%s.%s is %q", where, name, s)
					}
				}
				look(where+"."+name, member)
			}
		case []any:
			for _, entry := range v {
				look(where, entry)
			}
		}
	}
	for op := range rows() {
		if a := call(t, c, op); len(a.Body) > 0 && op.ID != "openapi.get" && !op.AnswersFile() {
			look(op.ID, a.JSON())
		}
	}
}
