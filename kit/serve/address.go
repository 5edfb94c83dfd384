package serve

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ClientAddress returns a function that finds the address of a client. It is
// the address of the connection, unless the connection comes from a trusted
// proxy. Then it comes from X-Forwarded-For or Forwarded (RFC 7239): the last
// address that is not a trusted proxy.
//
// A proxy sets one of the two headers and may pass on the other as the client
// wrote it. If both are there and disagree, or if one is malformed, the client
// has no address. The result is then the zero Addr, which no key bound to
// networks accepts.
func ClientAddress(trusted []netip.Prefix) func(*http.Request) netip.Addr {
	trusts := func(a netip.Addr) bool {
		return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	return func(r *http.Request) netip.Addr {
		peer := hostAddress(r.RemoteAddr)
		if len(trusted) == 0 || !trusts(peer) {
			return peer
		}
		listed, hasListed := r.Header["X-Forwarded-For"]
		forwarded, hasForwarded := r.Header["Forwarded"]
		switch {
		case !hasListed && !hasForwarded:
			return peer
		case !hasForwarded:
			return client(elements(listed), trusts)
		case !hasListed:
			return client(forwardedFor(forwarded), trusts)
		}
		a, b := client(elements(listed), trusts), client(forwardedFor(forwarded), trusts)
		if a != b {
			return netip.Addr{}
		}
		return a
	}
}

// Trace returns a function that returns the traceparent header (W3C Trace Context) of a
// request whose connection comes from a trusted network, and "" for all others.
func Trace(trusted []netip.Prefix) func(*http.Request) string {
	return func(r *http.Request) string {
		parent := r.Header["Traceparent"]
		if len(parent) != 1 {
			return ""
		}
		peer := hostAddress(r.RemoteAddr)
		if !slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(peer) }) {
			return ""
		}
		return parent[0]
	}
}

// client walks the hops from the nearest to the farthest.
func client(hops []string, trusts func(netip.Addr) bool) netip.Addr {
	var a netip.Addr
	for _, hop := range slices.Backward(hops) {
		if a = hostAddress(hop); !a.IsValid() || !trusts(a) {
			return a
		}
	}
	return a
}

// elements splits header lines at their commas. Several lines form one list.
func elements(lines []string) []string {
	var out []string
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			out = append(out, strings.TrimSpace(part))
		}
	}
	return out
}

// hostAddress parses an address with or without a port. IPv6 may be in
// brackets.
func hostAddress(s string) netip.Addr {
	if withPort, err := netip.ParseAddrPort(s); err == nil {
		return withPort.Addr().Unmap().WithZone("")
	}
	if inner, opened := strings.CutPrefix(s, "["); opened {
		var closed bool
		if s, closed = strings.CutSuffix(inner, "]"); !closed || !strings.Contains(s, ":") {
			return netip.Addr{}
		}
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}
