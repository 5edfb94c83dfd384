package sandbox

import "golang.org/x/sys/unix"

const (
	arch = unix.AUDIT_ARCH_AARCH64
	// firstForeign is a number above all calls of the table. 32-bit programs have another
	// architecture value.
	firstForeign = 0x40000000
)

// ancient are older calls that other architectures do not have. This architecture has none.
var ancient []uint32
