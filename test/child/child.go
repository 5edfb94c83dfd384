// Package child owns the programs that a test runs beside itself: they end with the process of the test.
package child

import (
	"os/exec"
	"runtime"
)

// Process is a program that runs.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// Start starts a program. The kernel signals it when the thread that started it ends,
// so that thread is kept until then.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = attributes()
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // a killed program ends with an error
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Ended is closed once the program has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Kill ends the program, as a crash would.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}
