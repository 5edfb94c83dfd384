package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kartei/test/waittest"
)

// TestFullDisk fills the disk of a server. Meanwhile writes fail with a Retry-After, reads succeed,
// and acknowledged data stays. Once there is space, writes succeed without a restart.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 24<<20)
	f := &fullDisk{
		t:            t,
		disk:         disk,
		store:        []string{"--data-dir", filepath.Join(disk, "kartei")},
		acknowledged: map[string]string{},
	}
	h := newCluster(t, 1, "sqlite:"+filepath.Join(disk, "kartei", "kartei.db"), f.store...)
	f.client, f.as = client{t, h.servers[0], h.office.Key}, newHTTPClient(h.office.Key)
	for i := range 20 {
		if a := f.post(fmt.Sprint("before-", i)); a.Status != 201 {
			t.Fatalf("before: %d %s", a.Status, a.Body)
		}
	}
	get(t, f.Operator+"/metrics", 200, "kartei_db_writable 1\n")
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	f.refuses()
	f.tellsOperator()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	f.accepts()
	h.close()
	f.hasAll(h.settle())
}

// fullDisk is a server whose disk is full, and the contacts that it has acknowledged.
type fullDisk struct {
	client
	t            *testing.T
	disk         string
	store        []string
	as           *httpClient
	acknowledged map[string]string // maps an id to the body
}

// post creates a contact of 9 KB. It records an acknowledged contact.
func (f *fullDisk) post(key string) *answer {
	f.Helper()
	a, err := f.as.call(f.URL+"/v1", "POST", "/contacts",
		fmt.Sprintf(`{"lastName":"Voll","note":%q}`, strings.Repeat("Lorem ipsum. ", 700)), "Idempotency-Key", key)
	if err != nil {
		f.Fatal(err)
	}
	if a.Status == 201 {
		f.acknowledged[a.Text("id")] = string(a.Body)
	}
	return a
}

// refuses sends writes until five have failed. Some may succeed, because the database log still has
// space.
func (f *fullDisk) refuses() {
	f.Helper()
	refusals := 0
	for i := 0; refusals < 5; i++ {
		if i > 10_000 {
			f.Fatal("the disk never got full")
		}
		a := f.post(fmt.Sprint("full-", i))
		if a.Status == 201 {
			continue
		}
		refusals++
		if a.Status != 503 && a.Status != 429 || a.Header.Get("Retry-After") == "" ||
			a.Status == 503 && !strings.HasPrefix(a.Text("detail"), "Zurzeit lässt sich nichts speichern.") {
			f.Fatalf("on a full disk: %d %s", a.Status, a.Body)
		}
		f.reads()
	}
	get(f.t, f.Operator+"/healthz", 200)
}

// reads checks that reads succeed, and that failed writes have stored nothing.
func (f *fullDisk) reads() {
	f.Helper()
	if n := f.call("GET", "/contacts/count", "", 200, "").Text("count"); n != fmt.Sprint(len(f.acknowledged)) {
		f.Fatalf("%s contacts, %d were acknowledged", n, len(f.acknowledged))
	}
	for id, body := range f.acknowledged {
		if got := f.call("GET", "/contacts/"+id, "", 200, ""); string(got.Body) != body {
			f.Fatalf("acknowledged\n%s\nread\n%s", body, got.Body)
		}
		break
	}
}

// tellsOperator checks the log, /readyz and the metrics. The replica stays ready, because reads
// succeed. Small writes, such as rows of the request log, may find space for a while.
func (f *fullDisk) tellsOperator() {
	f.Helper()
	f.says(f.t, "writes are refused")
	f.says(f.t, "the disk of "+filepath.Join(f.disk, "kartei")+" is full")
	for i, end := 0, time.Now().Add(waittest.Bound); ; i++ {
		f.post(fmt.Sprint("still-full-", i))
		ready, metrics := get(f.t, f.Operator+"/readyz", 200), get(f.t, f.Operator+"/metrics", 200)
		if strings.Contains(ready, `"name":"writes","ok":false,"reason":"the disk of `) &&
			strings.Contains(metrics, "kartei_db_writable 0\n") && strings.Contains(metrics, "kartei_db_refused_writes_total") {
			break
		}
		if time.Now().After(end) {
			f.Fatalf("the operator is not told: %s\n%s", ready, metrics)
		}
	}
	log := f.server.Log()
	if told, over := strings.Count(log, "writes are refused"), strings.Count(log,
		"writes are accepted again"); told > over+1 {
		f.Errorf("%d lines about a full disk of which %d were over\n%s", told, over, log)
	}
}

// accepts checks that writes succeed again. The server reports this after the next write that comes
// a second later, here a row of the request log.
func (f *fullDisk) accepts() {
	f.Helper()
	if a := f.post("after"); a.Status != 201 {
		f.Fatalf("with room again: %d %s", a.Status, a.Body)
	}
	for end := time.Now().Add(waittest.Bound); !strings.Contains(f.server.Log(), "writes are accepted again"); {
		if _, err := f.as.call(f.URL+"/v1", "GET", "/me", ""); err != nil || time.Now().After(end) {
			f.Fatal("not told that it is over", err)
		}
	}
	get(f.t, f.Operator+"/readyz", 200, `"name":"writes","ok":true`)
	get(f.t, f.Operator+"/metrics", 200, "kartei_db_writable 1\n")
}

// hasAll checks that the database has all acknowledged contacts.
func (f *fullDisk) hasAll(data storedData) {
	f.Helper()
	if len(data.contacts) != len(f.acknowledged) {
		f.Errorf("%d contacts, %d were acknowledged", len(data.contacts), len(f.acknowledged))
	}
	for id, body := range f.acknowledged {
		var want contact
		if err := json.Unmarshal([]byte(body), &want); err != nil || data.contacts[id] != want {
			f.Errorf("acknowledged %+v, there is %+v", want, data.contacts[id])
		}
	}
}

// TestStartOnFullDisk starts a server on a full disk. The server waits and responds like a server
// that is starting. Once there is space, it serves calls.
func TestStartOnFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 24<<20)
	store := []string{"--data-dir", filepath.Join(disk, "kartei")}
	h := newCluster(t, 1, "sqlite:"+filepath.Join(disk, "kartei", "kartei.db"), store...)
	made := client{t, h.servers[0], h.office.Key}.call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "",
		"Idempotency-Key", "one")
	h.close()
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	s := startWaiting(t, h.office.Key, store...)
	if text := get(t, s.Operator+"/readyz", 503); !strings.Contains(text, "full") &&
		!strings.Contains(text, "no space") && !strings.Contains(text, "disk") {
		t.Errorf("/readyz says %s", text)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s.becomesReady()
	if again := s.call("GET", "/contacts/"+made.Text("id"), "", 200, ""); string(again.Body) != string(made.Body) {
		t.Errorf("there is %s, acknowledged was %s", again.Body, made.Body)
	}
	s.call("POST", "/contacts", `{"lastName":"Tal"}`, 201, "", "Idempotency-Key", "two")
	s.stop(t)
}

// TestReadOnlyDisk starts a server on a read-only disk. The server reports the reason, ends, and
// changes nothing. When the disk is writable again, it starts. Linux cannot make a disk read-only
// while a file on it is open for writing, so the server is stopped before.
func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 24<<20)
	dir := filepath.Join(disk, "kartei")
	store := []string{"--data-dir", dir}
	h := newCluster(t, 1, "sqlite:"+filepath.Join(dir, "kartei.db"), store...)
	s := client{t, h.servers[0], h.office.Key}
	made := s.call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "", "Idempotency-Key", "one")
	h.close()
	remount := func(flags uintptr) {
		t.Helper()
		if err := unix.Mount("kartei-test", disk, "tmpfs", unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(unix.MS_RDONLY)
	_, errs, status := try(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"},
		store...)...)
	if status == 0 || !strings.Contains(errs, "read-only") && !strings.Contains(errs, "readonly") {
		t.Errorf("on a read-only disk: exit %d, %s", status, errs)
	}
	remount(0)
	h.open()
	s.server = h.servers[0]
	again := s.call("GET", "/contacts/"+made.Text("id"), "", 200, "")
	if string(again.Body) != string(made.Body) {
		t.Errorf("there is %s, acknowledged was %s", again.Body, made.Body)
	}
	s.call("POST", "/contacts", `{"lastName":"Tal"}`, 201, "", "Idempotency-Key", "two")
}

// TestRestoreFillsTheDisk restores a backup to a disk with just enough space for it. The restore
// takes effect although an error follows. The error says this, and where the previous database is.
func TestRestoreFillsTheDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 24<<20)
	dir := filepath.Join(disk, "kartei")
	store := []string{"--data-dir", dir}
	h := newCluster(t, 1, "sqlite:"+filepath.Join(dir, "kartei.db"), store...)
	h.close()
	backup := filepath.Join(t.TempDir(), "copy.db")
	kartei(t, append([]string{"backup", backup}, store...)...)
	size, err := os.Stat(backup)
	if err != nil {
		t.Fatal(err)
	}
	var room unix.Statfs_t
	if err := unix.Statfs(disk, &room); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, int64(room.Bavail)*room.Bsize-size.Size()-room.Bsize),
		0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, status := try(t, append([]string{"restore", "--force", backup}, store...)...)
	aside, err := filepath.Glob(filepath.Join(dir, "kartei.db.replaced-*"))
	if status != 1 || err != nil || len(aside) != 1 {
		t.Fatalf("exit %d, %v %v: %s", status, aside, err, errs)
	}
	for _, says := range []string{
		"was restored from " + backup, "the previous database is in " + aside[0], "all sessions have ended",
		"disk is full", "the next server can start",
	} {
		if !strings.Contains(errs, says) {
			t.Errorf("it does not say %q: %s", says, errs)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	h.open()
}

// smallDisk mounts a file system of size bytes and returns its folder. If this process may not
// mount, smallDisk skips the test.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("kartei-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		reason := "a small disk cannot be mounted here: " + err.Error()
		if os.Geteuid() == 0 {
			missing(t, reason)
		}
		t.Skip(reason)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for size := 1 << 20; size > 0; {
		if _, err := file.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
