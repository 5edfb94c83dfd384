package s3test

import "syscall"

// diesWithParent ends a child process when its parent dies.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
