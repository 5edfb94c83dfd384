//go:build unix

package blob

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile waits for an exclusive lock on a file, which excludes other processes and other handles.
// Closing the file releases the lock.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX) }
