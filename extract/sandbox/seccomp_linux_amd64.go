package sandbox

import "golang.org/x/sys/unix"

const (
	arch = unix.AUDIT_ARCH_X86_64
	// firstForeign is the first number of the x32 table, which shares the
	// architecture.
	firstForeign = 0x40000000
)

// ancient are calls that only the older table has.
var ancient = []uint32{
	unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES,
	unix.SYS_FUTIMESAT,
	unix.SYS_INOTIFY_INIT, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB,
}
