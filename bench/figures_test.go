package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"kartei/bench/browser"
	"kartei/bench/data"
	"kartei/bench/load"
	"kartei/bench/measure"
	"kartei/bench/process"
	"kartei/instance"
	"kartei/instance/config"
	"kartei/kit/clock"
	"kartei/record/duplicate"
	"kartei/record/search"
	"kartei/store/db"
)

var write = flag.Bool("write", false, "write what the calls cost into figures.json (make figures)")

// callCost is the cost of one call on SQLite: the statements sent to the database, the objects
// allocated by the server, and the pages of 4 KiB added to the write-ahead log. Work that the
// server does after its response counts too, such as storing the request log.
type callCost struct {
	Statements  float64 `json:"statements"`
	Allocations float64 `json:"allocations"`
	Pages       float64 `json:"pages"`
}

// figures has the costs of the main calls by their names, and the size of a contact in the
// database.
type figures struct {
	Calls           map[string]callCost `json:"calls"`
	BytesPerContact float64             `json:"bytesPerContact"`
}

const (
	countedContacts = 10_000 // contacts that are created with one call each
	countedCalls    = 1000   // calls of each other kind
	// maxGrowth is the maximum factor by which the cost of a create may exceed figures.json.
	// Repeated runs differed by 0.4 % of the allocations and 0.1 % of the pages.
	maxGrowth = 1.02
	// maxReadRatio is the same factor for reads and changes. A read allocates few objects, and the
	// objects of the request log are counted with them. So runs differed by 6 %.
	maxReadRatio = 1.1
	// maxBatchRatio and maxSearchRatio are the factors for calls that cause or meet merges of the
	// search index. Merges run in the background while a processor is free. So runs differed by a
	// half.
	maxBatchRatio  = 1.6
	maxSearchRatio = 1.7
	// beside is the number of statements and pages by which a call may also exceed figures.json.
	// The request log and the times of last uses are written in batches in the background.
	beside = 0.1
)

// TestFigures checks that the main calls cost at most as much as figures.json says. If a higher
// cost is justified, make figures writes the file anew, and the commit says why.
func TestFigures(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 35)
	s := startCounted(t)
	got := figures{Calls: map[string]callCost{}}
	for _, c := range countedCalled {
		got.Calls[c.name] = s.count(c)
	}
	got.BytesPerContact = s.size() / float64(s.contacts)
	if *write {
		b, err := json.MarshalIndent(got, "", "\t")
		if err == nil {
			err = os.WriteFile("figures.json", append(b, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	var want figures
	b, err := os.ReadFile("figures.json")
	if err == nil {
		err = json.Unmarshal(b, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(got.Calls)) {
		is, was := got.Calls[name], want.Calls[name]
		limit := countedCalled[slices.IndexFunc(countedCalled, func(c countedCall) bool { return c.name == name })].limit
		t.Logf("%-40s %6.2f statements (%.2f), %7.1f allocations (%.1f), %6.2f pages (%.2f)", name, is.Statements,
			was.Statements, is.Allocations, was.Allocations, is.Pages, was.Pages)
		if is.Statements > was.Statements*limit+beside || is.Allocations > was.Allocations*limit ||
			is.Pages > was.Pages*limit+beside {
			t.Errorf("%s costs more than figures.json says: %+v, not %+v", name, is, was)
		}
	}
	t.Logf("%.0f bytes of a contact (%.0f)", got.BytesPerContact, want.BytesPerContact)
	if got.BytesPerContact > want.BytesPerContact*maxReadRatio {
		t.Errorf("a contact takes %.0f bytes of the database, not %.0f", got.BytesPerContact, want.BytesPerContact)
	}
}

// countedCall is a kind of call whose cost is counted. request returns the nth request.
type countedCall struct {
	name    string
	times   int
	request func(s *countedServer, n int) *http.Request
	want    int
	creates bool
	// limit is the maximum factor by which the cost may exceed figures.json.
	limit float64
}

var countedCalled = []countedCall{
	{"POST /contacts", countedContacts, func(s *countedServer, n int) *http.Request {
		return s.request("POST", "/v1/contacts", s.body(n), "Idempotency-Key", fmt.Sprint("create-", n))
	}, http.StatusCreated, true, maxGrowth},
	{"GET /contacts/{id}", countedCalls, func(s *countedServer, n int) *http.Request {
		return s.request("GET", "/v1/contacts/"+s.id(n), "")
	}, http.StatusOK, false, maxReadRatio},
	{"GET /contacts?limit=25", countedCalls, func(s *countedServer, _ int) *http.Request {
		return s.request("GET", "/v1/contacts?limit=25", "")
	}, http.StatusOK, false, maxReadRatio},
	{"GET /contacts?q=müller", countedCalls, func(s *countedServer, _ int) *http.Request {
		return s.request("GET", "/v1/contacts?limit=25&q=m%C3%BCller", "")
	}, http.StatusOK, false, maxSearchRatio},
	{"PATCH /contacts/{id}", countedCalls, func(s *countedServer, n int) *http.Request {
		return s.request("PATCH", "/v1/contacts/"+s.id(n), fmt.Sprintf(`{"lastName":"Morgenstern %d"}`, n), "If-Match", "*")
	}, http.StatusOK, false, maxReadRatio},
	{"POST /batch of 20 contacts", countedCalls / 5, func(s *countedServer, n int) *http.Request {
		calls := make([]string, measure.InBatch)
		for i := range calls {
			calls[i] = fmt.Sprintf(`{"method":"POST","path":"/contacts","headers":{"Idempotency-Key":"batch-%d-%d"},"body":%s}`, n, i, s.body(countedContacts+n*measure.InBatch+i))
		}
		return s.request("POST", "/v1/batch", `{"calls":[`+strings.Join(calls, ",")+`]}`)
	}, http.StatusOK, true, maxBatchRatio},
	{"tools/call contacts_get", countedCalls, func(s *countedServer, n int) *http.Request {
		return s.asks("tools/call", `{"name":"contacts_get","arguments":{"id":"`+s.id(n)+`"}}`)
	}, http.StatusOK, false, maxReadRatio},
	{
		"tools/list", countedCalls,
		func(s *countedServer, _ int) *http.Request { return s.asks("tools/list", `{}`) }, http.StatusOK,
		false, maxReadRatio,
	},
	{"resources/read of a contact", countedCalls, func(s *countedServer, n int) *http.Request {
		return s.asks("resources/read", `{"uri":"kartei://contacts/`+s.id(n)+`"}`)
	}, http.StatusOK, false, maxReadRatio},
	{
		"page of a contact", countedCalls,
		func(s *countedServer, n int) *http.Request { return s.page("/sandbox/contacts/" + s.id(n)) },
		http.StatusOK, false, maxReadRatio,
	},
	{
		"page of contacts", countedCalls,
		func(s *countedServer, _ int) *http.Request { return s.page("/sandbox/contacts") }, http.StatusOK,
		false, maxReadRatio,
	},
}

// countedServer is a server in this process whose calls are counted.
type countedServer struct {
	t        testing.TB
	instance *instance.Instance
	operator *process.Server
	clock    *clock.Fake
	dir, key string
	browser  *browser.Visitor
	bodies   []string
	ids      []string
	contacts int
}

// startCounted starts a server with the sample office, which has no contacts yet.
func startCounted(t testing.TB) *countedServer {
	ctx := context.Background()
	s := &countedServer{t: t, clock: clock.NewFake(time.Now()), dir: inMemory(t)}
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	d, f, err := data.Found(ctx, data.Database(s.dir), db.Options{})
	must(err)
	clerk, err := f.Hire(ctx)
	must(errors.Join(err, d.Close()))
	s.key = f.Key
	s.bodies, err = data.Bodies(data.Size{Records: 2000})
	must(err)
	c := instance.Config{
		Store: config.Store{DataDir: config.Dir(s.dir), DatabaseURL: config.DatabaseURL(data.Database(s.dir))},
		Clock: withoutFinder{s.clock}, Logger: slog.New(slog.DiscardHandler),
	}
	c.Server, err = process.Unbounded("--operator-listen=127.0.0.1:0", "--base-url=http://localhost", "--mcp=true")
	must(err)
	s.instance, err = instance.Start(ctx, c)
	must(err)
	t.Cleanup(func() { must(s.instance.Close(ctx)) })
	s.operator = &process.Server{Operator: s.instance.OperatorURL}
	s.browser = &browser.Visitor{Base: "http://localhost", Client: &http.Client{
		Transport:     inProcess{s.instance.Handler},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	must(s.browser.SignIn(ctx, clerk.Email, clerk.Password))
	return s
}

// withoutFinder is a clock with which the finder of duplicates waits forever after its first step. Its
// steps belong to no call, and --duplicates measures them.
type withoutFinder struct{ *clock.Fake }

func (c withoutFinder) After(d time.Duration) <-chan time.Time {
	if d == duplicate.Gather || d == duplicate.Pause {
		return nil
	}
	return c.Fake.After(d)
}

// inMemory returns a new folder. If the system has a file system in memory, the folder is on it, so
// that fsync takes no time.
func inMemory(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "kartei-figures-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// inProcess is an http.RoundTripper that passes requests to a handler in this process.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, incoming(r))
	return w.Result(), nil
}

// incoming changes a request of a client as if a server had received it from this machine.
func incoming(r *http.Request) *http.Request {
	r.RemoteAddr, r.RequestURI = "127.0.0.1:50000", r.URL.RequestURI()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	if r.Host == "" {
		r.Host = r.URL.Host
	}
	return r
}

// count makes the calls of a kind and returns the cost of one call. Some calls before them fill
// caches. The cost of a create includes the merges of the search index that it causes.
func (s *countedServer) count(c countedCall) callCost {
	const before = 20
	for n := range before {
		s.call(c, n)
	}
	s.merge()
	first := s.sum()
	for n := range c.times {
		s.call(c, before+n)
		s.clock.Advance(time.Millisecond)
	}
	if c.creates {
		s.merge()
	}
	last := s.sum()
	each := func(total float64) float64 { return math.Round(100*total/float64(c.times)) / 100 }
	return callCost{
		each(last.Statements - first.Statements), each(last.Allocations - first.Allocations),
		each(last.Pages - first.Pages),
	}
}

// merge merges the search index until there is nothing left to merge.
func (s *countedServer) merge() {
	if err := search.NewMerger(s.instance.DB, clock.System).Once(context.Background(),
		clock.Now(s.clock).Add(time.Hour)); err != nil {
		s.t.Fatal(err)
	}
}

// sum returns the costs since the start of the server, including the request log.
func (s *countedServer) sum() (c callCost) {
	err := s.instance.Log.Flush(context.Background())
	read := func(metric string) (value float64) {
		if err == nil {
			value, err = s.operator.Metric(metric)
		}
		return value
	}
	c = callCost{read("kartei_db_statements_total"), read("go_memstats_mallocs_total"), read("kartei_db_log_pages_total")}
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

var (
	contactID  = regexp.MustCompile(`"id":"(con_[^"]*)"`)
	newContact = []byte(`"object":"contact"`)
)

func (s *countedServer) call(c countedCall, n int) {
	w := httptest.NewRecorder()
	s.instance.Handler.ServeHTTP(w, incoming(c.request(s, n)))
	if w.Code != c.want {
		s.t.Fatalf("%s: %d %s", c.name, w.Code, w.Body)
	}
	if !c.creates {
		return
	}
	s.contacts += bytes.Count(w.Body.Bytes(), newContact)
	if len(s.ids) < countedCalls {
		s.ids = append(s.ids, string(contactID.FindSubmatch(w.Body.Bytes())[1]))
	}
}

// request returns a request to the API with the key of the office.
func (s *countedServer) request(method, path, body string, header ...string) *http.Request {
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Svc-Preview", "true")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// asks returns a request to the MCP endpoint, as an assistant sends it.
func (s *countedServer) asks(method, params string) *http.Request {
	r := s.request("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

// page returns a request of a browser with the cookie of a session.
func (s *countedServer) page(path string) *http.Request {
	r := httptest.NewRequest("GET", "http://localhost"+path, http.NoBody)
	r.Header.Set("Cookie", s.browser.Cookie)
	r.Header.Set("Accept-Encoding", "gzip")
	return r
}

// body returns the JSON of the nth contact.
func (s *countedServer) body(n int) string {
	return strings.ReplaceAll(s.bodies[n%len(s.bodies)], load.Fresh, fmt.Sprint("M-", n))
}

func (s *countedServer) id(n int) string { return s.ids[n%len(s.ids)] }

// size returns the size of the database file in bytes, without the write-ahead log.
func (s *countedServer) size() (n float64) {
	info, err := os.Stat(filepath.Join(s.dir, "kartei.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	return float64(info.Size())
}
