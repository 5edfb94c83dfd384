package apitest

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kartei/access"
	"kartei/api"
	"kartei/api/op"
	"kartei/api/release"
	"kartei/door/mcp"
	"kartei/kit/clock"
	"kartei/kit/i18n"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ByTool is the way of KARTEI_TEST_DOOR=mcp: the calls of clients travel as calls of
// tools with the same key, as an assistant makes them.
var ByTool = &Way{
	Door: api.MCP, name: "mcp", send: (*Client).byTool,
	differing: regexp.MustCompile(`"(requestId|nextCursor)":"[^"]*"`),
	Stages: []Stage{
		{
			"door",
			"HEAD, ranges, conditions of reads, media types, chunks and sizes are HTTP's; malformed JSON is no request of the protocol",
			(*keyCall).ofProtocol,
		},
		{
			"tool",
			"an unknown path has no tool, and neither have the document of the API, a batch and the content of a file",
			(*keyCall).toolless,
		},
		{
			"authenticate",
			"a request without a credential is refused before it names a tool, and an access token is for one of the doors",
			(*keyCall).ofAnotherDoor,
		},
		{
			"organization", "only HTTP has Svc-Organization",
			func(k *keyCall) bool { return k.Header["Svc-Organization"] != nil },
		},
		{
			"version",
			"only HTTP has Svc-Version, and headers about versions: an assistant gets the version of its key",
			(*keyCall).ofAnotherVersion,
		},
		{"channel", "a tool implies Svc-Preview", (*keyCall).previews},
		{
			"idempotency",
			"a creation without a key gets one; where HTTP ignores Idempotency-Key, idempotencyKey is unknown",
			(*keyCall).keyedByDoor,
		},
		{
			"precondition",
			"revision is one number: lists, weak tags and what is malformed have no argument, and * has none if the record cannot be read before; where HTTP ignores If-Match, revision is unknown",
			(*keyCall).tagged,
		},
		{
			"arguments",
			"query and body are one object: its names are unique, its text is Unicode, and it is there even if it is empty",
			(*keyCall).notFlat,
		},
		{
			"page size", "a page of a tool has at most 50 records; a larger one is compared if no more follow",
			(*keyCall).large,
		},
		{"request log", "a read is in it once for each way; the door stands in it and in the history", nil},
	},
}

// toolHeaders are the headers of a request that a call of a tool has too, or that its
// arguments stand for.
var toolHeaders = []string{
	"Authorization", "Accept-Language", "User-Agent", "Content-Type", "Svc-Organization", "Svc-Version",
	"Svc-Preview", "Idempotency-Key", "If-Match",
}

func (k *keyCall) ofProtocol() bool {
	if k.ofHTTP() || k.Method == http.MethodHead {
		return true
	}
	for name := range k.Header {
		if !slices.Contains(toolHeaders, name) {
			return true
		}
	}
	row, _ := k.row()
	if body := k.body(); len(body) > maxArguments || len(body) > 0 && !jsontext.Value(body).IsValid() {
		return true
	}
	return row != nil && row.HasBody() && !slices.Equal(k.Header["Content-Type"], []string{"application/json"})
}

// maxArguments bounds the bytes of arguments, so that the whole request has at most 1 MiB.
const maxArguments = 1<<20 - 1<<10

func (k *keyCall) toolless() bool {
	row, _ := k.row()
	return row == nil || row.Tool() == ""
}

func (k *keyCall) ofAnotherDoor() bool {
	text := api.Authorization(k.Header["Authorization"]).Text
	return text == "" || strings.Contains(text, "_"+access.AccessTokenForm+"_")
}

func (k *keyCall) ofAnotherVersion() bool {
	asked := k.Header["Svc-Version"]
	return asked != nil && !slices.Equal(asked, []string{k.pin()})
}

func (k *keyCall) previews() bool {
	row, _ := k.row()
	asked := k.Header["Svc-Preview"]
	return !slices.Equal(asked, []string{"true"}) && (asked != nil || row.Channel.Preview(k.version()))
}

func (k *keyCall) keyedByDoor() bool {
	row, _ := k.row()
	keys := k.Header["Idempotency-Key"]
	return len(keys) > 1 || len(keys) == 0 && row.Creates() || len(keys) == 1 && (!row.Idempotent() || !isText(keys[0]))
}

// oneRevision is an If-Match that a revision stands for.
var oneRevision = regexp.MustCompile(`^"r([1-9][0-9]{0,17})"$`)

func (k *keyCall) tagged() bool {
	row, _ := k.row()
	tags := k.Header["If-Match"]
	switch {
	case len(tags) == 0:
		return false
	case len(tags) > 1 || !row.Preconditional():
		return true
	case tags[0] == "*":
		return !k.readRevision()
	}
	tag := oneRevision.FindStringSubmatch(tags[0])
	if tag != nil {
		k.revision = tag[1]
	}
	return tag == nil
}

// readRevision reads the revision of the record that a request names, as an assistant does
// before a change. Any will do for a record that the caller does not find. It reports
// whether there is one; a metered office counts the read.
func (k *keyCall) readRevision() bool {
	if k.client.options.limits.Metered {
		return false
	}
	r := httptest.NewRequestWithContext(k.Context(), http.MethodGet,
		"/v1"+strings.Join(strings.Split(k.path, "/")[:3], "/"), nil)
	r.RemoteAddr, r.Header["Authorization"] = k.RemoteAddr, k.Header["Authorization"]
	found := k.client.send(r)
	if tag := oneRevision.FindStringSubmatch(found.Header.Get("ETag")); tag != nil {
		k.revision = tag[1]
	} else if found.Status == http.StatusNotFound {
		k.revision = "1"
	}
	return k.revision != ""
}

func (k *keyCall) notFlat() bool {
	row, record := k.row()
	body, query := k.body(), k.parameters()
	switch _, object := membersOf(body); {
	case !isText(record), query == nil, len(query) > 0 && row.HasBody():
		return true
	case len(body) > 0 && !object, len(body) > 0 != row.HasBody():
		return true
	}
	seen := map[string]bool{}
	for _, a := range k.arguments() {
		if seen[a.name] || !isText(a.name) {
			return true
		}
		seen[a.name] = true
	}
	return false
}

// large reports whether a page is larger than any of a tool. If it would be the last page
// of a tool too, it is the same; only the answer shows that.
func (k *keyCall) large() bool {
	row, _ := k.row()
	if _, pages := parameterOf(row, "limit"); !pages {
		return false
	}
	n, err := strconv.Atoi(k.URL.Query().Get("limit"))
	k.cut = err == nil && n > maxToolSize && n <= 100 && !k.client.options.limits.Metered
	return err == nil && n > maxToolSize && !k.cut
}

// maxToolSize is the size of the largest page of a tool.
const maxToolSize = 50

// row returns the operation that the request calls, and the record id in the
// path. The operation is nil if none has this path.
func (k *keyCall) row() (row *api.Operation, record string) {
	for _, template := range []string{k.path, withID(k.path)} {
		for i := range api.Operations {
			if row := &api.Operations[i]; row.Method == k.Method && row.Path == template {
				if template == k.path {
					return row, ""
				}
				record, err := url.PathUnescape(strings.Split(k.path, "/")[2])
				if err != nil {
					return nil, ""
				}
				return row, record
			}
		}
	}
	return nil, ""
}

// body returns the body, which can be read once more.
func (k *keyCall) body() []byte {
	if k.Body == nil || k.Body == http.NoBody {
		return nil
	}
	body, _ := io.ReadAll(k.Body)
	k.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// version returns the version in which a call is answered.
func (k *keyCall) version() string {
	names := release.Names(k.client.versions)
	if len(names) == 1 {
		return names[0]
	}
	return k.pin()
}

// pin returns the version of the key, or the current one.
func (k *keyCall) pin() string {
	text := api.Authorization(k.Header["Authorization"]).Text
	actor, err := k.client.Directory.Authenticate(context.Background(), text, access.V1, k.from())
	if err != nil || actor.Credential().VersionPin == "" {
		return release.Names(k.client.versions)[0]
	}
	return actor.Credential().VersionPin
}

// argument is one of a tool.
type argument struct {
	name  string
	value jsontext.Value
}

// arguments returns the arguments that a request has: its id, query, body and headers
// side by side.
func (k *keyCall) arguments() (list []argument) {
	row, record := k.row()
	if row.Named() {
		list = append(list, argument{"id", text(record)})
	}
	if k.revision != "" {
		list = append(list, argument{"revision", jsontext.Value(k.revision)})
	}
	if key := k.Header["Idempotency-Key"]; key != nil {
		list = append(list, argument{"idempotencyKey", text(key[0])})
	}
	limited := false
	for _, p := range k.parameters() {
		value := literal(row, p[0], p[1])
		if limited = limited || p[0] == "limit"; k.cut && p[0] == "limit" {
			value = jsontext.Value(strconv.Itoa(maxToolSize))
		}
		list = append(list, argument{p[0], value})
	}
	if f, pages := parameterOf(row, "limit"); pages && !limited { // the door has another default
		list = append(list, argument{"limit", jsontext.Value(f.Tag.Get("default"))})
	}
	members, _ := membersOf(k.body())
	return append(list, members...)
}

// parameters returns the names and values of the query in their order, or nil if it is
// malformed or no Unicode.
func (k *keyCall) parameters() [][2]string {
	list := [][2]string{}
	for part := range strings.SplitSeq(k.URL.RawQuery, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		n, wrong := url.QueryUnescape(name)
		v, malformed := url.QueryUnescape(value)
		if wrong != nil || malformed != nil || strings.Contains(part, ";") || !isText(n) || !isText(v) {
			return nil
		}
		list = append(list, [2]string{n, v})
	}
	return list
}

// literal returns the value of a parameter as an assistant sends it. Integers
// and booleans have no quotes.
func literal(row *api.Operation, name, value string) jsontext.Value {
	f, known := parameterOf(row, name)
	switch {
	case !known || f.Type == reflect.TypeFor[clock.Micros]():
	case f.Type.Kind() == reflect.Bool && (value == "true" || value == "false"):
		return jsontext.Value(value)
	case f.Type.Kind() == reflect.Int:
		if n, err := strconv.Atoi(value); err == nil && strconv.Itoa(n) == value {
			return jsontext.Value(value)
		}
	}
	return text(value)
}

// parameterOf returns the field of an operation's input that a query parameter fills.
func parameterOf(row *api.Operation, name string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(row.Input) {
		if f.Tag.Get("query") == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// membersOf returns the members of a JSON object in their order, each as it was sent.
func membersOf(body []byte) (list []argument, object bool) {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, false
		}
		a := argument{name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		a.value = value.Clone()
		list = append(list, a)
	}
	return list, true
}

// text returns a text as JSON.
func text(s string) jsontext.Value {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic("apitest: " + err.Error()) // isText was asked before
	}
	return b
}

// isText reports whether JSON can hold a text.
func isText(s string) bool {
	_, err := jsontext.AppendQuote(nil, s)
	return err == nil
}

// toolResult is the answer to a call of a tool.
type toolResult struct {
	ID     int            `json:"id"`
	Error  jsontext.Value `json:"error"`
	Result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		StructuredContent jsontext.Value `json:"structuredContent"`
		IsError           bool           `json:"isError"`
		Meta              struct {
			RequestID string `json:"kartei/requestId"`
			Replayed  bool   `json:"kartei/replayed"`
		} `json:"_meta"`
	} `json:"result"`
}

// ByTool sends a request of Request as the call of a tool, whatever the stages say.
func (c *Client) ByTool(r *http.Request) *Answer {
	c.Helper()
	k := c.newCall(r)
	k.tagged() // it reads the revision
	return c.callTool(k)
}

// byTool sends a call as a call of a tool. A change of any revision is repeated until it
// finds the current one. byTool returns nil if a shortened page of the tool is not the last
// page, because the request asked for a longer one.
func (c *Client) byTool(k *keyCall) *Answer {
	c.Helper()
	a := c.callTool(k)
	for range 100 {
		if a.Status != http.StatusPreconditionFailed || k.Header.Get("If-Match") != "*" || !k.readRevision() {
			break
		}
		a = c.callTool(k)
	}
	if k.cut && a.Status == http.StatusOK && a.JSON()["hasMore"] == true {
		k.stage = "page size"
		return nil
	}
	return a
}

// callTool calls the tool of a request, and returns the answer as REST has it.
func (c *Client) callTool(k *keyCall) *Answer {
	c.Helper()
	row, _ := k.row()
	r := httptest.NewRequestWithContext(k.Context(), http.MethodPost, BaseURL+mcp.Path, bytes.NewReader(k.rpc(row.Tool())))
	r.RemoteAddr = k.RemoteAddr
	r.Header = http.Header{
		"Content-Type":         {"application/json"},
		"Accept":               {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2025-11-25"},
	}
	for _, name := range []string{"Authorization", "Accept-Language", "User-Agent"} {
		if values := k.Header[name]; values != nil {
			r.Header[name] = values
		}
	}
	w := httptest.NewRecorder()
	c.Handler.ServeHTTP(w, r)
	a := &Answer{TB: c.TB, Status: w.Code, Header: Received(w.Result().Header), Body: w.Body.Bytes(), log: c.Logged}
	if a.Header.Get("Content-Type") == "application/problem+json" { // a challenge is an answer of HTTP
		challenge := strings.Replace(a.Header.Get("Www-Authenticate"), "oauth-protected-resource/mcp",
			"oauth-protected-resource/v1", 1)
		a.Header.Set("Www-Authenticate", challenge)
		a.Header.Set("Cache-Control", "private, no-cache") // the door lets nobody store anything
	} else {
		a.unwrap(row)
		a.derive(k, row)
	}
	if a.Status >= http.StatusBadRequest { // a problem names the path of the door
		a.Body = bytes.Replace(a.Body, []byte(`"instance":"`+mcp.Path+`"`),
			append([]byte(`"instance":`), text(k.URL.Path)...), 1)
	}
	a.Header.Set("Content-Length", strconv.Itoa(len(a.Body)))
	Conform(c.TB, k.version(), k.Method, strings.TrimPrefix(k.URL.RequestURI(), "/v1"), a.Status, a.Header, a.Body)
	return a
}

// rpc returns the request of a call as JSON-RPC 2.0.
func (k *keyCall) rpc(tool string) []byte {
	b := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":{`)
	for i, a := range k.arguments() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, text(a.name)...), ':'), a.value...)
	}
	return append(b, `}}}`...)
}

// unwrap turns the protocol's answer into REST's answer. A result has the text of REST's
// answer, an error has its problem.
func (a *Answer) unwrap(row *api.Operation) {
	a.Helper()
	var r toolResult
	if err := json.Unmarshal(a.Body, &r); err != nil || a.Status != http.StatusOK || r.ID != 7 || r.Error != nil ||
		len(r.Result.Content) == 0 {
		a.Fatalf("%s: no result of a tool: %d %s %v", row.Tool(), a.Status, a.Body, err)
	}
	content, structured := r.Result.Content, r.Result.StructuredContent
	a.Body = []byte(content[0].Text)
	if r.Result.IsError && len(content) == 2 { // one sentence, and the problem
		a.Body = []byte(content[1].Text)
	}
	if id := a.Header.Get("Request-Id"); r.Result.Meta.RequestID != id {
		a.Errorf("%s: the result is of request %s, the answer of %s", row.Tool(), r.Result.Meta.RequestID, id)
	}
	if r.Result.Meta.Replayed {
		a.Header.Set("Idempotent-Replayed", "true")
	}
	if r.Result.IsError {
		var problem struct {
			Status int `json:"status"`
		}
		if err := json.Unmarshal(a.Body, &problem); err != nil || len(content) != 2 || structured != nil {
			a.Fatalf("%s: no problem: %v %s", row.Tool(), err, a.Body)
		}
		a.Status = problem.Status
		return
	}
	body := jsontext.Value(bytes.Clone(a.Body))
	if body.Canonicalize() != nil || structured.Canonicalize() != nil || !bytes.Equal(body, structured) {
		a.Errorf("%s: the text %s and the structure %s differ", row.Tool(), a.Body, structured)
	}
	a.Status = row.Status()
}

// derive gives an answer the headers of REST. Those that the door does not send follow from
// the row, the body and the request; the others are as it sent them.
func (a *Answer) derive(k *keyCall, row *api.Operation) {
	a.Helper()
	h, version := a.Header, k.version()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Authorization, Accept-Language, Svc-Version")
	h.Set("Svc-Version", version)
	h.Set("Link", "<"+BaseURL+"/docs/openapi.json?version="+version+`>; rel="service-desc"; type="application/json"`)
	if a.Status >= http.StatusBadRequest {
		h.Set("Content-Type", "application/problem+json")
		h.Set("Content-Language", string(i18n.Preferred(k.Header["Accept-Language"])))
		return
	}
	_, record := k.row()
	out, members := row.Output, a.JSON()
	if out.Implements(reflect.TypeFor[op.Secret]()) {
		h.Set("Cache-Control", "no-store")
	}
	if revision, has := members["revision"].(float64); has && out.Implements(reflect.TypeFor[op.EntityTagger]()) {
		h.Set("ETag", `"r`+strconv.FormatInt(int64(revision), 10)+`"`)
	}
	switch a.Status {
	case http.StatusCreated: // the first revision, which the address of an upload does not show
		h.Set("ETag", `"r1"`)
		if out.Implements(reflect.TypeFor[op.Locator]()) {
			h.Set("Location", "/v1"+row.Path+"/"+a.Text("id"))
		}
	case http.StatusAccepted:
		h.Set("Location", "/v1/operations/"+a.Text("id"))
	}
	// A tool's answer always has a body. After a deletion, or if the caller may not read the
	// changed record, the body says only what was done.
	done := slices.Sorted(maps.Keys(members))
	if word := done[0]; (word == "changed" || word == "deleted") && members[word] == true && len(done) <= 3 {
		if members["id"] != record || row.Deletes() != (word == "deleted") {
			a.Errorf("%s of %s: %s", row.Tool(), record, a.Body)
		}
		a.Status, a.Body = http.StatusNoContent, nil
		h.Del("Content-Type")
	}
}
