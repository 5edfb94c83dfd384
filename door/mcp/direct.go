package mcp

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK makes a session, a connection and two goroutines for each request, and decodes it three
// times. This costs several times as much as the operation itself (docs/performance.md).
//
// So this package handles three plain requests itself: tools/call, tools/list and resources/read of
// a record. The SDK handles all others, and all malformed requests. FuzzPlain compares both.

// oldRevisions are the revisions of the protocol whose calls need no further headers or members. A
// request without the header has the oldest one.
var oldRevisions = []string{"", "2025-03-26", "2025-06-18", "2025-11-25"}

// newRevision is the first revision of the protocol without sessions.
const newRevision = "2026-07-28"

// plain is a request that this package handles without the SDK.
type plain struct {
	id json.RawMessage
	// name is the name of the called tool. arguments are the arguments of the call.
	name      string
	arguments json.RawMessage
	// revision is the value of the header MCP-Protocol-Version. revised says that it is
	// newRevision, whose results have more members.
	revision string
	revised  bool
}

// plainCall reads a request for tools/call. ok is false if anything in the request is unusual.
func plainCall(h http.Header, body []byte) (c plain, ok bool) {
	params, ok := c.read(h, body, "tools/call", "name", "arguments", "_meta")
	if !ok || len(params) == 0 || json.Unmarshal(params["name"], &c.name) != nil {
		return c, false
	}
	c.arguments = params["arguments"]
	return c, !c.revised || h.Get("Mcp-Name") == c.name
}

// plainList reads a request for the first page of tools/list. ok is false if anything in it is
// unusual.
func plainList(h http.Header, body []byte) (c plain, ok bool) {
	_, ok = c.read(h, body, "tools/list", "_meta")
	return c, ok
}

// plainRead reads a request for resources/read and returns the URI. ok is false if anything in the
// request is unusual.
func plainRead(h http.Header, body []byte) (c plain, uri string, ok bool) {
	params, ok := c.read(h, body, "resources/read", "uri", "_meta")
	if !ok || len(params) == 0 || json.Unmarshal(params["uri"], &uri) != nil {
		return c, "", false
	}
	return c, uri, !c.revised || h.Get("Mcp-Name") == uri
}

// read reads a request of a method and returns its params. ok is false if the params have members
// other than names, or if the headers do not match the request.
func (c *plain) read(
	h http.Header, body []byte, method string, names ...string,
) (params map[string]json.RawMessage, ok bool) {
	if !acceptable(h) || !utf8.Valid(body) {
		return nil, false
	}
	request, ok := uniqueMembers(body, "jsonrpc", "id", "method", "params")
	if !ok || string(request["jsonrpc"]) != `"2.0"` || string(request["method"]) != `"`+method+`"` ||
		!plainID(request["id"]) {
		return nil, false
	}
	if params, ok = uniqueMembers(request["params"], names...); !ok || string(request["params"]) == "null" {
		return nil, false
	}
	c.id, c.revision = request["id"], h.Get("MCP-Protocol-Version")
	meta, known := params["_meta"]
	switch {
	case slices.Contains(oldRevisions, c.revision):
		return params, !known || oldMeta(meta)
	case c.revision == newRevision:
		c.revised = true
		return params, h.Get("Mcp-Method") == method && newMeta(meta)
	}
	return nil, false
}

// acceptable reports whether the request is JSON, and whether the client accepts JSON and event
// streams.
func acceptable(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	var taken []string
	for kind := range strings.SplitSeq(strings.Join(h["Accept"], ","), ",") {
		kind, _, _ = strings.Cut(kind, ";")
		taken = append(taken, strings.TrimSpace(kind))
	}
	return err == nil && kind == "application/json" && slices.Contains(taken, "application/json") &&
		slices.Contains(taken, "text/event-stream")
}

// uniqueMembers returns the members of a JSON object. ok is false if a member occurs twice, or is
// not in names. An empty text and null have no members.
func uniqueMembers(text []byte, names ...string) (map[string]json.RawMessage, bool) {
	list, err := membersOf(text)
	if err != nil {
		return nil, false
	}
	members := make(map[string]json.RawMessage, len(list))
	for _, m := range list {
		if _, twice := members[m.name]; twice || !slices.Contains(names, m.name) {
			return nil, false
		}
		members[m.name] = m.value
	}
	return members, true
}

// plainID reports whether an id is a string without escapes, or an integer with at most 15 digits.
// Such an id can be repeated unchanged in the response.
func plainID(id []byte) bool {
	if len(id) > 1 && id[0] == '"' {
		return !bytes.Contains(id, []byte{'\\'})
	}
	digits := bytes.TrimPrefix(id, []byte("-"))
	return len(digits) > 0 && len(digits) < 16 && len(bytes.Trim(digits, "0123456789")) == 0 && string(id) != "-0"
}

// oldMeta reports whether _meta belongs to an old revision. A progress token in it is ignored,
// because no progress is sent.
func oldMeta(text []byte) bool {
	var meta map[string]json.RawMessage
	if json.Unmarshal(text, &meta) != nil || meta == nil {
		return false
	}
	_, revised := meta[sdk.MetaKeyProtocolVersion]
	return !revised
}

// newMeta reports whether _meta has the members that the new revision requires.
func newMeta(text []byte) bool {
	var (
		meta         map[string]json.RawMessage
		client       sdk.Implementation
		capabilities *sdk.ClientCapabilities
	)
	if json.Unmarshal(text, &meta) != nil || string(meta[sdk.MetaKeyProtocolVersion]) != `"`+newRevision+`"` {
		return false
	}
	if about, says := meta[sdk.MetaKeyClientInfo]; says && (about[0] != '{' || json.Unmarshal(about, &client) != nil) {
		return false
	}
	return json.Unmarshal(meta[sdk.MetaKeyClientCapabilities], &capabilities) == nil && capabilities != nil
}

// direct handles a request for tools/call. It returns false, without any effect, if the SDK has to
// handle the request.
func (d *door) direct(w http.ResponseWriter, r *http.Request, x *exchange, body []byte) bool {
	c, ok := plainCall(r.Header, body)
	if !ok || !d.names[c.name] {
		return false
	}
	list, err := membersOf(c.arguments)
	if err != nil {
		return false
	}
	// The caller's API version is not known yet. The arguments of a tool are the same in all
	// versions.
	set, err := d.toolset("", x.language)
	if err != nil || set.byName[c.name] == nil {
		return false
	}
	result := set.byName[c.name].call(r.Context(), x, list)
	answer, err := c.answer(result, d.Release)
	if err != nil {
		problem(d.API, w, r, err)
		return true
	}
	w.Header().Set("Content-Type", "application/json")
	d.reply(w, x, http.StatusOK, answer)
	return true
}

// answer returns the JSON-RPC response to a call.
func (c *plain) answer(result *sdk.CallToolResult, release string) ([]byte, error) {
	shown := struct {
		Meta       sdk.Meta      `json:"_meta,omitempty"`
		Content    []sdk.Content `json:"content"`
		Structured any           `json:"structuredContent,omitempty"`
		IsError    bool          `json:"isError,omitempty"`
		Type       string        `json:"resultType,omitempty"`
	}{result.Meta, result.Content, result.StructuredContent, result.IsError, ""}
	if c.revised {
		shown.Type = "complete"
		if shown.Meta == nil {
			shown.Meta = sdk.Meta{}
		}
		shown.Meta[sdk.MetaKeyServerInfo] = implementation(release)
	}
	return c.encode(shown)
}

// encode returns the JSON-RPC response with a result.
func (c *plain) encode(result any) ([]byte, error) {
	out := bytes.NewBuffer(c.begin(4096))
	if err := json.NewEncoder(out).Encode(result); err != nil {
		return nil, err
	}
	b := out.Bytes()
	b[len(b)-1] = '}' // replaces the newline of the encoder
	return b, nil
}

// begin returns the beginning of a JSON-RPC response, up to the result. Its capacity is enough for
// a result of size bytes.
func (c *plain) begin(size int) []byte {
	b := append(make([]byte, 0, size+64+len(c.id)), `{"jsonrpc":"2.0","id":`...)
	return append(append(b, c.id...), `,"result":`...)
}
