package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kartei/store/db/sqlite"
	"kartei/test/dbtest"
)

// TestLockOnFullDisk checks that a full disk does not prevent a lock. Only the note about the
// holder may be missing. An existing note is overwritten in place.
func TestLockOnFullDisk(t *testing.T) {
	dir, _ := dbtest.SmallDisk(t, "64k")
	path := filepath.Join(dir, "kartei.db")
	for _, note := range []bool{true, false} {
		t.Run(fmt.Sprint("with a note ", note), func(t *testing.T) {
			if note {
				if err := os.WriteFile(path+".lock",
					[]byte("process 1 (a former one with a name that is longer than its successor) since 2026-11-01T00:00:00Z\n"),
					0o600); err != nil {
					t.Fatal(err)
				}
			}
			ballast := filepath.Join(dir, "ballast")
			if err := os.WriteFile(ballast, make([]byte, 128<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("the disk is not full: %v", err)
			}
			_, unlock, err := sqlite.LockFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = sqlite.LockFile(path)
			var inUse *sqlite.InUse
			if !errors.As(err, &inUse) {
				t.Fatalf("the lock is not held: %v", err)
			}
			if note != strings.HasPrefix(inUse.Holder, fmt.Sprintf("process %d (", os.Getpid())) ||
				strings.Contains(inUse.Holder, "former") {
				t.Errorf("the holder is %q", inUse.Holder)
			}
			for _, name := range []string{ballast, path + ".lock"} {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
			if err := unlock(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
