//go:build !linux

package extract

import (
	"os"
	"syscall"
)

// root is a child's working directory.
var root = os.TempDir()

func attributes() *syscall.SysProcAttr { return nil }

func giveWay(*os.Process) {}

// confine does nothing: outside Linux a child is bounded by its own care, by
// the clock on the wall, and by what it may write.
func confine(order) error { return nil }

func signalled(*os.ProcessState) int { return exitCrash }
