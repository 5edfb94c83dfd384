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

// The SDK makes a session, a connection and two goroutines for each request, and reads it
// three times: that costs several times what the operation does (docs/performance.md). So
// the door itself answers the call of a tool, the question for the tools and the read of a
// record, if nothing in them needs the protocol. The SDK answers everything else, also
// whatever is wrong with a request. FuzzPlain compares both.

// oldRevisions are the revisions whose calls have no headers and no members of their own.
// A call without a header has the oldest one.
var oldRevisions = []string{"", "2025-03-26", "2025-06-18", "2025-11-25"}

// newRevision is the first revision without sessions.
const newRevision = "2026-07-28"

// plain is a request in which nothing needs the protocol: the call of a tool, the question
// for the tools, or the read of a record.
type plain struct {
	id json.RawMessage
	// name is the called tool's name, and arguments are the call's arguments.
	name      string
	arguments json.RawMessage
	// revision is the one that the header names. revised is true in the new one, whose
	// results say more.
	revision string
	revised  bool
}

// plainCall reads the call of a tool. It is not ok if anything in the request is unusual.
func plainCall(h http.Header, body []byte) (c plain, ok bool) {
	params, ok := c.read(h, body, "tools/call", "name", "arguments", "_meta")
	if !ok || len(params) == 0 || json.Unmarshal(params["name"], &c.name) != nil {
		return c, false
	}
	c.arguments = params["arguments"]
	return c, !c.revised || h.Get("Mcp-Name") == c.name
}

// plainList reads the question for the tools, for the first page of them.
func plainList(h http.Header, body []byte) (c plain, ok bool) {
	_, ok = c.read(h, body, "tools/list", "_meta")
	return c, ok
}

// plainRead reads the question for a record as a resource, and returns its address.
func plainRead(h http.Header, body []byte) (c plain, uri string, ok bool) {
	params, ok := c.read(h, body, "resources/read", "uri", "_meta")
	if !ok || len(params) == 0 || json.Unmarshal(params["uri"], &uri) != nil {
		return c, "", false
	}
	return c, uri, !c.revised || h.Get("Mcp-Name") == uri
}

// read reads a request of a method, and returns its params. It is not ok if there are
// other members than those names, or if the header belongs to another request.
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

// acceptable reports whether a client takes what the door answers.
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

// uniqueMembers returns the members of an object. It is not ok if there are others, or one
// comes twice. No text and null have no members.
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

// plainID reports whether an id is a text without escapes, or an integer that every program
// can hold. Such an id is repeated as it came.
func plainID(id []byte) bool {
	if len(id) > 1 && id[0] == '"' {
		return !bytes.Contains(id, []byte{'\\'})
	}
	digits := bytes.TrimPrefix(id, []byte("-"))
	return len(digits) > 0 && len(digits) < 16 && len(bytes.Trim(digits, "0123456789")) == 0 && string(id) != "-0"
}

// oldMeta reports whether _meta belongs to an old revision. A progress token is ignored: the
// door sends no progress.
func oldMeta(text []byte) bool {
	var meta map[string]json.RawMessage
	if json.Unmarshal(text, &meta) != nil || meta == nil {
		return false
	}
	_, revised := meta[sdk.MetaKeyProtocolVersion]
	return !revised
}

// newMeta reports whether _meta has what the new revision demands.
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

// direct answers the call of a tool. It reports false, and has done nothing, if the request
// is for the SDK.
func (d *door) direct(w http.ResponseWriter, r *http.Request, x *exchange, body []byte) bool {
	c, ok := plainCall(r.Header, body)
	if !ok || !d.names[c.name] {
		return false
	}
	list, err := membersOf(c.arguments)
	if err != nil {
		return false
	}
	// The version of the caller is not known yet. A tool takes the same arguments in each.
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

// answer returns the answer to a call.
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

// encode returns the answer with a result.
func (c *plain) encode(result any) ([]byte, error) {
	out := bytes.NewBuffer(c.begin(4096))
	if err := json.NewEncoder(out).Encode(result); err != nil {
		return nil, err
	}
	b := out.Bytes()
	b[len(b)-1] = '}' // in place of the line end that the encoder adds
	return b, nil
}

// begin returns the beginning of an answer, up to the result, with room for one of a size.
func (c *plain) begin(size int) []byte {
	b := append(make([]byte, 0, size+64+len(c.id)), `{"jsonrpc":"2.0","id":`...)
	return append(append(b, c.id...), `,"result":`...)
}
