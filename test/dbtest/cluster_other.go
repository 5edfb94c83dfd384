//go:build !linux

package dbtest

import "syscall"

func fastParent() string { return parent() }

func serverAttributes(account *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: account, Setpgid: true}
}
