// Package batch owns the form of POST /batch: its request body, the rules that no schema states, and its response.
package batch

import (
	"fmt"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxCalls is the maximum number of calls in a batch (contract, 'Other constants').
const MaxCalls = 20

// Allowed reports whether a batch may contain a call with this method and this escaped path. The
// path need not exist.
var Allowed = op.Need[func(method, path string) bool]("calls of a batch")

// Input is the input of batch.run.
type Input struct {
	Calls Calls `body:"batch"`
}

// Calls is the body of a batch.
type Calls struct {
	Calls []Call `json:"calls" verbatim:"true" required:"true" minItems:"1" maxItems:"20" example:"[{\"id\":\"neu\",\"method\":\"POST\",\"path\":\"/contacts\",\"headers\":{\"Idempotency-Key\":\"5f0c7a52-3e0b-4a53-9d0e-8d5c1f6f2b11\"},\"body\":{\"lastName\":\"Berg\"}},{\"method\":\"GET\",\"path\":\"/tasks?limit=5\"}]"`
}

// Call is one call of a batch, as the client sends it.
type Call struct {
	ID      *string        `json:"id" max:"100" example:"neu"`
	Method  string         `json:"method" required:"true" max:"32" pattern:"^[A-Za-z-]+$" example:"POST"`
	Path    string         `json:"path" required:"true" max:"8192" pattern:"^/[^\\x00-\\x20\\x7f#]*$" example:"/contacts"`
	Headers *Headers       `json:"headers"`
	Body    jsontext.Value `json:"body" example:"{\"lastName\":\"Berg\"}"`
}

// Headers are the headers that a single call may have.
type Headers struct {
	IfMatch        *string `json:"If-Match" max:"8192" example:"null"`
	IfNoneMatch    *string `json:"If-None-Match" max:"8192" example:"null"`
	IdempotencyKey *string `json:"Idempotency-Key" max:"8192" example:"5f0c7a52-3e0b-4a53-9d0e-8d5c1f6f2b11"`
}

// Results are the responses to the calls, in the order of the calls.
type Results struct {
	Results []Result `json:"results" maxItems:"20" example:"[{\"id\":\"neu\",\"status\":201,\"headers\":{\"Content-Type\":\"application/json\",\"ETag\":\"\\\"r1\\\"\",\"Location\":\"/v1/contacts/con_01jb2z5k3xf0q8r9s7t6v5w4y3\",\"Request-Id\":\"req_01jb2z5k3xf0q8r9s7t6v5w4y3\"},\"body\":{\"object\":\"contact\",\"id\":\"con_01jb2z5k3xf0q8r9s7t6v5w4y3\",\"lastName\":\"Berg\"}},{\"id\":\"1\",\"status\":403,\"headers\":{\"Content-Type\":\"application/problem+json\",\"Content-Language\":\"de\",\"Request-Id\":\"req_01jb2z5k3xf0q8r9s7t6v5w4y4\"},\"body\":{\"code\":\"FORBIDDEN\",\"status\":403}}]"`
}

// Result is the response to one call. It is the same response that the call would get alone.
type Result struct {
	ID      string            `json:"id" max:"100" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]*$" example:"neu"`
	Status  int               `json:"status" min:"200" max:"599" example:"201"`
	Headers map[string]string `json:"headers" example:"{\"Content-Type\":\"application/json\",\"Request-Id\":\"req_01jb2z5k3xf0q8r9s7t6v5w4y3\"}"`
	Body    jsontext.Value    `json:"body" example:"{\"object\":\"contact\",\"id\":\"con_01jb2z5k3xf0q8r9s7t6v5w4y3\",\"lastName\":\"Berg\"}"`
}

// shown has the names of the headers that a Result can have.
var shown = [...]string{
	"Content-Type", "Content-Language", "Location", "ETag", "Idempotent-Replayed", "Retry-After", "Allow",
	"WWW-Authenticate", "RateLimit", "RateLimit-Policy", "Request-Id",
}

// Bound refuses a body with more than MaxCalls calls. It runs before all other checks.
func (*Calls) Bound(body map[string]any) error {
	if calls, _ := body["calls"].([]any); len(calls) > MaxCalls {
		return fault.New(fault.BatchTooLarge)
	}
	return nil
}

// Check fails with the errors of Wrong. If all errors are calls that a batch may not contain, the
// code is BATCH_FAMILY_NOT_ALLOWED. Otherwise the code is VALIDATION_FAILED. The status is 422 in
// both cases.
func (c *Calls) Check(s *op.Services) error {
	malformed, outside := c.malformed(op.RuleScope{}), c.outside(s, op.RuleScope{})
	switch {
	case len(malformed) > 0:
		return fault.Invalid(append(malformed, outside...)...)
	case len(outside) > 0:
		return &fault.Fault{Code: fault.BatchFamilyNotAllowed, Fields: outside}
	}
	return nil
}

// Wrong returns the violations of rules that the schema cannot express.
func (c *Calls) Wrong(s *op.Services, sent op.RuleScope) []fault.Field {
	return append(c.malformed(sent), c.outside(s, sent)...)
}

// malformed returns the calls with the same id as another call, and the paths that are not valid in
// a URL.
func (c *Calls) malformed(sent op.RuleScope) (wrong []fault.Field) {
	first := map[string]int{}
	for i, name := range c.Names() {
		if id := member(i, "id"); sent.Fit(id) {
			j, twice := first[name]
			switch {
			case !twice:
				first[name] = i
			case c.Calls[i].ID != nil:
				wrong = append(wrong, fault.Field{Name: id, Code: fault.Duplicate})
			default: // the id of the other call equals the index of this call
				wrong = append(wrong, fault.Field{Name: member(j, "id"), Code: fault.Duplicate})
			}
		}
		if path := member(i, "path"); sent.Fit(path) {
			switch target, _, err := c.Calls[i].Target(); {
			case err != nil:
				wrong = append(wrong, fault.Field{Name: path, Code: fault.InvalidFormat, Limit: escaped})
			case strings.HasPrefix(target, "/v1/"): // the client has copied the path from a Location header
				wrong = append(wrong, fault.Field{Name: path, Code: fault.InvalidFormat, Limit: behindVersion})
			}
		}
	}
	return wrong
}

var behindVersion = i18n.Text("the path after /v1, for example /contacts")

var escaped = i18n.Text("a path with two hexadecimal digits after each %")

// outside returns the calls that a batch may not contain.
func (c *Calls) outside(s *op.Services, sent op.RuleScope) (wrong []fault.Field) {
	for i := range c.Calls {
		name := member(i, "path")
		if !sent.Fit(name, member(i, "method")) {
			continue
		}
		if path, _, err := c.Calls[i].Target(); err == nil && !Allowed.Of(s)(c.Calls[i].Method, path) {
			wrong = append(wrong, fault.Field{Name: name, Code: fault.NotInEnum, Text: outOfBatch})
		}
	}
	return wrong
}

var outOfBatch = i18n.Text("This operation is not allowed in a batch.")

func member(i int, name string) string { return fmt.Sprintf("calls[%d].%s", i, name) }

// Names returns the ids of the calls. The id of a call without an id is its index.
func (c *Calls) Names() []string {
	names := make([]string, len(c.Calls))
	for i := range c.Calls {
		if names[i] = strconv.Itoa(i); c.Calls[i].ID != nil {
			names[i] = *c.Calls[i].ID
		}
	}
	return names
}

// Target returns the escaped path below /v1 and the raw query. It splits them like an HTTP server.
// It fails if the path is not valid.
func (c *Call) Target() (path, query string, err error) {
	const prefix = "/v1"
	u, err := url.ParseRequestURI(prefix + c.Path)
	if err != nil {
		return "", "", err
	}
	return u.EscapedPath()[len(prefix):], u.RawQuery, nil
}

// HasBody reports whether the call has a body.
func (c *Call) HasBody() bool { return len(c.Body) > 0 && c.Body.Kind() != 'n' }

// Header adds the call's headers to h, under their canonical names.
func (c *Call) Header(h map[string][]string) {
	if c.Headers == nil {
		return
	}
	for name, value := range map[string]*string{
		"If-Match": c.Headers.IfMatch, "If-None-Match": c.Headers.IfNoneMatch, "Idempotency-Key": c.Headers.IdempotencyKey,
	} {
		if value != nil {
			h[name] = []string{textproto.TrimString(*value)}
		}
	}
}

// ResultOf returns the result of a call that got this response.
func ResultOf(id string, status int, header map[string][]string, body []byte) Result {
	r := Result{ID: id, Status: status, Headers: make(map[string]string, len(shown)), Body: body}
	for _, name := range shown {
		if values := header[name]; len(values) > 0 {
			r.Headers[name] = values[0]
		}
	}
	return r
}

// AppendJSON appends the results as JSON to b and returns the result. The bodies already are JSON.
func (r Results) AppendJSON(b []byte) []byte {
	size := len(b) + 16
	for i := range r.Results {
		size += len(r.Results[i].Body) + 1000
	}
	if cap(b) < size {
		b = append(make([]byte, 0, size), b...)
	}
	b = append(b, `{"results":[`...)
	for i := range r.Results {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.Results[i].appendJSON(b)
	}
	return append(b, `]}`...)
}

func (r *Result) appendJSON(b []byte) []byte {
	b = append(b, `{"id":`...)
	b = appendText(b, r.ID)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(r.Status), 10)
	b = append(b, `,"headers":{`...)
	open := len(b)
	for _, name := range shown {
		if value, has := r.Headers[name]; has {
			if len(b) > open {
				b = append(b, ',')
			}
			b = append(appendText(b, name), ':')
			b = appendText(b, value)
		}
	}
	b = append(b, `},"body":`...)
	if len(r.Body) == 0 {
		b = append(b, `null`...)
	} else {
		b = append(b, r.Body...)
	}
	return append(b, '}')
}

// appendText appends s as a JSON string to b. It would replace invalid UTF-8, which does not occur
// here.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
