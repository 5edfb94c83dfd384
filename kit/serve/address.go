package serve

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ClientAddress returns a function that returns the address of a request's client. It is the
// address of the connection, unless the connection comes from a trusted proxy. In that case it is
// the last address in X-Forwarded-For or Forwarded (RFC 7239) that is not a trusted proxy.
//
// A proxy sets one of the two headers and may pass on the other as the client sent it. If both are
// present and differ, or if one is malformed, the result is the zero Addr. A key that is bound to
// networks does not accept the zero Addr.
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

// Trace returns a function that returns the traceparent header of a request (W3C Trace Context). It
// returns "" unless the connection comes from a trusted network.
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

// client returns the last hop that is not a trusted proxy. hops are the addresses of the client and
// of its proxies, the client first. If a malformed hop is found first, the result is the zero Addr.
func client(hops []string, trusts func(netip.Addr) bool) netip.Addr {
	var a netip.Addr
	for _, hop := range slices.Backward(hops) {
		if a = hostAddress(hop); !a.IsValid() || !trusts(a) {
			return a
		}
	}
	return a
}

// elements splits header values at their commas. Several values form one list.
func elements(lines []string) []string {
	var out []string
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			out = append(out, strings.TrimSpace(part))
		}
	}
	return out
}

// hostAddress parses an address with or without a port. IPv6 may be in brackets. It returns the
// zero Addr for other texts.
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
