package child

import "syscall"

// attributes returns the settings with which the kernel kills the program when this process ends.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
