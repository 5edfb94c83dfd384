package main

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoDumps checks that the process writes no core dump after noDumps, and that other processes
// cannot read its memory.
func TestNoDumps(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &before); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) })
	if err := noDumps(); err != nil {
		t.Fatal(err)
	}
	var core unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &core); err != nil || core != (unix.Rlimit{}) {
		t.Errorf("cores up to %+v, %v; before %+v", core, err, before)
	}
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || dumpable != 0 {
		t.Errorf("dumpable: %d, %v", dumpable, err)
	}
}
