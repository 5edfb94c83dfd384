package dbtest

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// fastParent returns the folder for clusters whose data may be lost. It is the file system in
// memory if that has 4 GiB left. This is enough for all packages whose tests run at the same time.
// Each test creates and drops a database of some thousand files. On ext4, this took twice as long,
// because ext4 does not reuse an inode within five seconds.
func fastParent() string {
	const folder, room = "/dev/shm", 4 << 30
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil || s.Type != unix.TMPFS_MAGIC || s.Bavail*uint64(s.Bsize) < room {
		return parent()
	}
	return folder
}

// serverAttributes returns the settings with which the kernel stops the server when this process
// ends for any reason.
func serverAttributes(account *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: account, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
}
