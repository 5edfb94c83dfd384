//go:build !linux

package child

import "syscall"

// attributes make a program end with this process, on Linux only.
func attributes() *syscall.SysProcAttr { return nil }
