//go:build !linux

package driver

import lib "modernc.org/sqlite/lib"

type mapping struct{}

// keepMapping does nothing. Only Linux has a shared mapping.
func (c *Conn) keepMapping(uintptr, *lib.Tsqlite3_io_methods) error { return nil }

func (c *Conn) dropMapping() {}
