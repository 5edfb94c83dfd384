package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"kartei/test/dbtest"
)

// TestFileTurnsReadOnly makes the database files read-only while a server uses them. Writes fail
// with a Retry-After, and reads succeed. When the files are writable again, writes succeed.
func TestFileTurnsReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	probe := filepath.Join(dir, "probe")
	file, err := os.Create(probe)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	immutable(t, true, probe)
	_, err = file.WriteString("x")
	immutable(t, false, probe)
	if !errors.Is(err, syscall.EPERM) {
		t.Skip("this file system lets files be written that must not be changed: ", err)
	}
	h := newCluster(t, 1, "sqlite:"+filepath.Join(dir, "kartei.db"), "--data-dir", dir)
	l := newLedger(t, h)
	for range 3 {
		if !l.post() {
			t.Fatal("refused before")
		}
	}
	files := []string{filepath.Join(dir, "kartei.db"), filepath.Join(dir, "kartei.db-wal")}
	immutable(t, true, files...)
	for range 3 {
		if l.post() {
			t.Error("a creation was acknowledged")
		}
		if !l.read() {
			t.Error("reads must go on")
		}
	}
	l.verify()
	get(t, h.servers[0].Operator+"/healthz", 200)
	immutable(t, false, files...)
	if !l.post() {
		t.Error("refused afterwards")
	}
	l.verify()
	get(t, h.servers[0].Operator+"/readyz", 200)
	h.close()
	if data := h.settle(); len(data.contacts) != len(l.acknowledged) {
		t.Errorf("%d contacts, %d were acknowledged", len(data.contacts), len(l.acknowledged))
	}
}

// immutable sets or clears the immutable flag of files. No process can change an immutable file,
// even if the file is open.
func immutable(t *testing.T, on bool, paths ...string) {
	t.Helper()
	const fixed = 0x10 // FS_IMMUTABLE_FL
	for _, path := range paths {
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) && !on {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		flags, err := unix.IoctlGetInt(int(file.Fd()), unix.FS_IOC_GETFLAGS)
		if err == nil {
			flags &^= fixed
			if on {
				flags |= fixed
			}
			err = unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, flags)
		}
		file.Close()
		if err != nil {
			t.Skip("no file can be made immutable here: ", err)
		}
		if on {
			t.Cleanup(func() { immutable(t, false, path) })
		}
	}
}

// TestPostgresFrozen stops all processes of PostgreSQL with SIGSTOP. The server reports that it is
// not ready. A call that came meanwhile gets its response when the processes go on.
func TestPostgresFrozen(t *testing.T) {
	own := dbtest.OwnServer(t, "shared_buffers=16MB")
	h := newCluster(t, 1, own.URL(), "--data-dir", t.TempDir(), "--database-url", own.URL())
	l := newLedger(t, h)
	if !l.post() || !l.read() {
		t.Fatal("refused before")
	}
	// From here on, the stopped first process starts no other processes.
	if err := syscall.Kill(own.Pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	frozen := processes(t, own.Pid())
	all := func(signal syscall.Signal) {
		for _, pid := range frozen {
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Error(err)
			}
		}
	}
	all(syscall.SIGSTOP)
	defer all(syscall.SIGCONT) // A stopped process cannot end either.
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if !l.post() {
			t.Error("a call that waited was refused")
		}
	})
	get(t, h.servers[0].Operator+"/readyz", 503)
	get(t, h.servers[0].Operator+"/healthz", 200)
	all(syscall.SIGCONT)
	waiting.Wait()
	l.over(l.read)
	l.over(l.post)
	l.verify()
	get(t, h.servers[0].Operator+"/readyz", 200)
}

// processes returns the ids of a process and its children.
func processes(t *testing.T, parent int) []int {
	t.Helper()
	found := []int{parent}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		var pid, above int
		var state string
		_, rest, _ := strings.Cut(string(text), ") ")
		fmt.Sscan(rest, &state, &above)
		fmt.Sscan(string(text), &pid)
		if above == parent {
			found = append(found, pid)
		}
	}
	return found
}
