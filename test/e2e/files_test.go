package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"kartei/test/waittest"
)

// fresh is a counter for unique names.
var fresh atomic.Int64

// forFiles returns a client whose key may read and write documents.
func (s client) forFiles(o office, store ...string) client {
	s.Helper()
	s.key = documentsKey(s.TB, o, store...)
	return s
}

// documentsKey creates a test key with the scopes for documents.
func documentsKey(t testing.TB, o office, store ...string) string {
	t.Helper()
	return read[struct{ Key string }](t, append([]string{"key", "create", "--org", o.ID, "--principal", o.User,
		"--env", "test",
		"--scopes", "documents:read,documents:write", "--ip", "127.0.0.1/32"}, store...)...).Key
}

// open opens an upload session for a file. It returns the response.
func (s client) open(name string, file []byte) *answer {
	s.Helper()
	sum := sha256.Sum256(file)
	return s.call("POST", "/uploads", fmt.Sprintf(`{"fileName":%q,"contentType":"text/plain","size":%d,"sha256":%q}`,
		name, len(file), hex.EncodeToString(sum[:])),
		201, "", "Idempotency-Key", fmt.Sprint("open-", fresh.Add(1)))
}

// put sends bytes to the URL of an upload session.
func (s client) put(session *answer, file []byte) (*answer, error) {
	s.Helper()
	var to struct {
		Method, URL string
		Headers     map[string]string
	}
	decode(s.TB, string(session.Body), &to)
	r, err := http.NewRequest(to.Method, to.URL, bytes.NewReader(file))
	if err != nil {
		s.Fatal(err)
	}
	for name, value := range to.Headers {
		r.Header.Set(name, value)
	}
	response, err := newHTTPClient("").http.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return &answer{response.StatusCode, response.Header, body}, err
}

// send opens an upload session and sends the file.
func (s client) send(name string, file []byte) (session *answer) {
	s.Helper()
	session = s.open(name, file)
	if a, err := s.put(session, file); err != nil || a.Status/100 != 2 {
		s.Fatalf("%s: %+v, %v", name, a, err)
	}
	return session
}

// of returns the request body that creates a document from a session.
func (s client) of(session *answer) string { return fmt.Sprintf(`{"uploadId":%q}`, session.Text("id")) }

// await waits until an operation has ended, and returns it.
func (s client) await(id string) *answer {
	s.Helper()
	a := s.poll(id, func(string) bool { return false })
	if status := a.Text("status"); status != "succeeded" && status != "failed" {
		s.Fatalf("operation %s does not end: %s", id, a.Body)
	}
	return a
}

// poll reads an operation until it has ended, or until enough accepts its status. It uses one
// connection.
func (s client) poll(id string, enough func(status string) bool) (a *answer) {
	s.Helper()
	as := newHTTPClient(s.key)
	for watch := waittest.New(); a == nil || !watch.IsStuck(string(a.Body)); time.Sleep(20 * time.Millisecond) {
		// A client would poll in the same way.
		var err error
		if a, err = as.call(s.URL+"/v1", "GET", "/operations/"+id, ""); err != nil || a.Status != 200 {
			s.Fatalf("operation %s: %+v, %v", id, a, err)
		}
		if status := a.Text("status"); status == "succeeded" || status == "failed" || enough(status) {
			break
		}
	}
	return a
}

// make uploads a file and creates a document with it. It returns the ended operation.
func (s client) make(name string, file []byte) *answer {
	s.Helper()
	session := s.send(name, file)
	return s.await(s.call("POST", "/documents", s.of(session), 202, "", "Idempotency-Key",
		"make-"+session.Text("id")).Text("id"))
}

// made returns the id of the document that an operation has created.
func (s client) made(operation *answer) string {
	s.Helper()
	var o struct{ Result *struct{ ID string } }
	if err := json.Unmarshal(operation.Body, &o); err != nil || o.Result == nil {
		s.Fatalf("no document: %s", operation.Body)
	}
	return o.Result.ID
}

// document creates a document from a file.
func (s client) document(name string, file []byte) string {
	s.Helper()
	return s.made(s.make(name, file))
}

// has checks the content of a document.
func (s client) has(document string, file []byte) {
	s.Helper()
	if a := s.call("GET", "/documents/"+document+"/content", "", 200, ""); !bytes.Equal(a.Body, file) {
		s.Errorf("%s has %d other bytes", document, len(a.Body))
	}
}

// idle waits until no job for documents is waiting or running.
func (s client) idle(store ...string) {
	s.Helper()
	for watch := waittest.New(); ; time.Sleep(50 * time.Millisecond) {
		jobs := read[struct {
			Counts []struct {
				Kind, State string
				Count       int
			}
		}](s.TB, append([]string{"jobs"}, store...)...)
		open := 0
		for _, c := range jobs.Counts {
			if c.Kind == "documents.create" || c.Kind == "documents.erase" {
				open++
			}
		}
		if open == 0 {
			return
		}
		if watch.IsStuck(jobs) {
			s.Fatalf("jobs do not end: %v", jobs)
		}
	}
}

// check runs kartei blobs check. It fails the test unless files and database agree on this number
// of documents.
func check(t testing.TB, documents int, store ...string) {
	t.Helper()
	out := read[struct{ Wanted, Stored, Found int }](t, append([]string{"blobs", "check", "--age", "0s"}, store...)...)
	if out.Wanted != documents || out.Found != 0 {
		t.Errorf("%d documents, and blobs check says %+v", documents, out)
	}
}
