package sandbox

import "golang.org/x/sys/unix"

const (
	arch = unix.AUDIT_ARCH_AARCH64
	// firstForeign is a number that no table reaches: programs of 32 bits have an
	// architecture of their own.
	firstForeign = 0x40000000
)

// ancient are calls that only older tables have.
var ancient []uint32
