package sqlite_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"kartei/store/db"
	"kartei/store/db/open"
)

// TestFileIsReadOnly checks that a file which the server may not write is refused when it is
// opened. SQLite would open the file read-only, and refuse writes even after it becomes writable.
func TestFileIsReadOnly(t *testing.T) {
	const nobody = 65534
	dir := t.TempDir()
	path := filepath.Join(dir, "kartei.db")
	open := func() error {
		d, err := open.Database(t.Context(), "sqlite:"+path, db.Options{})
		if err == nil {
			err = d.Close()
		}
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // permissions do not restrict root
		for _, name := range []string{dir, path, path + ".lock"} {
			if err := os.Chown(name, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if os.Geteuid() == 0 {
			runtime.LockOSThread() // without unlock, so that the thread ends with the goroutine
			if err := syscall.Setfsuid(nobody); err != nil {
				t.Error(err)
				return
			}
		}
		refusedWhile(t, path, open)
	}()
	<-done
}

// refusedWhile checks that the database cannot be opened without the permission to write, and can
// be opened with it.
func refusedWhile(t *testing.T, path string, open func() error) {
	if err := os.Chmod(path, 0o400); err != nil {
		t.Error(err)
	}
	if err := open(); err == nil || !strings.Contains(err.Error(), "needs the right to write the database: open "+path) {
		t.Errorf("a file without the right to write: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Error(err)
	}
	if err := open(); err != nil {
		t.Errorf("the same, writable: %v", err)
	}
}
