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

// Way is a way by which the calls of clients travel in place of their own. With its name
// in KARTEI_TEST_DOOR, a test expects of the way what it expects of REST. A read travels
// both ways, and the answers must be equal, byte for byte. So any test may run this way.
//
// Only the calls of Stages go by REST.
type Way struct {
	// Door is the door by which the calls come.
	Door api.Door
	// Stages is the whole list of differences. A difference that has no stage here is a
	// defect.
	Stages []Stage

	name string // the value of KARTEI_TEST_DOOR
	// send sends a request that no stage treats differently. It returns nil if only the
	// answer to a read shows that a stage does.
	send func(*Client, *keyCall) *Answer
	// differing is what differs between equal answers.
	differing *regexp.Regexp
	// ownCursors is true if a cursor belongs to the way that answered with it.
	ownCursors bool

	mu      sync.Mutex
	byStage map[string]int
}

// Stage is a stage that treats a call of the way and one of REST differently.
type Stage struct {
	// Name is the name of the stage. Reason says why the two calls differ.
	Name, Reason string
	// differs reports whether the stage treats a request differently. It is nil for a
	// stage that no answer shows.
	differs func(*keyCall) bool
}

// ways returns all ways.
func ways() []*Way { return []*Way{BySession, ByTool} }

// chosen returns the way of KARTEI_TEST_DOOR, or nil.
func chosen() *Way {
	for _, w := range ways() {
		if os.Getenv("KARTEI_TEST_DOOR") == w.name {
			return w
		}
	}
	return nil
}

// Except skips a test, or the rest of it, if calls travel this way. stage is one of
// Stages, and reason is why the test needs it.
func (w *Way) Except(t testing.TB, stage, reason string) {
	t.Helper()
	if !slices.ContainsFunc(w.Stages, func(s Stage) bool { return s.Name == stage }) {
		t.Fatalf("there is no stage %q", stage)
	}
	if chosen() == w {
		t.Skipf("%s: %s", stage, reason)
	}
}

// Through sets the door of the calls of a test: batch, the name of a Way, or empty for their own
// door. If KARTEI_TEST_DOOR already names a Way, the test is skipped: it would repeat the same
// calls.
func Through(t *testing.T, door string) {
	t.Helper()
	if chosen() != nil {
		t.Skip("its calls have a door of their own")
	}
	t.Setenv("KARTEI_TEST_DOOR", door)
}

// Door returns the door by which the calls of clients come.
func Door() string {
	if w := chosen(); w != nil {
		return string(w.Door)
	}
	return string(api.REST)
}

// Sent returns the number of calls of this process that traveled this way because of
// KARTEI_TEST_DOOR, and how many went by REST, by stage.
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

// keyCall is a request with a key, and what the stages ask about it.
type keyCall struct {
	client *Client
	*http.Request
	path  string
	actor *access.Actor // nil if the key is refused, or nobody has asked
	all   []string      // the scopes that the principal may have

	revision string // what stands for If-Match
	cut      bool   // whether the page is larger than any of a tool
	stage    string // the one that only the answer shows
}

func (c *Client) newCall(r *http.Request) *keyCall {
	return &keyCall{client: c, Request: r, path: strings.TrimPrefix(r.URL.EscapedPath(), "/v1")}
}

func (k *keyCall) reads() bool { return k.Method == http.MethodGet || k.Method == http.MethodHead }

// StageOf returns the first stage that treats a request of a client differently, empty if
// none does.
func (w *Way) StageOf(c *Client, r *http.Request) string { return w.stageOf(c.newCall(r)) }

func (w *Way) stageOf(k *keyCall) string {
	for _, s := range w.Stages {
		if s.differs != nil && s.differs(k) {
			return s.Name
		}
	}
	return ""
}

// through sends a request of a client this way. It returns nil if a stage treats it
// differently: then the test sends the request by REST.
func (w *Way) through(c *Client, r *http.Request) *Answer {
	c.Helper()
	k := c.newCall(r)
	if stage := w.stageOf(k); stage != "" {
		w.note(stage)
		return nil
	}
	if !k.reads() || c.options.limits.Metered { // a second read is counted, too
		w.note("")
		return w.send(c, k)
	}
	if its, known := cursors.Load(r.URL.Query().Get("cursor")); known && its == "" {
		w.note("") // its cursor is of this way
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

// again returns a copy of a request whose body can be read once more.
func again(r *http.Request) *http.Request {
	next := r.Clone(r.Context())
	if r.Body != nil && r.Body != http.NoBody {
		body, _ := io.ReadAll(r.Body)
		r.Body, next.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
	}
	return next
}

// same reports whether two answers are equal.
func (w *Way) same(a, b *Answer) bool {
	return a.Status == b.Status && a.Header.Get("ETag") == b.Header.Get("ETag") &&
		a.Header.Get("Content-Type") == b.Header.Get("Content-Type") &&
		bytes.Equal(w.differing.ReplaceAll(a.Body, nil), w.differing.ReplaceAll(b.Body, nil))
}
