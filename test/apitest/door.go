package apitest

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"kartei/access"
	"kartei/api"
)

// Way is another way for the calls of clients than REST. If KARTEI_TEST_DOOR is its name, clients
// send their calls this way, and tests expect the same responses as from REST. A client sends a
// read by both ways, and the responses must be equal, byte for byte. So tests need no change.
//
// Calls that one of Stages treats differently still use REST.
type Way struct {
	// Door is the Door of the requests that the API receives this way.
	Door api.Door
	// Stages is the whole list of intended differences. Any other difference is a defect.
	Stages []Stage

	name string // the value of KARTEI_TEST_DOOR
	// send sends a request that no stage treats differently. It returns nil if a stage does, and
	// only the response to a read shows this.
	send func(*Client, *keyCall) *Answer
	// differing matches the parts that differ between equal responses.
	differing *regexp.Regexp
	// ownCursors says that cursors from this way are valid for this way only.
	ownCursors bool

	mu      sync.Mutex
	byStage map[string]int
}

// Stage is a stage of the path of a call at which this way intentionally differs from REST.
type Stage struct {
	// Name is the name of the stage. Reason says why the two calls differ.
	Name, Reason string
	// differs reports whether the stage treats a request differently. It is nil if no response can
	// show the difference.
	differs func(*keyCall) bool
}

// ways returns all ways.
func ways() []*Way { return []*Way{BySession, ByTool} }

// chosen returns the Way whose name is in KARTEI_TEST_DOOR, or nil.
func chosen() *Way {
	for _, w := range ways() {
		if os.Getenv("KARTEI_TEST_DOOR") == w.name {
			return w
		}
	}
	return nil
}

// Except skips the test, or the rest of it, if KARTEI_TEST_DOOR chose this way. stage is the name
// of one of Stages, and reason says why the test needs it.
func (w *Way) Except(t testing.TB, stage, reason string) {
	t.Helper()
	if !slices.ContainsFunc(w.Stages, func(s Stage) bool { return s.Name == stage }) {
		t.Fatalf("there is no stage %q", stage)
	}
	if chosen() == w {
		t.Skipf("%s: %s", stage, reason)
	}
}

// Through sets the way by which the clients of the test send their calls: batch, the name of a Way,
// or empty for REST. If KARTEI_TEST_DOOR already names a Way, Through skips the test, because the
// test would only repeat the same calls.
func Through(t *testing.T, door string) {
	t.Helper()
	if chosen() != nil {
		t.Skip("its calls have a door of their own")
	}
	t.Setenv("KARTEI_TEST_DOOR", door)
}

// Door returns the name of the Door of the calls that the API receives from clients.
func Door() string {
	if w := chosen(); w != nil {
		return string(w.Door)
	}
	return string(api.REST)
}

// Sent returns the number of calls of this process that were sent this way because of
// KARTEI_TEST_DOOR. byREST is the number of calls that used REST instead, by stage.
func (w *Way) Sent() (sent int, byREST map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	byREST = maps.Clone(w.byStage)
	delete(byREST, "")
	return w.byStage[""], byREST
}

func (w *Way) note(stage string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byStage == nil {
		w.byStage = map[string]int{}
	}
	w.byStage[stage]++
}

// keyCall is a request with an API key. The other fields cache answers for the stages.
type keyCall struct {
	client *Client
	*http.Request
	path  string
	actor *access.Actor // nil if the key is refused or was not looked up
	all   []string      // the scopes that the principal may have

	revision string // the argument revision in place of If-Match
	cut      bool   // whether the page is larger than any page of a tool
	stage    string // the stage that only the response shows
}

func (c *Client) newCall(r *http.Request) *keyCall {
	return &keyCall{client: c, Request: r, path: strings.TrimPrefix(r.URL.EscapedPath(), "/v1")}
}

func (k *keyCall) reads() bool { return k.Method == http.MethodGet || k.Method == http.MethodHead }

// StageOf returns the name of the first stage that treats a request of a client differently. It is
// empty if there is none.
func (w *Way) StageOf(c *Client, r *http.Request) string { return w.stageOf(c.newCall(r)) }

func (w *Way) stageOf(k *keyCall) string {
	for _, s := range w.Stages {
		if s.differs != nil && s.differs(k) {
			return s.Name
		}
	}
	return ""
}

// through sends a request of a client this way. It returns nil if a stage treats the request
// differently. The caller then sends it by REST.
func (w *Way) through(c *Client, r *http.Request) *Answer {
	c.Helper()
	k := c.newCall(r)
	if stage := w.stageOf(k); stage != "" {
		w.note(stage)
		return nil
	}
	if !k.reads() || c.options.limits.Metered { // The limits would count a second read too.
		w.note("")
		return w.send(c, k)
	}
	if its, known := cursors.Load(r.URL.Query().Get("cursor")); known && its == "" {
		w.note("") // the cursor is from this way
		got := w.send(c, k)
		w.pair(nil, got)
		return got
	}
	before := c.send(withCursor(again(r)))
	k.Request = again(r)
	got := w.send(c, k)
	if got == nil {
		w.note(k.stage)
		return nil
	}
	w.note("")
	after := c.send(withCursor(again(r)))
	w.pair(before, got)
	if w.same(before, after) && !w.same(before, got) {
		c.Errorf("%s %s: by REST %d %s\nby the door %s %d %s", r.Method, r.URL, before.Status, before.Body, w.Door,
			got.Status, got.Body)
	}
	return got
}

// again returns a copy of a request. Both can read the body.
func again(r *http.Request) *http.Request {
	next := r.Clone(r.Context())
	if r.Body != nil && r.Body != http.NoBody {
		body, _ := io.ReadAll(r.Body)
		r.Body, next.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
	}
	return next
}

// same reports whether two responses are equal apart from the parts that w.differing matches.
func (w *Way) same(a, b *Answer) bool {
	return a.Status == b.Status && a.Header.Get("ETag") == b.Header.Get("ETag") &&
		a.Header.Get("Content-Type") == b.Header.Get("Content-Type") &&
		bytes.Equal(w.differing.ReplaceAll(a.Body, nil), w.differing.ReplaceAll(b.Body, nil))
}
