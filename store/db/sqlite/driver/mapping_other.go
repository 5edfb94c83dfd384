//go:build !linux

package driver

import lib "modernc.org/sqlite/lib"

type mapping struct{}

// keepMapping is for Linux; elsewhere the library uses its own mapping.
func (c *Conn) keepMapping(uintptr, *lib.Tsqlite3_io_methods) error { return nil }

func (c *Conn) dropMapping() {}
