package egress

import (
	"fmt"
	"net/netip"
	"strings"
)

// Mapping sets the address of a host name, in place of DNS. A Guard checks this address like any
// other. It dials a port other than 443 only for a mapping or for Options.Trusted.
type Mapping struct {
	// Host is a host name in lower case or an IP address.
	Host string
	// To is the address and the port to dial. With port 0, the port of the URL is dialled.
	To netip.AddrPort
}

// UnmarshalText parses HOST=ADDRESS or HOST=ADDRESS:PORT.
func (m *Mapping) UnmarshalText(b []byte) error {
	host, to, is := strings.Cut(strings.TrimSpace(string(b)), "=")
	target, err := netip.ParseAddrPort(to)
	if err != nil {
		var bare netip.Addr
		bare, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(to, "["), "]"))
		target = netip.AddrPortFrom(bare, 0)
	}
	if !is || host == "" || err != nil {
		return fmt.Errorf("%q is not a host and an address; accepted is HOST=ADDRESS or HOST=ADDRESS:PORT, such as hook.example.com=127.0.0.1:8443", b)
	}
	*m = Mapping{strings.ToLower(host), netip.AddrPortFrom(target.Addr().Unmap(), target.Port())}
	return nil
}

// MarshalText writes the form of UnmarshalText.
func (m Mapping) MarshalText() ([]byte, error) {
	if m.To.Port() == 0 {
		return []byte(m.Host + "=" + m.To.Addr().String()), nil
	}
	return []byte(m.Host + "=" + m.To.String()), nil
}
