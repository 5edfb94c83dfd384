//go:build !linux

package sqlite

type mapping struct{}

// keepMapping is for Linux; elsewhere the library maps what it maps by itself.
func (c *Conn) keepMapping() error { return nil }

func (c *Conn) dropMapping() {}
