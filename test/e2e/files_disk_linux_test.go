package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFilesOnAFullDisk fills the disk at each step of an upload and its
// operation. One run fills the disk of files and database, another that of
// files alone. Refusals are retryable, and with space the client's retry
// succeeds. At the end each document has a file, each file a document, and
// nothing is in progress.
func TestFilesOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{true, false} {
		t.Run(fmt.Sprintf("with the database %t", shared), func(t *testing.T) {
			disk, dir := smallDisk(t, 48<<20), t.TempDir()
			if shared {
				dir = filepath.Join(disk, "kartei")
			}
			store := []string{"--data-dir", dir, "--blob-url", "file:" + filepath.Join(disk, "files")}
			h := newCluster(t, 1, "sqlite:"+dir+"/kartei.db", store...)
			s := h.at(0).forFiles(h.office, store...)
			ballast := filepath.Join(disk, "ballast")
			room := func() {
				t.Helper()
				if err := os.Remove(ballast); err != nil {
					t.Fatal(err)
				}
			}
			as := newHTTPClient(s.key)
			// try makes a call that a full disk may refuse, and reports whether
			// it was accepted.
			try := func(step, method, path, body string, taken int, headers ...string) (*answer, bool) {
				t.Helper()
				a, err := as.call(s.URL+"/v1", method, path, body, headers...)
				if err != nil {
					t.Fatal(err)
				}
				if a.Status != taken && (a.Status != 503 && a.Status != 429 || a.Header.Get("Retry-After") == "") {
					t.Errorf("%s: %d %s", step, a.Status, a.Body)
				}
				return a, a.Status == taken
			}
			file := bytes.Repeat([]byte("Guten Tag, Frau Morgenstern\n"), 100_000) // 2.8 MB
			text := func(n int) []byte { return append(fmt.Appendf(nil, "Nummer %d\n", n), file...) }
			documents := map[string][]byte{}
			for n, step := range []string{"before the session", "before the file", "in the midst of the file", "before the document", "in the midst of the operation", "before the deletion"} {
				fill := func() { fill(t, ballast) }
				name, key := fmt.Sprintf("Datei %d.txt", n), fmt.Sprint("document-", n)
				if step == "before the session" {
					fill()
					try(step, "POST", "/uploads", `{"fileName":"a.txt","contentType":"text/plain","size":1}`, 201, "Idempotency-Key", "session")
					room()
				}
				session := s.open(name, text(n))
				switch step {
				case "before the file":
					fill()
				case "in the midst of the file": // there is space for half of it
					fill()
					if err := os.Truncate(ballast, size(t, ballast)-int64(len(file)/2)); err != nil {
						t.Fatal(err)
					}
				}
				if strings.HasSuffix(step, "the file") {
					for range 3 { // what one attempt leaves would not fit again
						a, err := s.put(session, text(n))
						if err != nil || a.Status != 503 || a.Text("code") != "INSTANCE_PENDING" || a.Header.Get("Retry-After") == "" {
							t.Errorf("%s: %+v, %v", step, a, err)
						}
					}
					room()
				}
				if a, err := s.put(session, text(n)); err != nil || a.Status != 204 {
					t.Fatalf("%s, with room: %+v, %v", step, a, err)
				}
				if step == "before the document" {
					fill()
					try(step, "POST", "/documents", s.of(session), 202, "Idempotency-Key", key)
					room()
				}
				begun := s.call("POST", "/documents", s.of(session), 202, "", "Idempotency-Key", key)
				if step == "in the midst of the operation" {
					fill()
					until := time.Now().Add(3 * time.Second) // the operation may end sooner, or need no space
					s.poll(begun.Text("id"), func(string) bool { return time.Now().After(until) })
					room()
				}
				id := s.made(s.await(begun.Text("id")))
				documents[id] = text(n)
				if step == "before the deletion" {
					fill()
					_, gone := try(step, "DELETE", "/documents/"+id, "", 204, "If-Match", "*")
					room()
					if !gone {
						s.has(id, text(n))
						s.call("DELETE", "/documents/"+id, "", 204, "", "If-Match", "*")
					}
					delete(documents, id)
				}
				for id, file := range documents {
					s.has(id, file)
				}
			}
			s.idle(store...)
			check(t, len(documents), store...)
			left, err := filepath.Glob(filepath.Join(disk, "files", "unfinished", "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("%q is left, %v", left, err)
			}
			files, err := filepath.Glob(filepath.Join(disk, "files", "*", "*", "*"))
			if err != nil || len(files) != len(documents) {
				t.Errorf("%d documents, %q, %v", len(documents), files, err)
			}
			if n := s.call("GET", "/documents/count", "", 200, "").Text("count"); n != fmt.Sprint(len(documents)) {
				t.Errorf("%s documents are counted, %d were made", n, len(documents))
			}
		})
	}
}

// size returns the size of a file in bytes.
func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
