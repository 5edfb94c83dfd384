package main

import (
	"errors"

	"golang.org/x/sys/unix"
)

// noDumps protects the memory of this process, which holds the master key and
// the secrets of callers. A crash writes no core dump, and other processes of
// the same user cannot read the memory.
func noDumps() error {
	return errors.Join(
		unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}),
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}
