//go:build !linux

package child

import "syscall"

// attributes returns nil. Only Linux can kill the program when this process ends.
func attributes() *syscall.SysProcAttr { return nil }
