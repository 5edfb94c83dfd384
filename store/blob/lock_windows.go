package blob

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks a file against other processes and other handles, and waits
// for the lock. Closing the file releases it. The locked byte lies far behind
// the end, because Windows prevents others from reading a locked range.
func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: 1 << 30})
}
