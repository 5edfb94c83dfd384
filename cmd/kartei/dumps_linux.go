package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// noDumps protects the memory of this process, which contains the master key and secrets of
// callers. A crash then writes no core dump. Other processes of the same user cannot read the
// memory.
func noDumps() error {
	return errors.Join(
		unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}),
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}
