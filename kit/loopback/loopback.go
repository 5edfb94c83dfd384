// Package loopback owns which host names mean this machine by themselves.
package loopback

import (
	"net/netip"
	"strings"
)

// Host reports whether a host, without its port, is this machine: localhost, or an address
// of the loopback network (RFC 1122, RFC 4291). Other names depend on the resolver, which an
// attacker may control.
func Host(name string) bool {
	if strings.EqualFold(strings.TrimSuffix(name, "."), "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil && address.IsLoopback()
}
