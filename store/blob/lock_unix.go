//go:build unix

package blob

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks a file against other processes and other handles, and waits
// for the lock. Closing the file releases it.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX) }
