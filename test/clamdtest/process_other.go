//go:build !linux

package clamdtest

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }
