package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// noDumps keeps the memory of this process, in which the master key and the
// secrets of callers are, from being written to a disk when it crashes, and from
// being read by other processes of the same user.
func noDumps() error {
	return errors.Join(
		unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}),
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}
