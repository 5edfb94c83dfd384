//go:build unix

package blob

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile waits until no other process and no other open file holds the lock
// of this one. Closing the file gives it back.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX) }
