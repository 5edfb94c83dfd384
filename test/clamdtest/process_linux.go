package clamdtest

import "syscall"

// attributes make clamd end with this process.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
