package blob

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile waits for an exclusive lock on a file, which excludes other processes and other handles.
// Closing the file releases the lock. The locked byte is far beyond the end of the file, because
// Windows prevents others from reading a locked range.
func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: 1 << 30})
}
