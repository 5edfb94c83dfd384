package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"kartei/access"
	"kartei/api"
	"kartei/door/mcp"
	"kartei/integration/grant"
	"kartei/integration/requestlog"
	"kartei/kit/serve"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// site is an instance with the handler of package mcp.
type site struct {
	*testing.T
	*apitest.Office
	handler http.Handler
}

func newSite(t *testing.T, d db.DB, with ...apitest.Option) *site {
	t.Helper()
	s := &site{T: t, Office: apitest.New(t, d, with...)}
	var err error
	s.handler, err = mcp.Handler(mcp.Options{
		API: s.API, Address: func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") },
		Trace: serve.Trace(nil), BaseURL: apitest.BaseURL,
		Origins: []string{"https://assistant.example"}, Release: "1.0.0",
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// transport sends the requests of a client to the handler, with a credential.
type transport struct {
	*site
	key string
	// language is the value of Accept-Language. If it is empty, the language is German.
	language string
	last     *http.Response
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = strings.TrimPrefix(apitest.BaseURL, "https://")
	if t.key != "" {
		r.Header.Set("Authorization", "Bearer "+t.key)
	}
	if t.language != "" {
		r.Header.Set("Accept-Language", t.language)
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	t.handler.ServeHTTP(w, r)
	t.last = w.Result()
	t.last.Request = r
	return t.last, nil
}

// assistant is a client of the SDK that is connected with a key.
type assistant struct {
	*testing.T
	*sdk.ClientSession
	wire *transport
}

func (s *site) connect(key string) (*assistant, error) {
	s.T.Helper()
	wire := &transport{site: s, key: key}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(s.T.Context(),
		&sdk.StreamableClientTransport{
			Endpoint: apitest.BaseURL + "/mcp", HTTPClient: &http.Client{Transport: wire},
			DisableStandaloneSSE: true, MaxRetries: -1,
		}, nil)
	if err != nil {
		return nil, err
	}
	s.T.Cleanup(func() { session.Close() })
	return &assistant{s.T, session, wire}, nil
}

func (s *site) assistant(key string) *assistant {
	s.T.Helper()
	a, err := s.connect(key)
	if err != nil {
		s.T.Fatal(err)
	}
	return a
}

// sent returns a header whose name has this spelling.
func sent(answer *http.Response, name string) string {
	return strings.Join(map[string][]string(answer.Header)[name], "")
}

// answer is the result of a tool.
type answer struct {
	*testing.T
	*sdk.CallToolResult
	texts []string
}

func (a *assistant) call(name string, arguments map[string]any) *answer {
	a.T.Helper()
	result, err := a.CallTool(a.T.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		a.T.Fatalf("%s: %v", name, err)
	}
	out := &answer{T: a.T, CallToolResult: result}
	for _, c := range result.Content {
		if text, is := c.(*sdk.TextContent); is {
			out.texts = append(out.texts, text.Text)
		}
	}
	return out
}

// ok returns the members of a successful result. It fails the test if the text and the structured
// content differ.
func (a *answer) ok() map[string]any {
	a.T.Helper()
	if a.IsError || len(a.texts) != 1 {
		a.T.Fatalf("%v", a.texts)
	}
	var members map[string]any
	b, err := json.Marshal(a.StructuredContent)
	if err == nil {
		err = json.Unmarshal([]byte(a.texts[0]), &members)
	}
	again, _ := json.Marshal(members)
	if err != nil || string(b) != string(again) {
		a.T.Fatalf("the text and the structure differ: %v\n%s\n%s", err, b, again)
	}
	return members
}

// refused fails the test unless the result is an error with the code and the words. It returns the
// members of the problem document.
func (a *answer) refused(code string, words ...string) map[string]any {
	a.T.Helper()
	if !a.IsError || a.StructuredContent != nil || len(a.texts) != 2 || !strings.HasPrefix(a.texts[0], code+": ") {
		a.T.Fatalf("%v %v, want %s", a.IsError, a.texts, code)
	}
	for _, word := range words {
		if !strings.Contains(a.texts[0], word) {
			a.T.Errorf("%q lacks %q", a.texts[0], word)
		}
	}
	var problem map[string]any
	if err := json.Unmarshal([]byte(a.texts[1]), &problem); err != nil || problem["code"] != code {
		a.T.Errorf("%v %s", err, a.texts[1])
	}
	return problem
}

// link returns the URI of the resource link in a result, or an empty string.
func (a *answer) link() string {
	for _, c := range a.Content[1:] {
		if link, is := c.(*sdk.ResourceLink); is {
			return link.URI
		}
	}
	return ""
}

// TestJourney plays an assistant. It finds a contact by a part of the name, creates a task for it,
// and resolves a conflict with another change. It must not delete a record without the scope.
func TestJourney(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		s := newSite(t, d)
		clerk := s.As(access.Member)
		clerk.Do("POST", "/contacts", `{"firstName":"Karla","lastName":"Morgenstern","email":"karla@example.com"}`).Want(201)
		a := s.assistant(s.Key(clerk.Principal, "contacts:read", "contacts:write", "tasks:read", "tasks:write"))
		found := a.call("contacts_list", map[string]any{"q": "morgenst", "limit": 5}).ok()["data"].([]any)
		if len(found) != 1 {
			t.Fatalf("%v", found)
		}
		contact := found[0].(map[string]any)
		task := a.call("tasks_create", map[string]any{
			"title": "Rückruf", "dueAt": "2026-12-01T09:00:00Z", "contactId": contact["id"],
			"idempotencyKey": "einmal",
		}).ok()
		again := a.call("tasks_create", map[string]any{
			"title": "Rückruf", "dueAt": "2026-12-01T09:00:00Z", "contactId": contact["id"],
			"idempotencyKey": "einmal",
		}).ok()
		if task["id"] != again["id"] || task["contactId"] != contact["id"] {
			t.Errorf("%v %v", task, again)
		}
		at := "/contacts/" + contact["id"].(string)
		clerk.Do("PATCH", at, `{"jobTitle":"Richterin"}`, "If-Match", `"r1"`).Want(200)
		change := map[string]any{"id": contact["id"], "revision": 1, "mobile": "+49 171 1234567"}
		problem := a.call("contacts_update", change).refused("PRECONDITION_FAILED", "Lesen Sie ihn neu",
			"Die jetzige Revision ist 2.")
		change["revision"] = problem["currentRevision"]
		if got := a.call("contacts_update", change).ok(); got["mobile"] != "+49 171 1234567" ||
			got["jobTitle"] != "Richterin" {
			t.Errorf("%v", got)
		}
		a.call("contacts_update", map[string]any{"id": contact["id"], "mobile": "1"}).refused("PRECONDITION_REQUIRED",
			"revision")

		reader := s.assistant(s.Key(clerk.Principal, "contacts:read"))
		reader.call("contacts_delete", map[string]any{"id": contact["id"], "revision": 3}).refused("FORBIDDEN",
			"contacts:write")
		if got := a.call("contacts_delete", map[string]any{
			"id": contact["id"], "revision": 3,
		}).ok(); got["deleted"] != true || got["id"] != contact["id"] {
			t.Errorf("%v", got)
		}
		a.call("contacts_get", map[string]any{"id": contact["id"]}).refused("NOT_FOUND", "q")
		a.call("contacts_list", map[string]any{"limit": 51}).refused("INVALID_REQUEST", "limit")
		a.call("contacts_list", map[string]any{"limit": 51, "query": "x"}).refused("UNKNOWN_PARAMETER", "limit", "query")
		a.call("contacts_create", map[string]any{"email": "keine", "nickname": "x"}).refused("VALIDATION_FAILED")
		a.call("contacts_list", map[string]any{"nosuch": "x"}).refused("UNKNOWN_PARAMETER", "nosuch")
		if a.wire.last.Header.Get("Request-Id") == "" || sent(a.wire.last, "RateLimit") == "" {
			t.Errorf("%v", a.wire.last.Header)
		}
	})
}

// TestArguments checks how arguments become parameters, headers and members. Errors must be the
// same as over HTTP.
func TestArguments(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	clerk := s.As(access.Member)
	a := s.assistant(clerk.Key)
	task := a.call("tasks_create", map[string]any{"title": "Anrufen", "idempotencyKey": nil}).ok()
	if other := a.call("tasks_create", map[string]any{
		"title": "Mahnen", "idempotencyKey": nil,
	}); other.ok()["id"] == task["id"] || other.Meta["kartei/replayed"] != nil {
		t.Errorf("a key that is null is one: %v", other.Meta)
	}
	for _, replayed := range []any{nil, true} {
		got := a.call("tasks_create", map[string]any{"title": "Fragen", "idempotencyKey": "frage"})
		if got.ok(); got.Meta["kartei/replayed"] != replayed ||
			got.Meta["kartei/requestId"] != a.wire.last.Header.Get("Request-Id") {
			t.Errorf("%v, want replayed %v", got.Meta, replayed)
		}
	}
	if n := len(a.call("tasks_list", map[string]any{"limit": nil, "q": nil}).ok()["data"].([]any)); n != 3 {
		t.Errorf("%d tasks", n)
	}
	unknown := map[string]any{"id": "tsk_0", "nosuch": 1}
	for _, c := range []struct {
		tool           string
		arguments      map[string]any
		method, target string
	}{
		{"contacts_list", map[string]any{"limit": 0}, "GET", "/contacts?limit=0"},
		{"contacts_list", map[string]any{"limit": "viele"}, "GET", "/contacts?limit=viele"},
		{"contacts_list", map[string]any{"limit": 101}, "GET", "/contacts?limit=101"},
		{"contacts_list", map[string]any{"revision": 1}, "GET", "/contacts?revision=1"},
		{"contacts_get", map[string]any{"id": "con_0", "idempotencyKey": "x"}, "GET", "/contacts/con_0?idempotencyKey=x"},
		{"tasks_complete", unknown, "POST", "/tasks/tsk_0/complete?nosuch=1"},
		{"tasks_delete", unknown, "DELETE", "/tasks/tsk_0?nosuch=1"},
	} {
		answer := clerk.Do(c.method, c.target, nil)
		code := answer.Text("code")
		got := a.call(c.tool, c.arguments)
		problem := got.refused(code)
		if id := a.wire.last.Header.Get("Request-Id"); problem["requestId"] != id || got.Meta["kartei/requestId"] != id ||
			problem["instance"] != mcp.Path {
			t.Errorf("%s %v: %v %v, want %s", c.tool, c.arguments, problem, got.Meta, id)
		}
		for _, name := range []string{"type", "title", "status", "detail"} {
			if want := answer.JSON()[name]; problem[name] != want {
				t.Errorf("%s %v: %s is %v, want %v", c.tool, c.arguments, name, problem[name], want)
			}
		}
	}
	a.call("tasks_get", map[string]any{}).refused("VALIDATION_FAILED", "id: ")
	a.call("contacts_list", map[string]any{"name": "Müller"}).refused("UNKNOWN_PARAMETER", "name: ", "updatedSince")
	a.call("tasks_update", map[string]any{
		"id": task["id"], "title": "x", "revision": 7,
	}).refused("PRECONDITION_FAILED", "Revision ist 1")
	if sentence := a.call("tasks_delete", map[string]any{"id": task["id"]}).texts[0]; strings.Contains(sentence,
		"If-Match") || !strings.Contains(sentence, "revision") {
		t.Errorf("%s", sentence)
	}
	a.call("contacts_list", map[string]any{"limit": 51})
	found, err := s.Requests(requestlog.QueryInput{Organization: s.SandboxID, Limit: 1})
	if err != nil || found.Data[0].Operation != "contacts.list" || found.Data[0].Code != "INVALID_REQUEST" {
		t.Errorf("a call that the door refuses is logged as %+v %v", found.Data, err)
	}
	a.call("tasks_create", map[string]any{"title": "x", "idempotencyKey": ""}).refused("INVALID_REQUEST",
		"idempotencyKey: ")
	a.call("tasks_update", map[string]any{
		"id": task["id"], "title": "x", "revision": nil,
	}).refused("PRECONDITION_REQUIRED", "revision")
	a.call("tasks_update", map[string]any{"id": "tsk_0", "title": "x", "revision": "neu"}).refused("VALIDATION_FAILED",
		"revision: ")
}

// TestList checks that each caller gets only the tools that it may call, with annotations for the
// client.
func TestList(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	clerk := s.As(access.Member)
	names := func(a *assistant) (list []string) {
		t.Helper()
		for tool, err := range a.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, tool.Name)
			if tool.Title == "" || tool.Description == "" || strings.Contains(tool.Description, "Kosten:") ||
				tool.Annotations == nil || tool.Annotations.DestructiveHint == nil || tool.Annotations.OpenWorldHint == nil ||
				len(tool.Name) > 64 {
				t.Errorf("%+v", tool)
			}
			writes := regexp.MustCompile(`_(create|update|delete|complete|test|rotate_secret)$`).MatchString(tool.Name)
			if tool.Annotations.ReadOnlyHint == writes {
				t.Errorf("%s only reads: %t", tool.Name, tool.Annotations.ReadOnlyHint)
			}
			if *tool.Annotations.DestructiveHint != (strings.HasSuffix(tool.Name, "_delete") ||
				tool.Name == "webhook_endpoints_rotate_secret") {
				t.Errorf("%s: destructive is %v", tool.Name, *tool.Annotations.DestructiveHint)
			}
		}
		return list
	}
	all := names(s.assistant(s.Key(clerk.Principal, api.Scopes()...)))
	if len(all) != 40 {
		t.Errorf("%d tools: %v", len(all), all)
	}
	some := names(s.assistant(s.Key(clerk.Principal, "contacts:read")))
	if got := strings.Join(some, " "); got != "contacts_count contacts_get contacts_list events_get events_list me_get operations_get rate_limit_get" {
		t.Errorf("a reader of contacts has %s", got)
	}
	viewer := s.As(access.Viewer)
	for _, name := range names(s.assistant(s.Key(viewer.Principal, access.ReadScopes()...))) {
		if strings.HasSuffix(name, "_create") || strings.HasSuffix(name, "_update") {
			t.Errorf("a viewer has %s", name)
		}
	}
}

// TestWords checks that texts for assistants have no words about HTTP.
func TestWords(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	http := regexp.MustCompile(`If-Match|Body|without a body|Idempotency-Key|\b(20[0-9]|40[0-9]|41[0-9]|42[0-9])\b|Retry-After|Merge Patch|GET /|POST /|ETag|Svc-|\bcontent returns|liefert content`)
	for _, language := range []string{"de", "en"} {
		a := s.assistant(s.Key(s.As(access.Member).Principal, api.Scopes()...))
		a.wire.language = language
		list, err := a.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			text, err := json.Marshal(tool)
			if err != nil {
				t.Fatal(err)
			}
			if found := http.FindString(string(text)); found != "" {
				t.Errorf("%s (%s) says %s: %s", tool.Name, language, found, text)
			}
		}
	}
}

// TestSize checks the total length of the tools, which assistants have to read.
func TestSize(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	clerk := s.As(access.Member)
	size := func(scopes ...string) (n int) {
		t.Helper()
		for tool, err := range s.assistant(s.Key(clerk.Principal, scopes...)).Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			tool.OutputSchema = nil // assistants do not read it
			b, err := json.Marshal(tool)
			if err != nil {
				t.Fatal(err)
			}
			n += len(b)
		}
		return n
	}
	// A token of these texts has about 4.3 bytes. ci/assistants/tokens.mjs counts the tokens.
	all, reading := size(api.Scopes()...), size("contacts:read", "companies:read", "tasks:read", "documents:read")
	t.Logf("all tools: %d bytes, those that read: %d bytes", all, reading)
	if all > 50_000 || reading > 12_500 {
		t.Errorf("all tools: %d bytes, those that read: %d bytes", all, reading)
	}
}

// TestRefusals checks the responses to requests that do not follow the protocol.
func TestRefusals(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	key := s.As(access.Member).Key
	send := func(method, body string, headers ...string) *http.Response {
		t.Helper()
		r := httptest.NewRequest(method, apitest.BaseURL+"/mcp", strings.NewReader(body)).WithContext(t.Context())
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(headers); i += 2 {
			switch r.Header.Set(headers[i], headers[i+1]); headers[i] {
			case "Host":
				r.Host = headers[i+1]
			case "Path":
				r.URL.Path = headers[i+1]
			}
		}
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		return w.Result()
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	authorization := "Bearer " + key
	for what, c := range map[string]struct {
		want int
		got  *http.Response
	}{
		"a list":            {200, send("POST", list, "Authorization", authorization)},
		"GET":               {405, send("GET", "", "Authorization", authorization)},
		"DELETE":            {405, send("DELETE", "", "Authorization", authorization)},
		"PUT":               {405, send("PUT", list, "Authorization", authorization)},
		"an unknown method": {405, send("BREW", list, "Authorization", authorization)},
		"an old stream":     {405, send("GET", "", "Accept", "text/event-stream")},
		"with a slash":      {200, send("POST", list, "Authorization", authorization, "Path", "/mcp/")},
		"GET with a slash":  {405, send("GET", "", "Path", "/mcp/")},
		"another path":      {404, send("POST", list, "Authorization", authorization, "Path", "/mcp/sse")},
		"a page": {
			406, send("POST", list, "Authorization", authorization, "Accept", "text/html, application/json;q=0"),
		},
		"no JSON":            {415, send("POST", list, "Authorization", authorization, "Content-Type", "text/plain")},
		"compressed":         {415, send("POST", list, "Authorization", authorization, "Content-Encoding", "gzip")},
		"an unknown version": {400, send("POST", list, "Authorization", authorization, "MCP-Protocol-Version", "1999-01-01")},
		"nothing":            {400, send("POST", "", "Authorization", authorization)},
		"no JSON within":     {400, send("POST", "{", "Authorization", authorization)},
		"no key":             {401, send("POST", list)},
		"a wrong key":        {401, send("POST", list, "Authorization", "Bearer kart_test_x")},
		"no key and a tool": {
			401, send("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"me_get"}}`),
		},
		"a wrong argument": {
			401,
			send("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"contacts_list","arguments":{"limit":51}}}`, "Authorization", "Bearer x"),
		},
		"an unknown tool": {
			401,
			send("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, "Authorization", "Bearer x"),
		},
		"another host":   {403, send("POST", list, "Authorization", authorization, "Host", "evil.example")},
		"another origin": {403, send("POST", list, "Authorization", authorization, "Origin", "https://evil.example")},
		"its own origin": {200, send("POST", list, "Authorization", authorization, "Origin", apitest.BaseURL)},
		"a known origin": {
			200, send("POST", list, "Authorization", authorization, "Origin", "https://assistant.example"),
		},
		"several in one": {400, send("POST", "["+list+"]", "Authorization", authorization)},
		"too much":       {413, send("POST", strings.Repeat(" ", 1<<20)+list, "Authorization", authorization)},
		"a tool of no table": {
			200,
			send("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"openapi_get"}}`, "Authorization",
				authorization),
		},
	} {
		body, _ := io.ReadAll(c.got.Body)
		if c.got.StatusCode != c.want {
			t.Errorf("%s: %d %s, want %d", what, c.got.StatusCode, body, c.want)
		}
		var problem struct{ Instance string }
		if err := json.Unmarshal(body, &problem); err != nil && c.want >= 400 {
			t.Errorf("%s: %v", what, err)
		}
		if c.want >= 400 && (problem.Instance != "/mcp" || sent(c.got, "Content-Type") != "application/problem+json" ||
			sent(c.got, "Request-Id") == "") {
			t.Errorf("%s: no problem document: %v %s", what, c.got.Header, body)
		}
		if allow := sent(c.got, "Allow"); c.want == 405 && allow != "POST, OPTIONS" {
			t.Errorf("%s: Allow is %q", what, allow)
		}
		if challenge := sent(c.got, "WWW-Authenticate"); c.want == 401 &&
			!strings.Contains(challenge, `resource_metadata="https://kartei.example/.well-known/oauth-protected-resource/mcp"`) {
			t.Errorf("%s: the challenge is %q", what, challenge)
		}
	}
	if _, err := s.connect("kart_test_x"); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a client with a wrong key connects: %v", err)
	}
}

// TestAccept checks the media type of responses for different Accept headers. Many clients name
// only one of the two types that the protocol requires.
func TestAccept(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	key := s.As(access.Member).Key
	bodies := map[string]string{
		"initialize": `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		"tools/list": `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		"tools/call": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"me_get"}}`,
	}
	for accept, want := range map[string]string{
		"application/json": "application/json", "text/event-stream": "text/event-stream",
		"application/json, text/event-stream": "application/json",
		"*/*":                                 "application/json", "": "application/json", "none": "application/json",
		"text/*": "text/event-stream", "application/*;q=0.1": "application/json",
		"text/event-stream;q=1, application/json;q=0": "text/event-stream",
		"Application/JSON; charset=utf-8":             "application/json",
		"text/html, */*;q=0.8":                        "application/json",
		"text/event-stream, */*;q=0":                  "text/event-stream", ", application/json ,": "application/json",
	} {
		for method, body := range bodies {
			r := httptest.NewRequest("POST", apitest.BaseURL+"/mcp", strings.NewReader(body)).WithContext(t.Context())
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+key)
			if r.Header.Set("Accept", accept); accept == "none" {
				r.Header.Del("Accept")
			}
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, r)
			message, event := strings.CutPrefix(w.Body.String(), "event: message\ndata: ")
			if event {
				message, event = strings.CutSuffix(message, "\n\n")
			}
			var answer struct {
				ID     int             `json:"id"`
				Result json.RawMessage `json:"result"`
			}
			if err := json.Unmarshal([]byte(message), &answer); w.Code != 200 || w.Header().Get("Content-Type") != want ||
				event != (want == "text/event-stream") || err != nil || answer.ID != 1 || answer.Result == nil {
				t.Errorf("%s, Accept %q: %d %q %.200s", method, accept, w.Code, w.Header().Get("Content-Type"), w.Body)
			}
		}
	}
	r := httptest.NewRequest("POST", apitest.BaseURL+"/mcp",
		strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)).WithContext(t.Context())
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Accept", "text/event-stream")
	w := httptest.NewRecorder()
	if s.handler.ServeHTTP(w, r); w.Code != 202 || w.Body.Len() > 0 {
		t.Errorf("a notification, which has no answer: %d %s", w.Code, w.Body)
	}
}

// forbiddenBody is a body that must not be read.
type forbiddenBody struct{ t *testing.T }

func (u forbiddenBody) Read([]byte) (int, error) {
	u.t.Error("the body of a stranger is read")
	return 0, io.EOF
}

// TestStrangers checks that the body of a request with an invalid credential is not read.
func TestStrangers(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	for name, key := range map[string]string{
		"wrong":      "kart_test_x",
		"of the API": s.token(s.As(access.Member).Principal, access.V1, "contacts:read"),
	} {
		r := httptest.NewRequest("POST", apitest.BaseURL+"/mcp", forbiddenBody{t}).WithContext(t.Context())
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		if s.handler.ServeHTTP(w, r); w.Code != 401 || !strings.Contains(w.Body.String(), "UNAUTHENTICATED") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestHostileCalls sends requests that two decoders could read differently, or that are expensive.
// A caller must get only what its scopes allow.
func TestHostileCalls(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	clerk := s.As(access.Member)
	clerk.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201)
	key := s.Key(clerk.Principal, "contacts:read")
	send := func(body string, headers ...string) (int, string) {
		t.Helper()
		r := httptest.NewRequest("POST", apitest.BaseURL+"/mcp", strings.NewReader(body)).WithContext(t.Context())
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%.200s: no JSON: %q", body, w.Body)
		}
		return w.Code, w.Body.String()
	}
	many := `{"a":1` + strings.Repeat(`,"":1`, 2000) + `}`
	long := strings.Repeat("x", 40<<10)
	for name, c := range map[string]struct{ body, want, never string }{
		"another case of method": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call","params":{"name":"me_get"}}`,
			"contacts_get", "tasks_list",
		},
		"another case of params": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call","Params":{"name":"me_get"}}`,
			"contacts_get", "tasks_list",
		},
		"many arguments": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"contacts_list","arguments":` + many + `}}`,
			"-32602", "data",
		},
		"many members": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/call"` + strings.Repeat(`,"x":1`, 2000) +
				`,"params":{"name":"contacts_count","arguments":{}}}`,
			"count", "error",
		},
		"a long argument": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"contacts_list","arguments":{"q":"` + long + `"}}}`,
			"PAYLOAD_TOO_LARGE", `"data"`,
		},
		"a long id": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"contacts_get","arguments":{"id":"` + long + `"}}}`,
			"PAYLOAD_TOO_LARGE", "Berg",
		},
		"the name of an operation": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"contacts_get","arguments":{"id":"count"}}}`,
			"NOT_FOUND", "capped",
		},
		"that name in a resource": {
			`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"kartei://contacts/count"}}`,
			"not found", "capped",
		},
		"a control character": {
			`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"kartei://contacts/\u0007\u007f"}}`,
			"-32602", "result",
		},
		"a resource of another": {
			`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`,
			"not found", "result",
		},
	} {
		if status, body := send(c.body); status != 200 || !strings.Contains(body, c.want) || strings.Contains(body, c.never) {
			t.Errorf("%s: %d %.400s", name, status, body)
		}
	}
	if status, body := send(`{}`, "Content-Encoding", "gzip"); status != 415 {
		t.Errorf("%d %s", status, body)
	}
	// A token without the scope for documents gets an empty list, and no request for more scopes.
	token := s.assistant(s.token(clerk.Principal, access.MCP, "contacts:read"))
	if list, err := token.ListResources(t.Context(), nil); err != nil || len(list.Resources) != 0 {
		t.Errorf("%+v %v", list, err)
	}
}

// token returns an access token for a resource, with which an application acts for a person.
func (s *site) token(principal, audience string, scopes ...string) string {
	s.T.Helper()
	c := grant.Client{
		Kind:         grant.Registered,
		Name:         "Assistent",
		RedirectURIs: []string{"https://app.example/cb"},
		Method:       grant.NoSecret,
	}
	return s.Connect(&c, principal, audience, scopes...).Access
}

// TestTokens checks access tokens. A token is valid either for this endpoint or for the API. If a
// scope is missing, the HTTP response names it, so that the client asks the person for it. The
// request log has the interface of each call.
func TestTokens(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		s := newSite(t, d)
		who := s.As(access.Member).Principal
		here, there := s.token(who, access.MCP, "contacts:read"), s.token(who, access.V1, "contacts:read")
		if _, err := s.connect(there); err == nil {
			t.Error("a token of the API is taken here")
		}
		(&apitest.Client{Office: s.Office, Key: here}).Do("GET", "/me", nil).Want(401)
		a := s.assistant(here)
		if me := a.call("me_get", nil).ok(); me["authMethod"] != "oauth" || me["principalId"] != who {
			t.Errorf("%v", me)
		}
		a.call("contacts_list", nil).ok()
		if _, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: "tasks_list"}); err == nil {
			t.Error("a tool without its scope answers")
		}
		challenge := sent(a.wire.last, "WWW-Authenticate")
		b := s.assistant(here) // after this response, the former client no longer works
		if _, err := b.CallTool(t.Context(), &sdk.CallToolParams{
			Name:      "documents_text",
			Arguments: map[string]any{"id": "doc_0"},
		}); err == nil || !strings.Contains(sent(b.wire.last, "WWW-Authenticate"), `scope="contacts:read documents:read"`) {
			t.Errorf("a text without its scope: %v %q", err, sent(b.wire.last, "WWW-Authenticate"))
		}
		if a.wire.last.StatusCode != 403 || !strings.Contains(challenge,
			`error="insufficient_scope", scope="contacts:read tasks:read"`) ||
			!strings.Contains(challenge, "oauth-protected-resource/mcp") {
			t.Errorf("%d %q", a.wire.last.StatusCode, challenge)
		}
		found, err := s.Requests(requestlog.QueryInput{Organization: s.SandboxID, Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		doors := map[string]int{}
		for _, l := range found.Data {
			doors[l.Door+" "+l.Operation]++
		}
		if doors["mcp me.get"] != 1 || doors["mcp contacts.list"] != 1 || doors["mcp tools.list"] == 0 ||
			doors["mcp tasks.list"] != 1 {
			t.Errorf("%v", doors)
		}
	})
}

// TestNewRevision checks requests of revision 2026-07-28, which has no sessions.
func TestNewRevision(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	key := s.As(access.Member).Key
	send := func(method, name, params string) (int, string) {
		t.Helper()
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + meta + params + `}}`
		r := httptest.NewRequest("POST", apitest.BaseURL+"/mcp", strings.NewReader(body)).WithContext(t.Context())
		for header, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Authorization":        "Bearer " + key,
			"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name, "Accept-Language": "en",
		} {
			if value != "" {
				r.Header.Set(header, value)
			}
		}
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, c := range []struct{ method, name, params, want string }{
		{"server/discover", "", "", `"instructions":"Kartei keeps contacts`},
		{"tools/list", "", "", `"ttlMs":60000`},
		{"tools/list", "", "", `"title":"List contacts"`},
		{"tools/call", "contacts_count", `,"name":"contacts_count","arguments":{}`, `"structuredContent":{`},
		{
			"tools/call", "contacts_get", `,"name":"contacts_get","arguments":{"id":"con_0"}`,
			"Check the id, or look for the record",
		},
	} {
		if status, body := send(c.method, c.name, c.params); status != 200 || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %.600s", c.method, c.name, status, body)
		}
	}
	if status, body := send("tools/call", "contacts_list", `,"name":"contacts_count","arguments":{}`); status != 400 ||
		!strings.Contains(body, "-32020") {
		t.Errorf("a header that names another tool: %d %s", status, body)
	}
	if status, body := send("tools/call", "nosuch", `,"name":"nosuch","arguments":{}`); status != 400 ||
		!strings.Contains(body, "-32602") {
		t.Errorf("an unknown tool: %d %s", status, body)
	}
	if _, body := send("tools/call", "contacts.list",
		`,"name":"contacts.list","arguments":{}`); !strings.Contains(body, "-32602") ||
		!strings.Contains(body, "Use contacts_list.") {
		t.Errorf("a tool by the name of its operation: %s", body)
	}
	if status, _ := send("ping", "", ""); status != 404 {
		t.Errorf("a method that is gone: %d", status)
	}
}

// TestDirect checks that a plain call of a tool gets the same response as through the SDK, byte for
// byte. If a call has an unknown member, the SDK handles the call.
func TestDirect(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	member, viewer := s.As(access.Member), s.As(access.Viewer)
	contact := member.Do("POST", "/contacts", map[string]any{"lastName": "Ächter & <Söhne>"}).Want(201).Text("id")
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},`
	send := func(key, revision, name, arguments, extra string) (int, http.Header, string) {
		t.Helper()
		about := ""
		if revision == "2026-07-28" {
			about = meta
		}
		body := `{"jsonrpc":"2.0","id":"q-7",` + extra + `"method":"tools/call","params":{` + about + `"name":"` + name +
			`","arguments":` + arguments + `}}`
		r := httptest.NewRequest("POST", apitest.BaseURL+"/mcp", strings.NewReader(body)).WithContext(t.Context())
		for header, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Authorization":        "Bearer " + key,
			"MCP-Protocol-Version": revision, "Mcp-Method": "tools/call", "Mcp-Name": name, "Accept-Language": "en",
		} {
			r.Header.Set(header, value)
		}
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		h := w.Header().Clone()
		for _, name := range []string{"Request-Id", "RateLimit", "RateLimit-Policy"} {
			if _, has := map[string][]string(h)[name]; !has {
				t.Errorf("%s: the answer has no %s", name, name)
			}
			delete(h, name)
		}
		return w.Code, h, regexp.MustCompile(`req_\w+`).ReplaceAllString(w.Body.String(), "req")
	}
	lists := func() (n int) {
		t.Helper()
		found, err := s.Requests(requestlog.QueryInput{Organization: s.SandboxID, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range found.Data {
			if l.Operation == "tools.list" {
				n++
			}
		}
		return n
	}
	send(member.Key, "2025-11-25", "me_get", `{}`, "")
	if n := lists(); n != 0 {
		t.Errorf("a plain call asks for the tools %d times", n)
	}
	if send(member.Key, "2025-11-25", "me_get", `{}`, `"more":0,`); lists() != 0 {
		t.Errorf("a call by the SDK asks for the tools %d times", lists())
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for name, c := range map[string]struct{ key, tool, arguments string }{
			"an answer":           {member.Key, "contacts_get", `{"id":"` + contact + `"}`},
			"a problem":           {member.Key, "contacts_get", `{"id":"con_0"}`},
			"a wrong argument":    {member.Key, "contacts_list", `{"limit":51}`},
			"an unknown argument": {member.Key, "contacts_update", `{"id":"` + contact + `","revision":1,"shoe":"<b>"}`},
			"no right":            {viewer.Key, "contacts_delete", `{"id":"` + contact + `","revision":1}`},
			"a wrong key":         {"kart_test_x", "me_get", `{}`},
		} {
			status, header, body := send(c.key, revision, c.tool, c.arguments, "")
			wantStatus, wantHeader, want := send(c.key, revision, c.tool, c.arguments, `"more":0,`)
			if status != wantStatus || !reflect.DeepEqual(header, wantHeader) || body != want {
				t.Errorf("%s (%s): %d %v\n%s\nthe SDK: %d %v\n%s", name, revision, status, header, body, wantStatus, wantHeader,
					want)
			}
		}
	}
}

// TestKeptLists checks that a cached list of tools is equal to the list of the SDK, byte for byte.
// Each caller gets only its own tools.
func TestKeptLists(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	const meta = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	send := func(key, language, revision, params, extra string) (int, http.Header, string) {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":"q-7",` + extra + `"method":"tools/list"` + params + `}`
		r := httptest.NewRequest("POST", apitest.BaseURL+"/mcp", strings.NewReader(body)).WithContext(t.Context())
		for header, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Authorization":        "Bearer " + key,
			"MCP-Protocol-Version": revision, "Mcp-Method": "tools/list", "Accept-Language": language,
		} {
			r.Header.Set(header, value)
		}
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		h := w.Header().Clone()
		for _, name := range []string{"Request-Id", "RateLimit", "RateLimit-Policy"} {
			if _, has := map[string][]string(h)[name]; !has {
				t.Errorf("%s: the answer has no %s", name, name)
			}
			delete(h, name)
		}
		return w.Code, h, w.Body.String()
	}
	known := map[string]string{} // the caller by the list
	for _, language := range []string{"de", "en"} {
		for revision, forms := range map[string][]string{
			"2025-03-26": {
				`,"params":{}`, ``,
			}, "2025-11-25": {`,"params":{"_meta":{"progressToken":1}}`, `,"params":null`, `,"params":{"cursor":""}`},
			"2026-07-28": {`,"params":` + meta},
		} {
			for role, key := range map[string]string{
				"member": s.As(access.Member).Key, "viewer": s.As(access.Viewer).Key,
				"narrow": s.As(access.Member, "contacts:read").Key,
			} {
				of := role + " " + language + " " + revision
				for n, params := range append(forms, forms...) {
					wantStatus, wantHeader, want := send(key, language, revision, params, `"more":0,`)
					status, header, body := send(key, language, revision, params, "")
					if status != wantStatus || !reflect.DeepEqual(header, wantHeader) || body != want {
						t.Errorf("%s %s, for the %d. time: %d %v\n%.300s\nthe SDK: %d %v\n%.300s", of, params, n+1, status, header,
							body, wantStatus, wantHeader, want)
					}
					if status != http.StatusOK {
						t.Fatalf("%s: %d %s", of, status, body)
					}
					if other := known[body]; other != "" && strings.SplitN(other, " ", 3)[0] != role {
						t.Errorf("%s has the list of %s", of, other)
					}
					known[body] = of
				}
			}
		}
	}
}

// TestPlainResources checks that a plain request for a record gets the same response as through the
// SDK, byte for byte. The cost must be the same too.
func TestPlainResources(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t), apitest.Metered())
	member, narrow := s.As(access.Member), s.As(access.Member, "tasks:read")
	contact := member.Do("POST", "/contacts", map[string]any{"lastName": "Ächter & <Söhne>"}).Want(201).Text("id")
	send := func(key, revision, uri, extra string) (int, http.Header, string) {
		t.Helper()
		meta := ""
		if revision == "2026-07-28" {
			meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},`
		}
		body := `{"jsonrpc":"2.0","id":"q-7",` + extra + `"method":"resources/read","params":{` + meta + `"uri":"` + uri +
			`"}}`
		r := httptest.NewRequest("POST", apitest.BaseURL+"/mcp", strings.NewReader(body)).WithContext(t.Context())
		for header, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Authorization":        "Bearer " + key,
			"MCP-Protocol-Version": revision, "Mcp-Method": "resources/read", "Mcp-Name": uri,
		} {
			r.Header.Set(header, value)
		}
		s.Clock.Advance(10 * time.Minute) // refills all points
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		h := w.Header().Clone()
		delete(h, "Request-Id")
		return w.Code, h, regexp.MustCompile(`req_\w+`).ReplaceAllString(w.Body.String(), "req")
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for name, c := range map[string]struct{ key, uri string }{
			"a record":            {member.Key, "kartei://contacts/" + contact},
			"none":                {member.Key, "kartei://contacts/con_0"},
			"one of a family":     {member.Key, "kartei://tasks/" + contact},
			"no right":            {narrow.Key, "kartei://contacts/" + contact},
			"no family":           {member.Key, "kartei://letters/" + contact},
			"another form":        {member.Key, "kartei://contacts/" + contact + "/"},
			"the text of no file": {member.Key, "kartei://documents/doc_0/text"},
		} {
			status, header, body := send(c.key, revision, c.uri, "")
			wantStatus, wantHeader, want := send(c.key, revision, c.uri, `"more":0,`)
			if status != wantStatus || !reflect.DeepEqual(header, wantHeader) || body != want {
				t.Errorf("%s (%s): %d %v\n%s\nthe SDK: %d %v\n%s", name, revision, status, header, body, wantStatus, wantHeader,
					want)
			}
			if name == "a record" && !strings.Contains(body, "chter ") {
				t.Errorf("%s: %s", name, body)
			}
		}
	}
}

// TestCosts calls each tool with and without valid arguments, directly and by the SDK. Each call,
// even a refused one, must have the same cost as over HTTP.
func TestCosts(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t), apitest.Metered())
	c := s.As(access.Admin)
	left := func() (points float64) {
		t.Helper()
		for _, p := range c.Do("GET", "/rate_limit", nil).Want(200).JSON()["policies"].([]any) {
			if p := p.(map[string]any); p["name"] == "key" {
				points = p["remaining"].(float64)
			}
		}
		return points
	}
	cost := func(method, name, params, more string) float64 {
		t.Helper()
		s.Clock.Advance(10 * time.Minute) // refills all points
		before := left()
		r := httptest.NewRequest("POST", apitest.BaseURL+"/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,`+more+`"method":"`+method+`","params":`+params+
				`}`)).WithContext(t.Context())
		for header, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Authorization": "Bearer " + c.Key, "MCP-Protocol-Version": "2025-11-25",
		} {
			r.Header.Set(header, value)
		}
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		return before - left() - 1 // the second call of left costs one point
	}
	want := map[string]float64{"documents_text": 1}
	for i := range api.Operations {
		if op := &api.Operations[i]; op.Tool() != "" && op.In(apitest.Current()) {
			want[op.Tool()] = float64(op.Cost)
		}
	}
	if len(want) != 40 {
		t.Errorf("%d tools", len(want))
	}
	for name, points := range want {
		for how, more := range map[string]string{"the door": "", "the SDK": `"more":0,`} {
			for _, arguments := range []string{`{}`, `{"id":"con_0","revision":1}`, `{"nosuch":1}`} {
				if got := cost("tools/call", name, `{"name":"`+name+`","arguments":`+arguments+`}`, more); got != points {
					t.Errorf("%s with %s costs %v by %s, want %v", name, arguments, got, how, points)
				}
			}
			if got := cost("tools/call", name, `{"name":"`+name+`","arguments":[]}`, more); got != 1 {
				t.Errorf("%s with a list costs %v by %s, want 1", name, got, how)
			}
		}
		search := points + 5
		if !strings.HasSuffix(name, "_list") && !strings.HasSuffix(name, "_count") {
			continue
		}
		if got := cost("tools/call", name, `{"name":"`+name+`","arguments":{"q":"berg"}}`, ""); got != search {
			t.Errorf("a search by %s costs %v, want %v", name, got, search)
		}
	}
	for method, points := range map[string]float64{"tools/list": 1, "resources/list": 1 + 2, "prompts/list": 1} {
		if got := cost(method, method, `{}`, ""); got != points {
			t.Errorf("%s costs %v, want %v", method, got, points)
		}
	}
}

// TestResources checks that records and texts of documents can be read as resources. Resources that
// the caller may not read are not found.
func TestResources(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		s := newSite(t, d)
		clerk := s.As(access.Member)
		contact := clerk.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		private := s.As(access.Admin).Do("POST", "/contacts",
			`{"lastName":"Geheim","visibility":"private"}`).Want(201).Text("id")
		letter := clerk.Document("vertrag.txt", "text/plain", []byte(strings.Repeat("Ein Absatz des Vertrags.\n\n", 1500)))
		text := "kartei://documents/" + letter + "/text"
		a := s.assistant(s.Key(clerk.Principal, "contacts:read", "documents:read"))
		blind := s.assistant(s.Key(clerk.Principal, "contacts:read"))

		s.readsTasksAndCompanies(clerk)
		a.reads("kartei://contacts/"+contact, `"lastName":"Berg"`)
		if first := a.reads(text, "[Teil 1 von 4;"); !strings.HasPrefix(first, "Ein Absatz") {
			t.Errorf("the first part begins with %.80s", first)
		}
		a.reads(text+"/4", "[Teil 4 von 4;")
		list, err := a.ListResources(t.Context(), nil)
		if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != text ||
			list.Resources[0].Name != "vertrag.txt" {
			t.Errorf("%+v %v", list, err)
		}
		scan := clerk.Document("scan.png", "image/png", picture(t))
		a.links(letter, text)
		a.links(scan, "")
		a.reads("kartei://documents/"+scan+"/text", "Kein lesbarer Text")
		if list, err := a.ListResources(t.Context(), nil); err != nil || len(list.Resources) != 1 {
			t.Errorf("a picture is offered as a text: %+v %v", list, err)
		}
		a.readsTextByTool(letter, scan)
		a.refusesTextByTool(letter)
		blind.call("documents_text", map[string]any{"id": letter}).refused("FORBIDDEN", "documents:read")

		for _, address := range []string{
			"kartei://contacts/" + private, "kartei://contacts/con_0", "kartei://tasks/" + contact, text + "/5", text + "/x",
			text + "/0", "kartei://nosuch/x", "file:///etc/passwd",
		} {
			a.findsNothing(address)
		}
		blind.findsNothing(text)
		if list, err := blind.ListResources(t.Context(), nil); err != nil || len(list.Resources) != 0 {
			t.Errorf("%+v %v", list, err)
		}
		if templates, err := a.ListResourceTemplates(t.Context(), nil); err != nil || len(templates.ResourceTemplates) != 5 {
			t.Errorf("%+v %v", templates, err)
		}
	})
}

func (s *site) readsTasksAndCompanies(clerk *apitest.Client) {
	s.T.Helper()
	task := clerk.Do("POST", "/tasks", `{"title":"Anrufen"}`).Want(201).Text("id")
	company := clerk.Do("POST", "/companies", `{"name":"Bau"}`).Want(201).Text("id")
	a := s.assistant(clerk.Key)
	a.reads("kartei://tasks/"+task, task[len(task)-26:])
	a.reads("kartei://companies/"+company, company[len(company)-26:])
}

func (a *assistant) read(address string) (string, error) {
	a.T.Helper()
	got, err := a.ReadResource(a.T.Context(), &sdk.ReadResourceParams{URI: address})
	if err != nil {
		return "", err
	}
	return got.Contents[0].Text, nil
}

// reads returns the text of a resource. It fails the test if the text lacks word.
func (a *assistant) reads(address, word string) string {
	a.T.Helper()
	got, err := a.read(address)
	if err != nil || !strings.Contains(got, word) {
		a.T.Errorf("%s: no %q in %.80s … %s %v", address, word, got, got[max(0, len(got)-200):], err)
	}
	return got
}

func (a *assistant) findsNothing(address string) {
	a.T.Helper()
	if got, err := a.read(address); err == nil || !strings.Contains(err.Error(), "not found") {
		a.T.Errorf("%s: %.80s %v", address, got, err)
	}
}

// links fails the test unless the result for the document has a link to want, or no link if want is
// empty.
func (a *assistant) links(document, want string) {
	a.T.Helper()
	found := a.call("documents_get", map[string]any{"id": document})
	if found.ok(); found.link() != want {
		a.T.Errorf("%s links to %q, want %q", document, found.link(), want)
	}
}

// readsTextByTool reads the text with a tool, as assistants do that read no resources.
func (a *assistant) readsTextByTool(letter, scan string) {
	a.T.Helper()
	part := a.call("documents_text", map[string]any{"id": letter, "part": 2}).ok()
	if text, _ := part["text"].(string); part["id"] != letter || part["part"] != 2.0 || part["parts"] != 4.0 ||
		!strings.HasPrefix(text, "Ein Absatz") || len(part) != 4 {
		a.T.Errorf("%.300v", part)
	}
	if part := a.call("documents_text", map[string]any{"id": scan, "part": nil}).ok(); part["text"] != "" {
		a.T.Errorf("%v", part)
	}
}

func (a *assistant) refusesTextByTool(letter string) {
	a.T.Helper()
	for _, wrong := range []struct {
		arguments map[string]any
		code      string
		words     []string
	}{
		{map[string]any{"id": letter, "part": 5}, "VALIDATION_FAILED", []string{"part: ", "4"}},
		{map[string]any{"id": letter, "part": "x"}, "INVALID_REQUEST", []string{"part: "}},
		{map[string]any{"id": letter, "part": 0}, "VALIDATION_FAILED", []string{"part: "}},
		{map[string]any{"id": nil}, "VALIDATION_FAILED", []string{"id: "}},
		{map[string]any{"id": ""}, "VALIDATION_FAILED", []string{"id: "}},
		{map[string]any{"id": letter, "page": 2}, "UNKNOWN_PARAMETER", []string{"page: ", "part"}},
		{map[string]any{"id": "doc_0"}, "NOT_FOUND", nil},
	} {
		a.call("documents_text", wrong.arguments).refused(wrong.code, wrong.words...)
	}
}

// picture returns an image, which has no text.
func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPrompts checks the list of prompts and their texts with an argument.
func TestPrompts(t *testing.T) {
	s := newSite(t, dbtest.SQLite(t))
	a := s.assistant(s.As(access.Member).Key)
	list, err := a.ListPrompts(t.Context(), nil)
	if err != nil || len(list.Prompts) != 5 {
		t.Fatalf("%+v %v", list, err)
	}
	tools := map[string]bool{}
	for tool, err := range a.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		tools[tool.Name] = true
	}
	for _, p := range list.Prompts {
		arguments := map[string]string{}
		for _, argument := range p.Arguments {
			arguments[argument.Name] = "Berger & Söhne"
		}
		got, err := a.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: p.Name, Arguments: arguments})
		if err != nil || len(got.Messages) != 1 {
			t.Fatalf("%+v %v", got, err)
		}
		text := got.Messages[0].Content.(*sdk.TextContent).Text
		if len(arguments) > 0 != strings.Contains(text, "Berger & Söhne") || strings.Contains(text, "{}") ||
			p.Title == "" || p.Description == "" {
			t.Errorf("%s: %s", p.Name, text)
		}
		for _, name := range regexp.MustCompile(`[a-z]+_(?:list|get|create)`).FindAllString(text, -1) {
			if !tools[name] {
				t.Errorf("%s names %s, which is no tool", p.Name, name)
			}
		}
	}
}
