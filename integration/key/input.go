package key

import (
	"net/netip"
	"slices"
	"strings"

	"kartei/access"
	"kartei/kit/fault"
	"kartei/kit/input"
)

// scopesOf checks scopes and returns them sorted and without duplicates.
func scopesOf(f *input.Faults, field string, scopes []string) []string {
	if len(scopes) == 0 {
		f.Add(field, fault.Required, nil)
	}
	var clean []string
	for i, scope := range scopes {
		if scope = strings.TrimSpace(scope); !access.ValidScope(scope) {
			f.Add(input.Indexed(field, i), fault.NotInEnum, access.AllScopes())
			continue
		}
		clean = append(clean, scope)
	}
	slices.Sort(clean)
	return slices.Compact(clean)
}

// maxNetworks is the maximum number of networks of a key.
const maxNetworks = 50

// widestIPv4 and widestIPv6 are the shortest prefixes of a key's networks. A wider network would
// hardly restrict a key, because no network operator has so many addresses.
const (
	widestIPv4 = 8
	widestIPv6 = 16
)

// networksOf parses IPv4 and IPv6 addresses and CIDR networks. It returns networks without host
// bits, sorted and without duplicates.
func networksOf(f *input.Faults, field string, texts []string) []netip.Prefix {
	if len(texts) > maxNetworks {
		f.Add(field, fault.TooLong, fault.Items(maxNetworks))
		return nil
	}
	var nets []netip.Prefix
	for i, text := range texts {
		net, ok := parseNetwork(strings.TrimSpace(text))
		if !ok {
			f.Say(input.Indexed(field, i), fault.InvalidFormat,
				"Give an IP address or a network in CIDR notation, such as 192.0.2.7 or 2001:db8::/48.")
			continue
		}
		if net.Addr().Is4() && net.Bits() < widestIPv4 || net.Addr().Is6() && net.Bits() < widestIPv6 {
			f.Say(input.Indexed(field, i), fault.OutOfRange,
				"The network is too large: at most /8 for IPv4 and /16 for IPv6.")
			continue
		}
		nets = append(nets, net)
	}
	slices.SortFunc(nets, netip.Prefix.Compare)
	return slices.Compact(nets)
}

// parseNetwork parses an address or a network. An address becomes a network with one address. An
// IPv4-mapped IPv6 address becomes IPv4, as the addresses of callers do.
func parseNetwork(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(text); err == nil {
		if addr.Zone() != "" {
			return netip.Prefix{}, false
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	net, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	if net.Addr().Is4In6() {
		if net.Bits() < 96 {
			return netip.Prefix{}, false
		}
		net = netip.PrefixFrom(net.Addr().Unmap(), net.Bits()-96)
	}
	return net.Masked(), true
}
