package egress

import (
	"errors"
	"net/netip"
	"testing"
)

// special has the entries of the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890
// and its successors), and multicast (RFC 5771, RFC 4291). Some entries are globally reachable.
// These are services of networks, and not servers that receive webhooks. NAT64 is missing, because
// the IPv4 address in a NAT64 address decides.
var special = []struct {
	prefix, name string
	reachable    bool
}{
	{"0.0.0.0/8", "this network", false},
	{"0.0.0.0/32", "this host on this network", false},
	{"10.0.0.0/8", "private use", false},
	{"100.64.0.0/10", "shared address space", false},
	{"127.0.0.0/8", "loopback", false},
	{"169.254.0.0/16", "link local", false},
	{"172.16.0.0/12", "private use", false},
	{"192.0.0.0/24", "IETF protocol assignments", false},
	{"192.0.0.0/29", "IPv4 service continuity", false},
	{"192.0.0.8/32", "IPv4 dummy address", false},
	{"192.0.0.9/32", "port control protocol anycast", true},
	{"192.0.0.10/32", "TURN anycast", true},
	{"192.0.0.170/32", "NAT64/DNS64 discovery", false},
	{"192.0.0.171/32", "NAT64/DNS64 discovery", false},
	{"192.0.2.0/24", "documentation 1", false},
	{"192.31.196.0/24", "AS112-v4", true},
	{"192.52.193.0/24", "AMT", true},
	{"192.88.99.0/24", "6to4 relay anycast, deprecated", false},
	{"192.88.99.2/32", "6a44 relay anycast", false},
	{"192.168.0.0/16", "private use", false},
	{"192.175.48.0/24", "direct delegation AS112", true},
	{"198.18.0.0/15", "benchmarking", false},
	{"198.51.100.0/24", "documentation 2", false},
	{"203.0.113.0/24", "documentation 3", false},
	{"224.0.0.0/4", "multicast", false},
	{"240.0.0.0/4", "reserved", false},
	{"255.255.255.255/32", "limited broadcast", false},

	{"::1/128", "loopback", false},
	{"::/128", "unspecified", false},
	{"::/96", "IPv4-compatible, deprecated", false},
	{"::ffff:0:0:0/96", "IPv4-translated (SIIT)", false},
	{"64:ff9b:1::/48", "local translation", false},
	{"100::/64", "discard only", false},
	{"100:0:0:1::/64", "dummy prefix", false},
	{"2001::/23", "IETF protocol assignments", false},
	{"2001::/32", "Teredo", false},
	{"2001:1::1/128", "port control protocol anycast", true},
	{"2001:1::2/128", "TURN anycast", true},
	{"2001:1::3/128", "DNS-SD registration anycast", true},
	{"2001:2::/48", "benchmarking", false},
	{"2001:3::/32", "AMT", true},
	{"2001:4:112::/48", "AS112-v6", true},
	{"2001:10::/28", "ORCHID, deprecated", false},
	{"2001:20::/28", "ORCHIDv2", true},
	{"2001:30::/28", "drone remote identification", true},
	{"2001:db8::/32", "documentation", false},
	{"2002::/16", "6to4", false},
	{"2620:4f:8000::/48", "direct delegation AS112", true},
	{"3fff::/20", "documentation", false},
	{"5f00::/16", "segment routing", false},
	{"fc00::/7", "unique local", false},
	{"fe80::/10", "link local", false},
	{"fec0::/10", "site local, deprecated", false},
	{"ff00::/8", "multicast", false},
}

// specialPrefix returns the first prefix of special that contains a. It returns false if there is
// none.
func specialPrefix(a netip.Addr) (netip.Prefix, bool) {
	for _, row := range special {
		if p := netip.MustParsePrefix(row.prefix); p.Contains(a) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// last returns the highest address of a prefix.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// forms returns IPv6 addresses that contain the IPv4 address a, by the name of their form.
func forms(a netip.Addr) map[string]netip.Addr {
	v4 := a.As4()
	at := func(base string, from int) netip.Addr {
		b := netip.MustParseAddr(base).As16()
		copy(b[from:], v4[:])
		return netip.AddrFrom16(b)
	}
	teredo := netip.MustParseAddr("2001:0:cb00:7101::").As16()
	for i, octet := range v4 {
		teredo[12+i] = ^octet
	}
	return map[string]netip.Addr{
		"IPv4-mapped":            at("::ffff:0:0", 12),
		"IPv4-compatible":        at("::", 12),
		"IPv4-translated":        at("::ffff:0:0:0", 12),
		"NAT64":                  at("64:ff9b::", 12),
		"local NAT64":            at("64:ff9b:1::", 12),
		"6to4":                   at("2002::1", 2),
		"Teredo server":          at("2001::1", 4),
		"Teredo client":          netip.AddrFrom16(teredo),
		"ISATAP":                 at("2a00:1450:1:2:0:5efe::", 12),
		"ISATAP, universal bit":  at("2a00:1450:1:2:200:5efe::", 12),
		"link-local ISATAP":      at("fe80::5efe:0:0", 12),
		"unique local with IPv4": at("fd00::", 12),
	}
}

func TestRegistries(t *testing.T) {
	g := New(Options{})
	blocked := func(a netip.Addr, name string) {
		t.Helper()
		for who, g := range map[string]*Guard{"a guard": g, "nil": nil} {
			if err := g.Permit(a); !errors.Is(err, ErrBlocked) {
				t.Errorf("%s permits %s (%s): %v", who, a, name, err)
			}
		}
	}
	for _, row := range special {
		p := netip.MustParsePrefix(row.prefix)
		if p != p.Masked() {
			t.Fatalf("%s is no prefix", row.prefix)
		}
		for _, a := range []netip.Addr{p.Addr(), p.Addr().Next(), last(p), last(p).Prev()} {
			if !p.Contains(a) {
				continue
			}
			blocked(a, row.name)
			if a.Is6() {
				blocked(a.WithZone("eth0"), row.name)
				continue
			}
			for form, in := range forms(a) {
				blocked(in, row.name+" as "+form)
			}
		}
		// The addresses just outside a prefix are public, unless another row contains them.
		for _, a := range []netip.Addr{p.Addr().Prev(), last(p).Next()} {
			if _, is := specialPrefix(a); !a.IsValid() || is || a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
				continue
			}
			if err := g.Permit(a); err != nil {
				t.Errorf("%s, beside %s: %v", a, row.name, err)
			}
		}
	}
}

func TestPublicAddresses(t *testing.T) {
	g := New(Options{})
	for _, text := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
		"223.255.255.255",
		"2000::", "2001:200::", "2001:4860:4860::8888", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e", "2c0f:ffff::1",
		"2a00:1450:1:2:100:5efe:7f00:1", "2a00:1450:1:2:0:5eff:7f00:1",
	} {
		a := netip.MustParseAddr(text)
		if err := g.Permit(a); err != nil {
			t.Error(err)
		}
		if a.Is6() {
			continue
		}
		for form, in := range forms(a) {
			err := g.Permit(in)
			if leads := form == "IPv4-mapped" || form == "NAT64"; (err == nil) != leads {
				t.Errorf("%s of %s: %v, want permitted %v", form, a, err, leads)
			}
		}
	}
}

func TestAllowedAndDeniedNetworks(t *testing.T) {
	g := New(Options{
		Allow: []netip.Prefix{
			netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32"),
			netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("8.8.0.0/16"),
		},
		Deny: []netip.Prefix{
			netip.MustParsePrefix("8.8.8.0/24"), netip.MustParsePrefix("10.1.2.0/24"),
			netip.MustParsePrefix("2a00:1450::/32"),
		},
	})
	for text, want := range map[string]bool{
		"10.1.0.1": true, "10.1.2.1": false, "10.2.0.1": false, "::ffff:10.1.0.1": true, "::ffff:10.1.2.1": false,
		"64:ff9b::10.1.0.1": true, "64:ff9b::10.1.2.1": false,
		"fd00:1::1": true, "fd00:2::1": false, "fe80::1%eth0": true,
		"8.8.8.8": false, "8.8.7.7": true, "64:ff9b::8.8.8.8": false, "1.1.1.1": true,
		"2a00:1450::1": false, "2a00:1450::1%eth0": false, "2a00:1451::1": true,
	} {
		if err := g.Permit(netip.MustParseAddr(text)); (err == nil) != want {
			t.Errorf("%s: %v, want permitted %v", text, err, want)
		}
	}
}

// TestDenyAll checks that a Guard dials no address if IPv4 and IPv6 are denied as a whole, even if
// the address is allowed or mapped. docs/operating/backup.md starts a copy of an instance with this
// setting.
func TestDenyAll(t *testing.T) {
	receiver := listen(t, "127.0.0.1:0")
	to := netip.MustParseAddrPort(receiver.Addr().String())
	g := New(Options{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::/0")},
		Deny:  []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")},
		Dial:  []Mapping{{Host: "mapped.test", To: to}},
	})
	for _, text := range []string{
		"1.1.1.1", "127.0.0.1", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2a00:1450::1", "2a00:1450::1%eth0",
		"fd00:1::1",
	} {
		if err := g.Permit(netip.MustParseAddr(text)); !errors.Is(err, ErrBlocked) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := g.DialContext(t.Context(), "tcp", "mapped.test:443"); !errors.Is(err, ErrBlocked) ||
		receiver.came.Load() != 0 {
		t.Errorf("a mapped host: %v, %d came", err, receiver.came.Load())
	}
}

// FuzzPermit compares Permit with the table special, for any address.
func FuzzPermit(f *testing.F) {
	for _, row := range special {
		f.Add(netip.MustParsePrefix(row.prefix).Addr().AsSlice())
	}
	for _, form := range forms(netip.MustParseAddr("169.254.169.254")) {
		f.Add(form.AsSlice())
	}
	for _, form := range forms(netip.MustParseAddr("1.1.1.1")) {
		f.Add(form.AsSlice())
	}
	g := New(Options{})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := netip.AddrFromSlice(b)
		if !ok {
			t.Skip()
		}
		leads := a.Unmap()
		if b := leads.As16(); netip.MustParsePrefix("64:ff9b::/96").Contains(leads) {
			leads = netip.AddrFrom4([4]byte(b[12:]))
		}
		_, is := specialPrefix(leads)
		want := !is
		if leads.Is6() {
			b := leads.As16()
			marked := (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
			want = want && b[0]>>5 == 1 && !marked
		}
		if err := g.Permit(a); (err == nil) != want {
			t.Errorf("%s: %v, want permitted %v", a, err, want)
		}
	})
}
