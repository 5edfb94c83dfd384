package apitest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// If KARTEI_TEST_DOOR is batch, a client sends its requests as parts of a batch where it can. The
// batch has one more part before the request and one after it. The Answer for the test is made from
// the result of the part and the response to the batch. So tests need no change.

// Alone skips the test if KARTEI_TEST_DOOR is set. Tests that count or measure single calls use it,
// because a batch or a second call by REST would change their figures.
func Alone(t testing.TB) {
	if os.Getenv("KARTEI_TEST_DOOR") != "" {
		t.Skip("what a batch or a second call does besides is not what this test is about")
	}
}

// Part is one request within a batch.
type Part struct {
	ID      string            `json:"id,omitempty"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    jsontext.Value    `json:"body,omitzero"`
}

// Result is the response to a Part.
type Result struct {
	ID      string            `json:"id"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    jsontext.Value    `json:"body"`
}

// Batch sends the parts as one batch. It returns the response to the batch and the results of the
// parts. The results are nil if the server refused the batch.
func (c *Client) Batch(parts []Part, headers ...string) (*Answer, []Result) {
	c.Helper()
	return c.batch(context.Background(), parts, headers)
}

func (c *Client) batch(ctx context.Context, parts []Part, headers []string) (*Answer, []Result) {
	c.Helper()
	a := c.send(c.Request("POST", "/batch", map[string]any{"calls": parts}, headers...).WithContext(ctx))
	var body struct {
		Results []Result `json:"results"`
	}
	if a.Status != http.StatusOK {
		return a, nil
	}
	if err := json.Unmarshal(a.Body, &body); err != nil {
		c.Fatalf("%v: %s", err, a.Body)
	}
	if len(body.Results) != len(parts) {
		c.Fatalf("%d results of %d parts: %s", len(body.Results), len(parts), a.Body)
	}
	return a, body.Results
}

// SentInBatch returns the number of calls of this process that were sent in a batch because of
// KARTEI_TEST_DOOR.
func SentInBatch() int64 { return inBatch.Load() }

var inBatch atomic.Int64

// nothing is a part for an unknown path. The server responds with 404 and charges no points.
var nothing = Part{Method: "GET", Path: "/nothing"}

// throughBatch sends a request as a part of a batch. It returns nil if a batch cannot contain the
// request, or if the whole batch was refused. The caller then sends the request alone.
func (c *Client) throughBatch(r *http.Request) *Answer {
	c.Helper()
	part, headers, fits := partOf(r)
	if !fits {
		return nil
	}
	batch, results := c.batch(r.Context(), []Part{nothing, part, nothing}, headers)
	if results == nil {
		return nil
	}
	for _, i := range []int{0, 2} {
		if results[i].Status != http.StatusNotFound && results[i].Status != http.StatusServiceUnavailable {
			c.Errorf("a part beside: %+v", results[i])
		}
	}
	inBatch.Add(1)
	result := results[1]
	a := &Answer{TB: c.TB, Status: result.Status, Header: batch.Header.Clone(), log: c.Logged}
	for _, name := range []string{"Content-Type", "RateLimit", "RateLimit-Policy", "Request-Id", "Content-Length"} {
		a.Header.Del(name)
	}
	for name, value := range result.Headers {
		a.Header.Set(name, value)
	}
	if a.Header.Get("Request-Id") == batch.Header.Get("Request-Id") {
		c.Errorf("a part has the Request-Id of its batch")
	}
	if string(result.Body) != "null" {
		a.Body = result.Body
		a.Header.Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	Conform(c.TB, a.Header.Get("Svc-Version"), r.Method, strings.TrimPrefix(r.URL.RequestURI(), "/v1"), a.Status,
		a.Header, a.Body)
	return a
}

var (
	partPath = regexp.MustCompile(`^/[^\x00-\x20\x7f#]*$`)
	outside  = regexp.MustCompile(`^/(openapi[.]json|uploads|batch|webhook_endpoints|invoices|secrets|users|api_keys)([/?]|$)|^/documents/[^/]*/content`)
)

// partOf returns the request as a Part and the headers of the batch around it. fits is false if no
// batch can contain the request.
func partOf(r *http.Request) (p Part, headers []string, fits bool) {
	p = Part{Method: r.Method, Path: strings.TrimPrefix(r.URL.RequestURI(), "/v1"), Headers: map[string]string{}}
	if !slices.Contains([]string{"GET", "POST", "PATCH", "DELETE"}, r.Method) || !partPath.MatchString(p.Path) ||
		outside.MatchString(p.Path) {
		return p, nil, false
	}
	if preview := r.Header["Svc-Preview"]; !slices.Equal(preview, []string{"true"}) &&
		(r.Method != "GET" || preview != nil) {
		return p, nil, false
	}
	headers = []string{"Svc-Preview", "true", "Authorization", ""}
	for name, values := range r.Header {
		if len(values) != 1 {
			return p, nil, false
		}
		value := values[0]
		switch name {
		case "If-Match", "If-None-Match", "Idempotency-Key":
			if strings.TrimSpace(value) == "" || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' }) {
				return p, nil, false
			}
			p.Headers[name] = value
		case "Authorization", "Svc-Version", "Svc-Organization", "Accept-Language":
			if value == "" {
				return p, nil, false
			}
			headers = append(headers, name, value)
		case "Svc-Preview":
		case "Content-Type":
			if value != "application/json" {
				return p, nil, false
			}
		default:
			return p, nil, false
		}
	}
	return p, headers, p.takeBody(r)
}

// takeBody reads the body and puts it back into the request. It reports whether
// a part can contain it.
func (p *Part) takeBody(r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody {
		return true
	}
	if r.ContentLength < 0 { // the test controls how the server receives the body
		return false
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil || len(body) > 1<<20-1000 || bytes.Count(body, []byte("[")) > 40 || bytes.Count(body, []byte("{")) > 40 {
		return false
	}
	// The batch has limits of one megabyte and a hundred levels of JSON for all its parts.
	if len(body) == 0 {
		return true
	}
	p.Body = body
	return p.Body.IsValid() && p.Body.Kind() != 'n'
}

// send sends a request unchanged, and checks that the response conforms to the OpenAPI document.
func (c *Client) send(r *http.Request) *Answer {
	c.Helper()
	w := httptest.NewRecorder()
	c.Handler.ServeHTTP(w, r)
	answer := &Answer{c.TB, w.Code, Received(w.Result().Header), w.Body.Bytes(), c.Logged}
	Conform(c.TB, answer.Header.Get("Svc-Version"), r.Method, strings.TrimPrefix(r.URL.RequestURI(), "/v1"),
		answer.Status, answer.Header, answer.Body)
	return answer
}

// Received returns the headers as an HTTP client reads them from the wire: under the canonical
// names of net/http.
func Received(sent http.Header) http.Header {
	h := make(http.Header, len(sent))
	for name, values := range sent {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return h
}
