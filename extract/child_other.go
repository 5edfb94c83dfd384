//go:build !linux

package extract

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// root is a child's working directory.
var root = os.TempDir()

// wallTimes is the limit on the real time of a child, as a multiple of
// Limits.Time. It is the only limit on time here.
const wallTimes = 1

func attributes() *syscall.SysProcAttr { return nil }

func giveWay(*os.Process) {}

// confine does nothing. Outside Linux, a child is bounded by its own checks, by
// real time, and by the size of its output.
func confine(order) (missing []error, err error) {
	return []error{errors.New("processes are confined on Linux only")}, nil
}

func signalled(*os.ProcessState, time.Duration) int { return exitCrash }
