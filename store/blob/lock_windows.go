package blob

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile waits until no other process and no other open file holds the lock
// of this one. Closing the file gives it back. What is locked is a byte far
// behind the end: Windows refuses others to read what is.
func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
}
