// Package child owns the programs that a test starts: they end with its process and may lack features of the kernel.
package child

import (
	"os/exec"
	"runtime"
)

// Process is a running program.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// Start starts a program. The kernel kills the program when the thread that started it ends. So
// this thread stays alive until the program has ended.
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
			_ = cmd.Wait() // a killed program returns an error
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Ended returns a channel that is closed when the program has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Kill kills the program, as a crash would, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // the program may have ended by itself
	<-p.ended
}
