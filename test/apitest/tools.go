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

// ByTool is the Way for KARTEI_TEST_DOOR=mcp. It sends the calls of clients as MCP tool calls with
// the same key, as an assistant does.
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

// toolHeaders are the headers that a tool call has too, or for which it has an argument.
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

// maxArguments is the maximum size of a tool call's arguments in bytes. The whole request has at
// most 1 MiB.
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

// oneRevision matches an If-Match that the argument revision can replace.
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

// readRevision reads the revision of the record in the path, as an assistant does before a change.
// If the caller cannot find the record, any revision will do. readRevision reports whether it has a
// revision. With metered limits it returns false, because the read would be counted.
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

// large reports whether the requested page is larger than any page of a tool. It sets k.cut if the
// tool's page may still be the same because it is the last. Only the response shows that.
func (k *keyCall) large() bool {
	row, _ := k.row()
	if _, pages := parameterOf(row, "limit"); !pages {
		return false
	}
	n, err := strconv.Atoi(k.URL.Query().Get("limit"))
	k.cut = err == nil && n > maxToolSize && n <= 100 && !k.client.options.limits.Metered
	return err == nil && n > maxToolSize && !k.cut
}

// maxToolSize is the maximum number of records in a page of a tool.
const maxToolSize = 50

// row returns the operation that the request calls, and the record id in the path. The operation is
// nil if there is none for the path.
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

// body returns the body of the request. It can be read again.
func (k *keyCall) body() []byte {
	if k.Body == nil || k.Body == http.NoBody {
		return nil
	}
	body, _ := io.ReadAll(k.Body)
	k.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// version returns the version of the API in which the server responds.
func (k *keyCall) version() string {
	names := release.Names(k.client.versions)
	if len(names) == 1 {
		return names[0]
	}
	return k.pin()
}

// pin returns the version that the key is bound to, or else the current version.
func (k *keyCall) pin() string {
	text := api.Authorization(k.Header["Authorization"]).Text
	actor, err := k.client.Directory.Authenticate(context.Background(), text, access.V1, k.from())
	if err != nil || actor.Credential().VersionPin == "" {
		return release.Names(k.client.versions)[0]
	}
	return actor.Credential().VersionPin
}

// argument is a named argument of a tool call.
type argument struct {
	name  string
	value jsontext.Value
}

// arguments returns the arguments of the tool call: the id, the query, the body and the headers of
// the request side by side.
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
	if f, pages := parameterOf(row, "limit"); pages && !limited { // MCP has another default than REST
		list = append(list, argument{"limit", jsontext.Value(f.Tag.Get("default"))})
	}
	members, _ := membersOf(k.body())
	return append(list, members...)
}

// parameters returns the names and values in the query, in order. It returns nil if the query is
// malformed or not valid UTF-8.
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

// literal returns the value of a query parameter as an assistant sends it in JSON. Integers and
// booleans have no quotes.
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

// membersOf returns the members of a JSON object in their order, with their values unchanged.
// object is false if the body is not an object.
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

// text returns s as a JSON string. s must be valid UTF-8.
func text(s string) jsontext.Value {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic("apitest: " + err.Error()) // callers have checked isText
	}
	return b
}

// isText reports whether a JSON string can hold s.
func isText(s string) bool {
	_, err := jsontext.AppendQuote(nil, s)
	return err == nil
}

// toolResult is the JSON-RPC response to a tool call.
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

// ByTool sends a request from Request as a tool call. It ignores the stages.
func (c *Client) ByTool(r *http.Request) *Answer {
	c.Helper()
	k := c.newCall(r)
	k.tagged() // reads the revision
	return c.callTool(k)
}

// byTool sends a request as a tool call. For If-Match: *, it repeats the call until the call has
// the current revision. It returns nil if the tool's page is shorter than the requested page, and
// is not the last one.
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

// callTool calls the tool for a request. It returns the response in the form of REST.
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
	if a.Header.Get("Content-Type") == "application/problem+json" { // A challenge is a plain HTTP response.
		challenge := strings.Replace(a.Header.Get("Www-Authenticate"), "oauth-protected-resource/mcp",
			"oauth-protected-resource/v1", 1)
		a.Header.Set("Www-Authenticate", challenge)
		a.Header.Set("Cache-Control", "private, no-cache") // MCP responses have no-store.
	} else {
		a.unwrap(row)
		a.derive(k, row)
	}
	if a.Status >= http.StatusBadRequest { // A problem has the path of the MCP endpoint.
		a.Body = bytes.Replace(a.Body, []byte(`"instance":"`+mcp.Path+`"`),
			append([]byte(`"instance":`), text(k.URL.Path)...), 1)
	}
	a.Header.Set("Content-Length", strconv.Itoa(len(a.Body)))
	Conform(c.TB, k.version(), k.Method, strings.TrimPrefix(k.URL.RequestURI(), "/v1"), a.Status, a.Header, a.Body)
	return a
}

// rpc returns the tool call as a JSON-RPC 2.0 request.
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

// unwrap replaces a by the response that REST would give. A result contains the body of that
// response as text. An error contains the problem.
func (a *Answer) unwrap(row *api.Operation) {
	a.Helper()
	var r toolResult
	if err := json.Unmarshal(a.Body, &r); err != nil || a.Status != http.StatusOK || r.ID != 7 || r.Error != nil ||
		len(r.Result.Content) == 0 {
		a.Fatalf("%s: no result of a tool: %d %s %v", row.Tool(), a.Status, a.Body, err)
	}
	content, structured := r.Result.Content, r.Result.StructuredContent
	a.Body = []byte(content[0].Text)
	if r.Result.IsError && len(content) == 2 { // a sentence and the problem
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

// derive sets the headers of REST. The values of headers that MCP does not send follow from the
// operation, the body and the request. The other headers stay unchanged.
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
	case http.StatusCreated: // The ETag has the first revision. The URL of an upload session does not show it.
		h.Set("ETag", `"r1"`)
		if out.Implements(reflect.TypeFor[op.Locator]()) {
			h.Set("Location", "/v1"+row.Path+"/"+a.Text("id"))
		}
	case http.StatusAccepted:
		h.Set("Location", "/v1/operations/"+a.Text("id"))
	}
	// The result of a tool always has a body. After a deletion, the body says only that. The same
	// holds if the caller may not read the changed record.
	done := slices.Sorted(maps.Keys(members))
	if word := done[0]; (word == "changed" || word == "deleted") && members[word] == true && len(done) <= 3 {
		if members["id"] != record || row.Deletes() != (word == "deleted") {
			a.Errorf("%s of %s: %s", row.Tool(), record, a.Body)
		}
		a.Status, a.Body = http.StatusNoContent, nil
		h.Del("Content-Type")
	}
}
