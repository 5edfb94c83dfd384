package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFilesOnAFullDisk fills the disk at each step of an upload and its operation. In one run the
// disk has files and database, in the other only files. Errors have a Retry-After, and once there
// is space, the client's retry succeeds. In the end documents and files match, and no operation is
// in progress.
func TestFilesOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{true, false} {
		t.Run(fmt.Sprintf("with the database %t", shared), func(t *testing.T) {
			f := newFilesDisk(t, shared)
			f.sessionOnFullDisk()
			f.fileOnFullDisk("before the file", f.fill)
			f.fileOnFullDisk("in the midst of the file", f.fillToHalf)
			f.documentOnFullDisk()
			f.operationOnFullDisk()
			f.deletionOnFullDisk()
			f.complete()
		})
	}
}

// filesDisk is a server whose files are on a small disk.
type filesDisk struct {
	client
	t         *testing.T
	disk      string
	store     []string
	file      []byte
	files     int
	documents map[string][]byte
}

func newFilesDisk(t *testing.T, shared bool) *filesDisk {
	t.Helper()
	disk, dir := smallDisk(t, 48<<20), t.TempDir()
	if shared {
		dir = filepath.Join(disk, "kartei")
	}
	f := &filesDisk{
		t:         t,
		disk:      disk,
		store:     []string{"--data-dir", dir, "--blob-url", "file:" + filepath.Join(disk, "files")},
		documents: map[string][]byte{},
	}
	f.file = bytes.Repeat([]byte("Guten Tag, Frau Morgenstern\n"), 100_000) // 2.8 MB
	h := newCluster(t, 1, "sqlite:"+dir+"/kartei.db", f.store...)
	f.client = h.at(0).forFiles(h.office, f.store...)
	return f
}

func (f *filesDisk) ballast() string { return filepath.Join(f.disk, "ballast") }

// fill fills the disk with the ballast file.
func (f *filesDisk) fill() {
	f.Helper()
	fill(f.t, f.ballast())
}

// fillToHalf leaves space for half of f.file.
func (f *filesDisk) fillToHalf() {
	f.Helper()
	f.fill()
	if err := os.Truncate(f.ballast(), size(f.t, f.ballast())-int64(len(f.file)/2)); err != nil {
		f.Fatal(err)
	}
}

// room removes the ballast file.
func (f *filesDisk) room() {
	f.Helper()
	if err := os.Remove(f.ballast()); err != nil {
		f.Fatal(err)
	}
}

// next returns the name and the content of a new file.
func (f *filesDisk) next() (name string, text []byte) {
	f.files++
	return fmt.Sprintf("Datei %d.txt", f.files), append(fmt.Appendf(nil, "Nummer %d\n", f.files), f.file...)
}

// refusable sends a request while the disk is full. It reports whether the response has the status
// taken. Any other response must have a Retry-After.
func (f *filesDisk) refusable(step, method, path, body string, taken int, headers ...string) bool {
	f.Helper()
	f.fill()
	defer f.room()
	a, err := newHTTPClient(f.key).call(f.URL+"/v1", method, path, body, headers...)
	if err != nil {
		f.Fatal(err)
	}
	if a.Status != taken && (a.Status != 503 && a.Status != 429 || a.Header.Get("Retry-After") == "") {
		f.Errorf("%s: %d %s", step, a.Status, a.Body)
	}
	return a.Status == taken
}

// sent sends a file while there is space.
func (f *filesDisk) sent(step string, session *answer, text []byte) {
	f.Helper()
	if a, err := f.put(session, text); err != nil || a.Status != 204 {
		f.Fatalf("%s, with room: %+v, %v", step, a, err)
	}
}

// creates creates the document of a session. It calls during while the operation runs. Then it
// checks the content of all documents.
func (f *filesDisk) creates(session *answer, text []byte, during func(operation string)) (id string) {
	f.Helper()
	begun := f.call("POST", "/documents", f.of(session), 202, "", "Idempotency-Key", session.Text("id")).Text("id")
	during(begun)
	id = f.made(f.await(begun))
	f.documents[id] = text
	for id, text := range f.documents {
		f.has(id, text)
	}
	return id
}

func quietly(string) {}

// sessionOnFullDisk tries to open an upload session while the disk is full. Then it frees space,
// and checks that an upload succeeds.
func (f *filesDisk) sessionOnFullDisk() {
	f.Helper()
	f.refusable("before the session", "POST", "/uploads", `{"fileName":"a.txt","contentType":"text/plain","size":1}`,
		201, "Idempotency-Key", "session")
	name, text := f.next()
	session := f.open(name, text)
	f.sent("before the session", session, text)
	f.creates(session, text, quietly)
}

// fileOnFullDisk sends a file for which there is no space. Three attempts show that a failed
// attempt leaves nothing on the disk.
func (f *filesDisk) fileOnFullDisk(step string, fill func()) {
	f.Helper()
	name, text := f.next()
	session := f.open(name, text)
	fill()
	for range 3 {
		a, err := f.put(session, text)
		if err != nil || a.Status != 503 || a.Text("code") != "INSTANCE_PENDING" || a.Header.Get("Retry-After") == "" {
			f.Errorf("%s: %+v, %v", step, a, err)
		}
	}
	f.room()
	f.sent(step, session, text)
	f.creates(session, text, quietly)
}

// documentOnFullDisk starts the creation of a document on a full disk, and again with space.
func (f *filesDisk) documentOnFullDisk() {
	f.Helper()
	name, text := f.next()
	session := f.open(name, text)
	f.sent("before the document", session, text)
	f.refusable("before the document", "POST", "/documents", f.of(session), 202, "Idempotency-Key", session.Text("id"))
	f.creates(session, text, quietly)
}

// operationOnFullDisk fills the disk during an operation. The operation may have ended before, or
// may need no space.
func (f *filesDisk) operationOnFullDisk() {
	f.Helper()
	name, text := f.next()
	session := f.open(name, text)
	f.sent("in the midst of the operation", session, text)
	f.creates(session, text, func(operation string) {
		f.fill()
		until := time.Now().Add(3 * time.Second)
		f.poll(operation, func(string) bool { return time.Now().After(until) })
		f.room()
	})
}

// deletionOnFullDisk deletes a document on a full disk. The document is deleted, or it is
// unchanged.
func (f *filesDisk) deletionOnFullDisk() {
	f.Helper()
	name, text := f.next()
	session := f.open(name, text)
	f.sent("before the deletion", session, text)
	id := f.creates(session, text, quietly)
	if !f.refusable("before the deletion", "DELETE", "/documents/"+id, "", 204, "If-Match", "*") {
		f.has(id, text)
		f.call("DELETE", "/documents/"+id, "", 204, "", "If-Match", "*")
	}
	delete(f.documents, id)
	for id, text := range f.documents {
		f.has(id, text)
	}
}

// complete checks that each document has a file, and that no other file is left.
func (f *filesDisk) complete() {
	f.Helper()
	f.idle(f.store...)
	check(f.t, len(f.documents), f.store...)
	left, err := filepath.Glob(filepath.Join(f.disk, "files", "unfinished", "*"))
	if err != nil || len(left) > 0 {
		f.Errorf("%q is left, %v", left, err)
	}
	files, err := filepath.Glob(filepath.Join(f.disk, "files", "*", "*", "*"))
	if err != nil || len(files) != len(f.documents) {
		f.Errorf("%d documents, %q, %v", len(f.documents), files, err)
	}
	if n := f.call("GET", "/documents/count", "", 200, "").Text("count"); n != fmt.Sprint(len(f.documents)) {
		f.Errorf("%s documents are counted, %d were made", n, len(f.documents))
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
