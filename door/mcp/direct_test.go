package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"kartei/api/openapi"
	"kartei/api/release"
	"kartei/kit/i18n"
)

// FuzzPlain checks that the SDK reads each plain request in the same way: with the same id, tool
// and arguments.
func FuzzPlain(f *testing.F) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"contacts_get","arguments":{"id":"con_1"}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"_meta":{"progressToken":7},"name":"me_get"}}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"contacts_get","Name":"contacts_list","arguments":{"id":1,"id":2}}}`,
		`{"jsonrpc":"2.0","id":-9007199254740993,"method":"tools/call","params":{"name":"\ud800","arguments":null}} `,
		`{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"me_get","arguments":[]}}{}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x","_meta":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"me_get","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true}}}}}`,
	} {
		f.Add([]byte(body), "")
		f.Add([]byte(body), newRevision)
	}
	f.Fuzz(func(t *testing.T, body []byte, revision string) {
		h := http.Header{
			"Content-Type": {"application/json"},
			"Accept":       {"application/json, text/event-stream"},
			"Mcp-Method":   {"tools/call"},
			"Mcp-Name":     {"me_get"},
		}
		h.Set("MCP-Protocol-Version", revision)
		c, ok := plainCall(h, body)
		if !ok {
			checkPlainList(t, h, body)
			return
		}
		message, err := jsonrpc.DecodeMessage(body)
		call, is := message.(*jsonrpc.Request)
		if err != nil || !is || !call.IsCall() || call.Method != "tools/call" {
			t.Fatalf("%s is no call: %v", body, err)
		}
		var params sdk.CallToolParamsRaw
		if err := json.Unmarshal(call.Params, &params); err != nil || params.Name != c.name ||
			string(params.Arguments) != string(c.arguments) {
			t.Errorf("%s: %v: %q with %s, and not %q with %s", body, err, params.Name, params.Arguments, c.name, c.arguments)
		}
		var id any
		if err := json.Unmarshal(c.id, &id); err != nil {
			t.Fatal(err)
		}
		if number, is := id.(float64); is {
			id = int64(number)
		}
		if call.ID.Raw() != id {
			t.Errorf("%s: the id is %v, and not %v", body, call.ID.Raw(), id)
		}
		_, revised := params.Meta[sdk.MetaKeyProtocolVersion]
		if c.revised != revised || revised && params.Meta[sdk.MetaKeyProtocolVersion] != revision {
			t.Errorf("%s with the header %q belongs to another revision", body, revision)
		}
	})
}

// checkPlainList checks that the SDK reads a plain request for tools/list as a request for the
// first page.
func checkPlainList(t *testing.T, h http.Header, body []byte) {
	h.Set("Mcp-Method", "tools/list")
	if _, ok := plainList(h, body); !ok {
		return
	}
	message, err := jsonrpc.DecodeMessage(body)
	question, is := message.(*jsonrpc.Request)
	if err != nil || !is || !question.IsCall() || question.Method != "tools/list" {
		t.Fatalf("%s is no question: %v", body, err)
	}
	var params sdk.ListToolsParams
	if len(question.Params) > 0 && json.Unmarshal(question.Params, &params) != nil || params.Cursor != "" {
		t.Errorf("%s asks for the page of %q", body, params.Cursor)
	}
}

// TestListsBound checks that the cache keeps its limits, and returns the result of the key.
func TestListsBound(t *testing.T) {
	var l lists
	for n := range 3 * maxLists {
		l.keep(strconv.Itoa(n), []byte(strconv.Itoa(n)))
		if len(l.kept) > maxLists || string(l.find(strconv.Itoa(n))) != strconv.Itoa(n) {
			t.Fatalf("%d results, and %q for %d", len(l.kept), l.find(strconv.Itoa(n)), n)
		}
	}
	for n := range 10 {
		l.keep(strconv.Itoa(n%6), bytes.Repeat([]byte{'x'}, maxListBytes/5))
		sum := 0
		for _, result := range l.kept {
			sum += len(result)
		}
		if sum != l.bytes || sum > maxListBytes {
			t.Fatalf("%d bytes are kept, and %d counted", sum, l.bytes)
		}
	}
}

// TestHTTPWords checks that each text that httpWords replaces occurs in an
// OpenAPI document.
func TestHTTPWords(t *testing.T) {
	for _, in := range []i18n.Language{i18n.German, i18n.English} {
		said := map[string]bool{}
		for _, version := range release.Names(release.Versions) {
			document, _ := openapi.Document(version)
			d, err := parseDocument(document, in)
			if err != nil {
				t.Fatal(err)
			}
			d.words = strings.NewReplacer()
			for _, p := range httpWords {
				old := p[0].In(in)
				said[old] = said[old] || strings.Contains(string(document), old)
				for _, english := range d.english {
					said[old] = said[old] || strings.Contains(english, old)
				}
			}
		}
		for old, is := range said {
			if !is {
				t.Errorf("no document says %q", old)
			}
		}
	}
}

// TestPlainCall checks that unusual requests are left to the SDK.
func TestPlainCall(t *testing.T) {
	const (
		params  = `{"name":"me_get","arguments":{}}`
		meta    = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
		revised = `{"name":"me_get","arguments":{},"_meta":{` + meta + `,"io.modelcontextprotocol/clientCapabilities":{}}}`
	)
	call := func(id, params string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":` + params + `}`
	}
	for name, test := range map[string]struct {
		body   string
		header map[string]string
		want   bool
	}{
		"of an old revision":    {call("1", params), nil, true},
		"with a revision":       {call(`"x"`, params), map[string]string{"Mcp-Protocol-Version": "2025-11-25"}, true},
		"of the new revision":   {call("1", revised), map[string]string{"Mcp-Protocol-Version": newRevision}, true},
		"with a progress token": {call("1", `{"name":"me_get","_meta":{"progressToken":1}}`), nil, true},
		"unknown revision":      {call("1", params), map[string]string{"Mcp-Protocol-Version": "2024-01-01"}, false},
		"new without meta":      {call("1", params), map[string]string{"Mcp-Protocol-Version": newRevision}, false},
		"new without capabilities": {
			call("1", `{"name":"me_get","_meta":{`+meta+`}}`),
			map[string]string{"Mcp-Protocol-Version": newRevision},
			false,
		},
		"new with another client": {
			call("1", `{"name":"me_get","_meta":{`+meta+
				`,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":5}}`),
			map[string]string{"Mcp-Protocol-Version": newRevision},
			false,
		},
		"new without its header": {call("1", revised), nil, false},
		"new with another name": {
			call("1", revised),
			map[string]string{"Mcp-Protocol-Version": newRevision, "Mcp-Name": "contacts_get"},
			false,
		},
		"new with another method": {
			call("1", revised),
			map[string]string{"Mcp-Protocol-Version": newRevision, "Mcp-Method": "tools/list"},
			false,
		},
		"another content type": {call("1", params), map[string]string{"Content-Type": "text/plain"}, false},
		"takes another JSON": {
			call("1", params),
			map[string]string{"Accept": "application/jsonl, text/event-stream"},
			false,
		},
		"does not take streams":      {call("1", params), map[string]string{"Accept": "application/json"}, false},
		"a notification":             {`{"jsonrpc":"2.0","method":"tools/call","params":` + params + `}`, nil, false},
		"null as id":                 {call("null", params), nil, false},
		"a fraction as id":           {call("1.5", params), nil, false},
		"an id with an escape":       {call(`"\u0061"`, params), nil, false},
		"an id beyond what is exact": {call("12345678901234567", params), nil, false},
		"another method":             {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` + params + `}`, nil, false},
		"an unknown member":          {call("1", `{"name":"me_get","requestState":"x"}`), nil, false},
		"a member twice":             {call("1", `{"name":"me_get","name":"contacts_list"}`), nil, false},
		"something follows":          {call("1", params) + "{}", nil, false},
		"not UTF-8":                  {call("1", "{\"name\":\"me_get\xff\"}"), nil, false},
		"no params":                  {`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, nil, false},
	} {
		h := http.Header{
			"Content-Type": {"application/json; charset=utf-8"},
			"Accept":       {"application/json, text/event-stream"},
			"Mcp-Method":   {"tools/call"},
			"Mcp-Name":     {"me_get"},
		}
		for name, value := range test.header {
			h.Set(name, value)
		}
		if _, got := plainCall(h, []byte(test.body)); got != test.want {
			t.Errorf("%s: plain is %t", name, got)
		}
	}
}
