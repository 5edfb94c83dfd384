// Package loopback owns the test whether a host name means this machine without a look-up.
package loopback

import (
	"net/netip"
	"strings"
)

// Host reports whether name is a host name or address of this machine, without a port: localhost,
// or an address of the loopback network (RFC 1122, RFC 4291). All other names depend on the
// resolver, which an attacker may control.
func Host(name string) bool {
	if strings.EqualFold(strings.TrimSuffix(name, "."), "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil && address.IsLoopback()
}
