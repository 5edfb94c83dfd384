//go:build !linux

package s3test

import "syscall"

// diesWithParent ends a child whose test was killed, on Linux.
func diesWithParent() *syscall.SysProcAttr { return nil }
