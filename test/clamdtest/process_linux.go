package clamdtest

import "syscall"

// attributes have clamd die with this process.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
