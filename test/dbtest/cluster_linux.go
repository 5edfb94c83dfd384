package dbtest

import "syscall"

// serverAttributes makes the kernel shut down the server when this process dies
// for any reason.
func serverAttributes(account *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: account, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
}
