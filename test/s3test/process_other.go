//go:build !linux

package s3test

import "syscall"

// diesWithParent ends a child process when its parent dies, on Linux only.
func diesWithParent() *syscall.SysProcAttr { return nil }
