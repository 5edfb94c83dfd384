//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// root is the working directory of a process.
var root = os.TempDir()

// WallTimes is the limit on the real time of a process, as a multiple of its
// processor time. It is the only limit on time here.
const WallTimes = 1

func attributes() *syscall.SysProcAttr { return nil }

func giveWay(*os.Process) {}

// Confine does nothing. Outside Linux, a process is bounded by its own checks, by
// real time, and by the size of its output.
func Confine(Rights) (missing []error, err error) {
	return []error{errors.New("processes are confined on Linux only")}, nil
}

func signalled(*os.ProcessState, time.Duration) Cause { return Crash }
