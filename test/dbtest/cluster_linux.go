package dbtest

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// fastParent returns the folder for clusters whose data may be lost: the file system
// in memory if it has 4 GiB left, enough for the packages that run at the same time.
// Each test makes a database and drops it, which is some thousand files. ext4 gives
// no inode that was freed in the last five seconds, and the search for another took
// half of PostgreSQL's time.
func fastParent() string {
	const folder, room = "/dev/shm", 4 << 30
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil || s.Type != unix.TMPFS_MAGIC || s.Bavail*uint64(s.Bsize) < room {
		return parent()
	}
	return folder
}

// serverAttributes makes the kernel shut down the server when this process dies
// for any reason.
func serverAttributes(account *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: account, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
}
