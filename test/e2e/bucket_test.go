package e2e

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/test/s3test"
	"kartei/test/waittest"
)

// bucketFront is a proxy for a bucket. It can make requests from Kartei and its clients fail or
// hang.
type bucketFront struct {
	*s3test.Gateway
	url, name string

	mu     sync.Mutex
	fault  string // "500", "away", "gone", "before", "after" or "slow", or "" for no fault
	after  int    // the number of requests before the fault
	failed int    // requests with the fault
	meet   func() // called once, at the request of the fault "before" or "after"
	stalls []*stall
}

// stall is a request that gets no response, or only half of it, until the test ends.
type stall struct {
	method, part string        // part is a part of the URL
	met          chan struct{} // closed when the request arrives
	half         bool
}

// newBucketFront creates a bucket and a proxy for it.
func newBucketFront(t *testing.T) *bucketFront {
	t.Helper()
	b := &bucketFront{Gateway: s3test.Shared(t)}
	b.name = b.Bucket(t)
	to, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
			r.Out.Host = r.In.Host // The signature of the request includes the host.
		},
		ErrorLog: log.New(io.Discard, "", 0), // The log would have an error for each killed server.
	}
	ended := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s := b.stalled(r); s != nil {
			if !s.half {
				s.hang(ended)
			}
			w = &cutWriter{w, s, ended}
		}
		switch b.next() {
		case "":
			proxy.ServeHTTP(w, r)
		case "before":
			b.meet()
			panic(http.ErrAbortHandler)
		case "after":
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			b.meet()
			panic(http.ErrAbortHandler)
		case "slow":
			r.Body = struct {
				io.Reader
				io.Closer
			}{&slowReader{r.Body}, r.Body}
			proxy.ServeHTTP(slowWriter{w}, r)
		case "500":
			w.WriteHeader(http.StatusInternalServerError)
		case "away":
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(func() {
		close(ended)
		s.Close()
	})
	s.Config.ErrorLog = nil
	b.url = s.URL
	return b
}

// location returns the location of the bucket through the proxy, for --blob-url.
func (b *bucketFront) location() string { return s3test.Location(b.url, b.name) }

// next returns the fault for the current request, or "".
func (b *bucketFront) next() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fault == "" || b.fault == "gone" {
		return ""
	}
	if b.after > 0 {
		b.after--
		return ""
	}
	b.failed++
	fault := b.fault
	if b.meet != nil {
		b.fault = ""
	}
	return fault
}

// meets calls do once, at a request after the next after requests. With the fault before, the
// bucket does not get this request. With the fault after, the bucket has executed it. The request
// gets no response in both cases.
func (b *bucketFront) meets(fault string, after int, do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault, b.after, b.failed, b.meet = fault, after, 0, do
}

// stall makes one request hang: the next with this method, and with part in its URL or in the URL
// of the object that it copies. It hangs before it reaches the bucket. If half is set, it hangs
// within its response.
func (b *bucketFront) stall(method, part string, half bool) *stall {
	s := &stall{method, part, make(chan struct{}), half}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stalls = append(b.stalls, s)
	return s
}

// stalled returns the stall for a request, or nil.
func (b *bucketFront) stalled(r *http.Request) *stall {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, s := range b.stalls {
		if r.Method == s.method && strings.Contains(r.URL.Path+r.Header.Get("X-Amz-Copy-Source"), s.part) {
			b.stalls = slices.Delete(b.stalls, i, i+1)
			return s
		}
	}
	return nil
}

func (s *stall) hang(ended chan struct{}) {
	close(s.met)
	<-ended
	panic(http.ErrAbortHandler)
}

// cutWriter writes the beginning of a response and then hangs.
type cutWriter struct {
	http.ResponseWriter
	stall *stall
	ended chan struct{}
}

func (c *cutWriter) Write(p []byte) (int, error) {
	c.ResponseWriter.Write(p[:min(len(p), 1000)])
	http.NewResponseController(c.ResponseWriter).Flush()
	c.stall.hang(c.ended)
	return 0, nil
}

// slowReader and slowWriter transfer 400 KiB a second, like a slow connection.
type slowReader struct{ io.Reader }

func (r *slowReader) Read(p []byte) (int, error) {
	<-time.After(10 * time.Millisecond)
	return r.Reader.Read(p[:min(len(p), 4<<10)])
}

type slowWriter struct{ http.ResponseWriter }

func (w slowWriter) Write(p []byte) (n int, err error) {
	for err == nil && n < len(p) {
		<-time.After(10 * time.Millisecond)
		var m int
		m, err = w.ResponseWriter.Write(p[n:min(len(p), n+4<<10)])
		n += m
		http.NewResponseController(w.ResponseWriter).Flush()
	}
	return n, err
}

// fail makes requests to the bucket fail until heal, after the next after requests.
func (b *bucketFront) fail(t *testing.T, fault string, after int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault, b.after, b.failed, b.meet = fault, after, 0, nil
	if fault == "gone" {
		b.move(t, b.name, b.name+"-gone")
	}
}

// heal ends the fault. It reports whether a request had the fault.
func (b *bucketFront) heal(t *testing.T) (met bool) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fault == "gone" {
		b.move(t, b.name+"-gone", b.name)
	}
	b.fault = ""
	return b.failed > 0
}

// move renames the bucket, which is a folder of the gateway.
func (b *bucketFront) move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(b.Dir, from), filepath.Join(b.Dir, to)); err != nil {
		t.Fatal(err)
	}
}

func (b *bucketFront) failures() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// shows waits until the metrics and /readyz of the server say whether the bucket is reachable.
func (s client) shows(reachable bool) {
	s.Helper()
	want, check := "kartei_files_reachable 1\n", `"name":"files","ok":true`
	if !reachable {
		want, check = "kartei_files_reachable 0\n", `"name":"files","ok":false,"reason":"`
	}
	for end := time.Now().Add(waittest.Bound); !strings.Contains(get(s.TB, s.Operator+"/metrics", 200),
		want); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("the metrics do not come to say %s", want)
		}
	}
	get(s.TB, s.Operator+"/readyz", 200, check)
}

// TestBucketFails checks a server whose bucket fails, and a server whose bucket is slow.
func TestBucketFails(t *testing.T) {
	t.Parallel()
	together(t, map[string]func(t *testing.T){
		"away": func(t *testing.T) { places(t, []string{"bucket"}, bucketAway) },
		"slow": func(t *testing.T) { places(t, []string{"bucket"}, bucketSlow) },
	})
}

// bucketAway makes the bucket fail at each step. It checks that each error is clear, that no data
// is lost, and that calls without files succeed. After the fault, the client's retries succeed.
func bucketAway(t *testing.T, h *cluster, s client, p place) {
	a := &bucketStory{
		client: s, cluster: h, place: p,
		file: []byte("Sehr geehrte Frau Morgenstern,\nanbei die Mietaufhebungsvereinbarung.\n"),
	}
	a.kept, a.documents = s.document("Brief.txt", a.file), 1
	a.good = filepath.Join(t.TempDir(), "good")
	kartei(t, append([]string{"backup", a.good}, h.store...)...)
	for n, fault := range []string{"500", "away", "gone"} {
		a.fails(t, fault, fmt.Sprint("away-", n))
	}
	s.server.says(t, "the files of documents cannot be reached")
	s.server.says(t, "the files of documents can be reached again")
	a.failsMidway(t)
	check(t, a.documents, h.store...)
	// Deleted files stay some minutes for backups.
	if n := len(p.files(t)); n < a.documents || n > a.documents+3 {
		t.Errorf("%d objects of %d documents: %q", n, a.documents, p.files(t))
	}
}

// bucketStory is a client of a server whose bucket fails.
type bucketStory struct {
	client
	cluster   *cluster
	place     place
	file      []byte
	kept      string // the id of a document with file
	good      string // the path of a backup
	documents int
}

// fails makes the bucket fail, checks calls and commands meanwhile, and ends the fault.
func (a *bucketStory) fails(t *testing.T, fault, key string) {
	t.Helper()
	s, b := a.client, a.place.front
	doomed, sent := s.document("Entwurf.txt", []byte("Entwurf\n")), s.send("Anlage.txt", a.file)
	b.fail(t, fault, 0)
	s.shows(false)
	unsent := s.open("Zweite.txt", a.file)
	if r, err := s.put(unsent, a.file); err == nil && r.Status/100 == 2 {
		t.Errorf("%s: the bucket took a file", fault)
	}
	if r := s.call("POST", "/documents", s.of(sent), 502, "UPSTREAM", "Idempotency-Key",
		key); r.Header.Get("Retry-After") == "" {
		t.Errorf("%s: 502 without Retry-After", fault)
	}
	if found := s.call("GET", "/documents?q=mietaufhebung", "", 200, ""); !strings.Contains(string(found.Body), a.kept) {
		t.Errorf("%s: not found by its content: %s", fault, found.Body)
	}
	s.call("GET", "/documents/"+a.kept, "", 200, "")
	for _, part := range []string{"", "bytes=5-11"} {
		if r := s.call("GET", "/documents/"+a.kept+"/content", "", 502, "UPSTREAM", "Range",
			part); r.Header.Get("Retry-After") == "" {
			t.Errorf("%s: 502 without Retry-After", fault)
		}
	}
	s.call("DELETE", "/documents/"+doomed, "", 204, "", "If-Match", "*")
	s.call("GET", "/documents/"+doomed+"/content", "", 404, "NOT_FOUND")
	a.commandsFail(t, fault)
	b.heal(t)
	s.shows(true)
	if r, err := s.put(unsent, a.file); err != nil || r.Status != 200 {
		t.Errorf("%s, and over: %+v, %v", fault, r, err)
	}
	for i, session := range []*answer{sent, unsent} {
		id := s.made(s.await(s.call("POST", "/documents", s.of(session), 202, "", "Idempotency-Key",
			fmt.Sprint(key, strings.Repeat("-again", i))).Text("id")))
		s.has(id, a.file)
		a.documents++
	}
	s.has(a.kept, a.file)
}

// commandsFail runs the commands that need the bucket. Their errors must say that the bucket is not
// available, and not that files are missing.
func (a *bucketStory) commandsFail(t *testing.T, fault string) {
	t.Helper()
	for _, command := range [][]string{
		append([]string{"backup", filepath.Join(t.TempDir(), "copy")}, a.cluster.store...),
		append([]string{"blobs", "check"}, a.cluster.store...),
		append([]string{
			"restore", a.good, "--master-key-file", filepath.Join(a.cluster.store[1], "master.key"),
			"--data-dir", t.TempDir(),
		}, "--blob-url", a.place.front.location()),
	} {
		out, errs, status := try(t, command...)
		if status != 1 || !strings.Contains(errs, "the store is not available") || strings.Contains(out, "missing") {
			t.Errorf("%s: %s: exit %d\n%s%s", fault, command[0], status, out, errs)
		}
	}
}

// failsMidway lets the bucket fail from each request on that one operation sends.
func (a *bucketStory) failsMidway(t *testing.T) {
	t.Helper()
	s, b := a.client, a.place.front
	for after := 1; ; after++ {
		session := s.send("Mitten.txt", a.file)
		b.fail(t, []string{"500", "away"}[after%2], after)
		r, err := newHTTPClient(s.key).call(s.URL+"/v1", "POST", "/documents", s.of(session), "Idempotency-Key",
			fmt.Sprint("midst-", after))
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != 202 && r.Status != 502 {
			t.Fatalf("after %d requests: %d %s", after, r.Status, r.Body)
		}
		if r.Status == 202 { // the operation has the fault, or ends before it
			met := s.poll(r.Text("id"), func(string) bool { return b.failures() >= 3 })
			if met.Text("status") == "failed" {
				t.Fatalf("after %d requests the operation failed: %s", after, met.Body)
			}
		}
		met := b.failures() > 0
		b.heal(t)
		again := s.call("POST", "/documents", s.of(session), 202, "", "Idempotency-Key", fmt.Sprint("midst-", after))
		s.has(s.made(s.await(again.Text("id"))), a.file)
		a.documents++
		if !met {
			if after < 3 {
				t.Errorf("an operation took no more than %d requests", after)
			}
			break
		}
	}
}

// bucketSlow makes the bucket slow for the transfer of one file. Then it makes three requests hang:
// a copy by an operation, a read by an operation, and a read by a client. Calls that need no bucket
// succeed meanwhile, and so do calls for other files. No data is lost. The server repeats a request
// that hangs after half a minute, without a retry of the client.
func bucketSlow(t *testing.T, h *cluster, s client, p place) {
	b := p.front
	text := func(name string) []byte {
		return bytes.Repeat([]byte("Mietaufhebungsvereinbarung "+name+"\n"), 10_000)
	}
	kept := s.document("Brief.txt", text("Brief"))

	b.fail(t, "slow", 0)
	slow := s.document("Langsam.txt", text("Langsam"))
	s.has(slow, text("Langsam"))
	b.heal(t)

	copied, looked := s.send("Kopie.txt", text("Kopie")), s.send("Blick.txt", text("Blick"))
	begin := func(session *answer) string {
		return s.call("POST", "/documents", s.of(session), 202, "", "Idempotency-Key", session.Text("id")).Text("id")
	}
	began := time.Now()
	stalls := []*stall{b.stall("PUT", copied.Text("id"), false)}
	operations := map[string][]byte{begin(copied): text("Kopie")}
	await(t, stalls[0].met)
	stalls = append(stalls, b.stall("GET", "/files/", true))
	operations[begin(looked)] = text("Blick")
	await(t, stalls[1].met)
	stalls = append(stalls, b.stall("GET", kept, true))
	read := make(chan *answer, 1)
	go func() {
		a, err := newHTTPClient(s.key).call(s.URL+"/v1", "GET", "/documents/"+kept+"/content", "")
		if err != nil {
			t.Error(err)
		}
		read <- a
	}()
	await(t, stalls[2].met)

	if found := s.call("GET", "/documents?q=mietaufhebung", "", 200, ""); !strings.Contains(string(found.Body), kept) {
		t.Errorf("not found by its content: %s", found.Body)
	}
	other := s.document("Andere.txt", text("Andere"))
	s.has(other, text("Andere"))
	s.has(kept, text("Brief"))
	s.call("PATCH", "/documents/"+kept, `{"name":"Neu.txt"}`, 200, "", "If-Match", "*")
	// The server repeats a hanging request after half a minute. If the other calls took longer, the
	// order is not checked.
	var early []string
	for id := range operations {
		if status := s.call("GET", "/operations/"+id, "", 200, "").Text("status"); status != "running" {
			early = append(early, "an operation is "+status)
		}
	}
	select {
	case a := <-read:
		early = append(early, fmt.Sprintf("who read got %+v", a))
		read <- a
	default:
	}
	if len(early) > 0 && time.Since(began) < 25*time.Second {
		t.Errorf("before the others were done: %q", early)
	}
	if a := <-read; a == nil || a.Status != 200 || !bytes.Equal(a.Body, text("Brief")) {
		t.Errorf("who read got %+v", a)
	}
	for id, file := range operations {
		s.has(s.made(s.await(id)), file)
	}
	s.idle(h.store...)
	check(t, 5, h.store...)
	if files := p.files(t); len(files) != 5 {
		t.Errorf("%q", files)
	}
}

// await waits until the channel is closed. It fails the test after waittest.Bound.
func await(t *testing.T, happens <-chan struct{}) {
	t.Helper()
	select {
	case <-happens:
	case <-time.After(waittest.Bound):
		t.Fatal("it does not happen")
	}
}
