package dbtest

import "syscall"

// serverAttributes has the server shut down when this process dies, however it dies.
func serverAttributes(account *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: account, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
}
