//go:build !unix

package systemd

import "net"

// Listener returns nil, because this system has no systemd.
func Listener(func(string) (string, bool)) (net.Listener, error) { return nil, nil }
