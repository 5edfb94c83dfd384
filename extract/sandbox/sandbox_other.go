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

// WallTimes is the maximum real time of a process as a multiple of its processor time. Here, real
// time is the only limit on time.
const WallTimes = 1

func attributes() *syscall.SysProcAttr { return nil }

func giveWay(*os.Process) {}

// Confine does nothing. Outside of Linux, a process is limited only by the checks of its readers,
// by real time and by the size of its output.
func Confine(Rights) (missing []error, err error) {
	return []error{errors.New("processes are confined on Linux only")}, nil
}

func signalled(*os.ProcessState, time.Duration) Cause { return Crash }
