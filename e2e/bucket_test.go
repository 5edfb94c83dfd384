package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/blob/s3test"
	"kartei/dbtest"
)

// bucketFront stands between Kartei, its clients and the bucket, and has the
// bucket fail on demand.
type bucketFront struct {
	*s3test.Gateway
	url, name string

	mu     sync.Mutex
	fault  string // "500", "away", or "gone"; empty for none
	after  int    // that so many requests still get through
	failed int    // requests since
}

// newBucketFront makes a bucket.
func newBucketFront(t *testing.T) *bucketFront {
	t.Helper()
	b := &bucketFront{Gateway: s3test.Shared(t)}
	b.name = b.Bucket(t)
	to, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
		r.Out.Host = r.In.Host // which is signed
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch b.next() {
		case "":
			proxy.ServeHTTP(w, r)
		case "500":
			w.WriteHeader(http.StatusInternalServerError)
		case "away":
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(s.Close)
	s.Config.ErrorLog = nil
	b.url = s.URL
	return b
}

// location is that of the bucket behind the front.
func (b *bucketFront) location() string { return s3test.Location(b.url, b.name) }

// next says how the next request fails.
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
	return b.fault
}

// fail has the bucket fail after so many more requests, until heal.
func (b *bucketFront) fail(t *testing.T, fault string, after int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault, b.after, b.failed = fault, after, 0
	if fault == "gone" {
		b.move(t, b.name, b.name+"-gone")
	}
}

func (b *bucketFront) heal(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fault == "gone" {
		b.move(t, b.name+"-gone", b.name)
	}
	b.fault = ""
}

// move renames the bucket: each is a folder of the server's.
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

// objects returns what lies in the bucket.
func (b *bucketFront) objects(t *testing.T, bucket string) (names []string) {
	t.Helper()
	dir := filepath.Join(b.Dir, bucket, "kartei")
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, strings.TrimPrefix(path, dir+"/"))
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// shows waits until the operator is told that the files can be reached, or not.
func (s teller) shows(reachable bool) {
	s.Helper()
	want, check := "kartei_files_reachable 1\n", `"name":"files","ok":true`
	if !reachable {
		want, check = "kartei_files_reachable 0\n", `"name":"files","ok":false,"reason":"`
	}
	for end := time.Now().Add(patience); !strings.Contains(get(s.TB, s.Operator+"/metrics", 200), want); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("the metrics do not come to say %s", want)
		}
	}
	get(s.TB, s.Operator+"/readyz", 200, check)
}

// buckets runs f on an instance of each engine whose files are in a bucket.
func buckets(t *testing.T, f func(t *testing.T, h *house, s teller, b *bucketFront)) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			b, dir := newBucketFront(t), t.TempDir()
			database := "sqlite:" + dir + "/kartei.db"
			if engine == "postgres" {
				database = dbtest.PostgresURL(t)
			}
			store := []string{"--data-dir", dir, "--database-url", database, "--blob-url", b.location()}
			h := newHouse(t, 1, database, store...)
			f(t, h, h.at(0).forFiles(h.office, store...), b)
		})
	}
}

// TestBucket is the journey of a document whose file lies in a bucket, from the
// presigned address to a restored backup.
func TestBucket(t *testing.T) {
	buckets(t, func(t *testing.T, h *house, s teller, b *bucketFront) {
		file := []byte("Sehr geehrte Frau Morgenstern,\nanbei die Mietaufhebungsvereinbarung.\n")
		session := s.open("Brief.txt", file)
		if !strings.HasPrefix(session.Text("url"), b.url+"/"+b.name+"/kartei/uploads/") {
			t.Errorf("the address is %s", session.Text("url"))
		}
		for _, wrong := range [][]byte{file[1:], append([]byte("x"), file[1:]...)} {
			if a, err := s.put(session, wrong); err != nil || a.Status/100 != 4 {
				t.Errorf("the bucket takes other bytes: %+v, %v", a, err)
			}
		}
		s.call("POST", "/documents", s.of(session), 409, "UPLOAD_INCOMPLETE", "Idempotency-Key", "too early")
		if a, err := s.put(session, file); err != nil || a.Status != 200 {
			t.Fatalf("%+v, %v", a, err)
		}
		id := s.made(s.await(s.call("POST", "/documents", s.of(session), 202, "", "Idempotency-Key", "letter").Text("id")))
		if found := s.call("GET", "/documents?q=mietaufhebung", "", 200, ""); !strings.Contains(string(found.Body), id) {
			t.Errorf("not found by its content: %s", found.Body)
		}
		s.has(id, file)
		if part := s.call("GET", "/documents/"+id+"/content", "", 206, "", "Range", "bytes=5-11"); string(part.Body) != string(file[5:12]) {
			t.Errorf("the part is %q", part.Body)
		}
		s.call("GET", "/documents/"+id+"/content", "", 416, "RANGE_NOT_SATISFIABLE", "Range", "bytes=1000-")
		second := s.document("Anlage.txt", []byte("Anlage\n"))
		check(t, 2, h.store...)

		copied := filepath.Join(t.TempDir(), "copy")
		kartei(t, append([]string{"backup", copied}, h.store...)...)
		s.call("DELETE", "/documents/"+second, "", 204, "", "If-Match", "*")
		s.call("GET", "/documents/"+second+"/content", "", 404, "NOT_FOUND")
		if n := len(b.objects(t, b.name)); n < 1 || n > 2 { // a backup holds what is deleted for some minutes
			t.Errorf("%d objects", n)
		}

		other, elsewhere := b.Bucket(t), t.TempDir()
		database := "sqlite:" + elsewhere + "/kartei.db"
		if !strings.HasPrefix(h.database, "sqlite:") {
			database = dbtest.EmptyPostgresURL(t)
		}
		store := []string{"--data-dir", elsewhere, "--database-url", database, "--blob-url", b.Location(other)}
		key := []string{"--master-key-file", filepath.Join(h.store[1], "master.key")}
		kartei(t, append(append([]string{"restore", copied}, store...), key...)...)
		restored := s
		restored.server = start(t, append(append([]string{"serve"}, store...), key...)...)
		restored.has(id, file)
		restored.has(second, []byte("Anlage\n"))
		if n := len(b.objects(t, other)); n != 2 {
			t.Errorf("%d objects were restored", n)
		}
		check(t, 2, store...)
	})
}

// TestBucketAway has the bucket fail at each step of the journey: each answer is
// clear, nothing is lost, what needs no bytes goes on, and what the client then
// does again succeeds.
func TestBucketAway(t *testing.T) {
	buckets(t, func(t *testing.T, h *house, s teller, b *bucketFront) {
		file := []byte("Sehr geehrte Frau Morgenstern,\nanbei die Mietaufhebungsvereinbarung.\n")
		kept := s.document("Brief.txt", file)
		good := filepath.Join(t.TempDir(), "good")
		kartei(t, append([]string{"backup", good}, h.store...)...)
		documents := 1
		for n, fault := range []string{"500", "away", "gone"} {
			doomed, sent := s.document("Entwurf.txt", []byte("Entwurf\n")), s.send("Anlage.txt", file)
			b.fail(t, fault, 0)
			s.shows(false)
			unsent := s.open("Zweite.txt", file)
			if a, err := s.put(unsent, file); err == nil && a.Status/100 == 2 {
				t.Errorf("%s: the bucket took a file", fault)
			}
			key := fmt.Sprint("away-", n)
			if a := s.call("POST", "/documents", s.of(sent), 502, "UPSTREAM", "Idempotency-Key", key); a.Header.Get("Retry-After") == "" {
				t.Errorf("%s: 502 without Retry-After", fault)
			}
			if found := s.call("GET", "/documents?q=mietaufhebung", "", 200, ""); !strings.Contains(string(found.Body), kept) {
				t.Errorf("%s: not found by its content: %s", fault, found.Body)
			}
			s.call("GET", "/documents/"+kept, "", 200, "")
			for _, r := range []string{"", "bytes=5-11"} {
				if a := s.call("GET", "/documents/"+kept+"/content", "", 502, "UPSTREAM", "Range", r); a.Header.Get("Retry-After") == "" {
					t.Errorf("%s: 502 without Retry-After", fault)
				}
			}
			s.call("DELETE", "/documents/"+doomed, "", 204, "", "If-Match", "*")
			s.call("GET", "/documents/"+doomed+"/content", "", 404, "NOT_FOUND")
			for _, command := range [][]string{
				append([]string{"backup", filepath.Join(t.TempDir(), "copy")}, h.store...),
				append([]string{"blobs", "check"}, h.store...),
				append([]string{"restore", good, "--master-key-file", filepath.Join(h.store[1], "master.key"), "--data-dir", t.TempDir()}, "--blob-url", b.location()),
			} {
				out, errs, status := try(t, command...)
				if status != 1 || !strings.Contains(errs, "does not answer properly") || strings.Contains(out, "missing") {
					t.Errorf("%s: %s: exit %d\n%s%s", fault, command[0], status, out, errs)
				}
			}

			b.heal(t)
			s.shows(true)
			if a, err := s.put(unsent, file); err != nil || a.Status != 200 {
				t.Errorf("%s, and over: %+v, %v", fault, a, err)
			}
			for i, session := range []*answer{sent, unsent} {
				id := s.made(s.await(s.call("POST", "/documents", s.of(session), 202, "", "Idempotency-Key", fmt.Sprint(key, strings.Repeat("-again", i))).Text("id")))
				s.has(id, file)
				documents++
			}
			s.has(kept, file)
		}
		s.server.says(t, "the files of documents cannot be reached")
		s.server.says(t, "the files of documents can be reached again")

		// In the midst of an operation, at each of its requests.
		for after := 1; ; after++ {
			session := s.send("Mitten.txt", file)
			b.fail(t, []string{"500", "away"}[after%2], after)
			a, err := newClient(s.key).call(s.URL+"/v1", "POST", "/documents", s.of(session), "Idempotency-Key", fmt.Sprint("midst-", after))
			if err != nil {
				t.Fatal(err)
			}
			if a.Status != 202 && a.Status != 502 {
				t.Fatalf("after %d requests: %d %s", after, a.Status, a.Body)
			}
			if a.Status == 202 { // the operation meets it, or is quicker
				met := s.poll(a.Text("id"), func(string) bool { return b.failures() >= 3 })
				if met.Text("status") == "failed" {
					t.Fatalf("after %d requests the operation failed: %s", after, met.Body)
				}
			}
			met := b.failures() > 0
			b.heal(t)
			again := s.call("POST", "/documents", s.of(session), 202, "", "Idempotency-Key", fmt.Sprint("midst-", after))
			s.has(s.made(s.await(again.Text("id"))), file)
			documents++
			if !met {
				if after < 3 {
					t.Errorf("an operation took no more than %d requests", after)
				}
				break
			}
		}
		check(t, documents, h.store...)
		// Backups hold those that were deleted for some minutes.
		if n := len(b.objects(t, b.name)); n < documents || n > documents+3 {
			t.Errorf("%d objects of %d documents: %q", n, documents, b.objects(t, b.name))
		}
	})
}
