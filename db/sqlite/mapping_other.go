//go:build !linux

package sqlite

type mapping struct{ methods uintptr }

// keepMapping is for Linux.
func (c *Conn) keepMapping() error { return nil }
