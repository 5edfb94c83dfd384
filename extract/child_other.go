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

// wallTimes is how many times Limits.Time a child may take by the clock on the
// wall, which is all that bounds it here.
const wallTimes = 1

func attributes() *syscall.SysProcAttr { return nil }

func giveWay(*os.Process) {}

// confine does nothing: outside Linux a child is bounded by its own care, by
// the clock on the wall, and by what it may write.
func confine(order) (missing []error, err error) {
	return []error{errors.New("processes are confined on Linux only")}, nil
}

func signalled(*os.ProcessState, time.Duration) int { return exitCrash }
