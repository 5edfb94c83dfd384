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
	"kartei/record/search"
	"kartei/store/db"
)

var write = flag.Bool("write", false, "write what the calls cost into figures.json (make figures)")

// callCost is what one call costs on SQLite: statements sent to the database, objects
// allocated by the server, and pages of 4 KiB added to the write-ahead log. What the server
// does behind its answers, such as storing the request log, counts too.
type callCost struct {
	Statements  float64 `json:"statements"`
	Allocations float64 `json:"allocations"`
	Pages       float64 `json:"pages"`
}

// figures are what the main calls cost, by their names, and the size of the database.
type figures struct {
	Calls           map[string]callCost `json:"calls"`
	BytesPerContact float64             `json:"bytesPerContact"`
}

const (
	countedContacts = 10_000 // that are created one by one
	countedCalls    = 1000   // of each other kind
	// maxGrowth is the highest growth that counts as none. Runs of creates differed by
	// 0.4 % of allocations and 0.1 % of pages.
	maxGrowth = 1.02
	// The highest growth of reads. A read allocates few objects, and the request log's
	// objects are counted with them: runs differed by 6 %.
	maxReadRatio = 1.1
	// The same for calls that find or cause merges of the search index. Merges run beside
	// the calls, as far as the processor lets them: runs differed by a half for both.
	maxBatchRatio  = 1.6
	maxSearchRatio = 1.7
	// beside is what a call may cost more in statements and pages, because the request log
	// and the marks of last uses are written in batches beside the calls.
	beside = 0.1
)

// What the main calls cost is what figures.json says. A call that costs more fails here; the
// file is written anew with make figures, and the commit says why.
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

// countedCall is a kind of call. request returns the nth one.
type countedCall struct {
	name    string
	times   int
	request func(s *countedServer, n int) *http.Request
	want    int
	creates bool
	// limit is the highest growth.
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

// countedServer is a server in this process whose costs are counted.
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

// startCounted starts a server with the sample office, which has no contacts.
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
	s.bodies, err = data.Bodies(2000)
	must(err)
	c := instance.Config{
		Store: config.Store{DataDir: config.Dir(s.dir), DatabaseURL: config.DatabaseURL(data.Database(s.dir))},
		Clock: s.clock, Logger: slog.New(slog.DiscardHandler),
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

// inMemory returns a new folder, in memory if the system has a file system there. An fsync
// costs nothing then, and none is counted.
func inMemory(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "kartei-figures-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// inProcess answers requests by a handler.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, incoming(r))
	return w.Result(), nil
}

// incoming makes a request one that came over a connection from this machine.
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

// count makes the calls of a kind, after some that fill caches, and returns the cost of one.
// The cost of a create includes the merges that follow it.
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

// merge brings the search index into the state in which it rests.
func (s *countedServer) merge() {
	if err := search.NewMerger(s.instance.DB, clock.System).Once(context.Background(),
		clock.Now(s.clock).Add(time.Hour)); err != nil {
		s.t.Fatal(err)
	}
}

// sum returns the costs since the start, including the request log's.
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

// request returns a call of the API.
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

// asks returns the request of an assistant.
func (s *countedServer) asks(method, params string) *http.Request {
	r := s.request("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

// page returns the request of a browser.
func (s *countedServer) page(path string) *http.Request {
	r := httptest.NewRequest("GET", "http://localhost"+path, http.NoBody)
	r.Header.Set("Cookie", s.browser.Cookie)
	r.Header.Set("Accept-Encoding", "gzip")
	return r
}

// body returns the body of the nth contact.
func (s *countedServer) body(n int) string {
	return strings.ReplaceAll(s.bodies[n%len(s.bodies)], load.Fresh, fmt.Sprint("M-", n))
}

func (s *countedServer) id(n int) string { return s.ids[n%len(s.ids)] }

// size returns the bytes of the database file with all that is in the log.
func (s *countedServer) size() (n float64) {
	info, err := os.Stat(filepath.Join(s.dir, "kartei.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	return float64(info.Size())
}
