package s3test

import "syscall"

// diesWithParent ends a child whose test was killed.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
