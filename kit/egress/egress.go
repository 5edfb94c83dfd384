// Package egress owns outgoing connections to targets that users name: only to addresses checked on the socket.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// Errors before a request could be sent; errors.Is tells them apart.
var (
	// ErrBlocked means that the address or the port is not permitted.
	ErrBlocked = errors.New("the address is not permitted")
	// ErrName means that the host name has no address.
	ErrName = errors.New("the host name has no address")
	// ErrConnect means that the address accepts no connection.
	ErrConnect = errors.New("the address accepts no connection")
	// ErrTLS means that the TLS handshake failed: a wrong certificate, an old
	// version, or no TLS at all.
	ErrTLS = errors.New("the TLS handshake failed")
)

// Port is the one port that is dialled, unless a Mapping names another.
const Port = 443

// Options are the choices of an operator. The zero value is for production:
// public addresses only, the system's certificates.
type Options struct {
	// Allow are networks that are permitted although they are not public.
	Allow []netip.Prefix
	// Deny are networks that are refused although they are public. Deny wins
	// over Allow.
	Deny []netip.Prefix
	// Roots are the trusted authorities; nil means the system's.
	Roots *x509.CertPool
	// Dial has addresses for host names, which are not looked up then.
	Dial []Mapping
	// Trusted is the origin of a server that the operator names, such as
	// https://login.example.com:8443: it may have any address and this port. If
	// it begins with http://, its addresses must be loopback addresses.
	Trusted *url.URL
	// Resolver looks host names up; nil is the system's.
	Resolver *net.Resolver
}

// Guard dials permitted addresses and refuses others. It is safe for concurrent
// use. A nil Guard permits what the zero Options permit.
type Guard struct {
	options Options
	ports   []uint16 // 443, and further ones in tests
	mapped  map[string]netip.AddrPort
	dialer  net.Dialer
	tls     *tls.Config
	trusted string     // host and port of Options.Trusted
	known   net.Dialer // dials it
}

// New returns a guard.
func New(o Options) *Guard {
	g := &Guard{options: o, ports: []uint16{Port}, mapped: map[string]netip.AddrPort{}}
	for _, m := range o.Dial {
		g.mapped[m.Host] = m.To
	}
	g.dialer = net.Dialer{Control: g.control, Resolver: o.Resolver}
	if o.Trusted != nil {
		g.trusted, g.known = authority(o.Trusted), net.Dialer{Control: g.controlTrusted, Resolver: o.Resolver}
	}
	g.tls = &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: o.Roots, NextProtos: []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(maxIdle),
	}
	return g
}

// Maps reports whether Options.Dial has an address for a host name.
func (g *Guard) Maps(host string) bool {
	if g == nil {
		return false
	}
	_, mapped := g.mapped[strings.ToLower(host)]
	return mapped
}

var (
	public = ssrf.New()
	// nat64 is the well-known prefix of RFC 6052. Its addresses lead to the
	// IPv4 address in their last 32 bits, so Permit checks that address. A
	// machine without IPv4 needs the prefix to reach receivers that have only
	// IPv4.
	nat64 = ssrf.IPv6NAT64Prefix
)

// Permit returns an error that is ErrBlocked unless a may be dialled. An
// address is public if no registry of special-purpose addresses (RFC 6890) has
// it and it is not multicast. An IPv6 address must also be within 2000::/3. If
// a is an IPv4-mapped or NAT64 address, Permit checks the IPv4 address in it.
// The other forms with an IPv4 address (6to4, Teredo, ISATAP, IPv4-compatible)
// are refused.
func (g *Guard) Permit(a netip.Addr) error {
	a = a.Unmap()
	within := a
	if nat64.Contains(a) {
		b := a.As16()
		within = netip.AddrFrom4([4]byte(b[12:]))
	}
	if g != nil {
		plain := a.WithZone("")
		has := func(p netip.Prefix) bool { return p.Contains(plain) || p.Contains(within) }
		if slices.ContainsFunc(g.options.Deny, has) {
			return fmt.Errorf("%w: %s is in a network that is denied", ErrBlocked, a)
		}
		if slices.ContainsFunc(g.options.Allow, has) {
			return nil
		}
	}
	if isatap(within) || public.SafeAddr(within) != nil {
		return fmt.Errorf("%w: %s", ErrBlocked, a)
	}
	return nil
}

// isatap reports whether a has the form of RFC 5214, section 6.1: an IPv4
// address after 00-00-5E-FE or 02-00-5E-FE, under any prefix.
func isatap(a netip.Addr) bool {
	b := a.As16()
	return a.Is6() && b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// control checks the address of a socket before it connects. Nothing comes
// between this check and the connect, so a later change of the name has no
// effect.
func (g *Guard) control(network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%w: %s %s", ErrBlocked, network, address)
	}
	if !slices.Contains(g.ports, to.Port()) && !g.target(to) {
		return fmt.Errorf("%w: port %d", ErrBlocked, to.Port())
	}
	return g.Permit(to.Addr())
}

// authority returns the host and the port of a URL as a transport dials them.
func authority(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// trusts reports whether address is the host and port of Options.Trusted.
func (g *Guard) trusts(address string) bool {
	return g.trusted != "" && strings.ToLower(address) == g.trusted
}

// controlTrusted checks the address of a socket to the trusted server.
func (g *Guard) controlTrusted(network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%w: %s %s", ErrBlocked, network, address)
	}
	if g.options.Trusted.Scheme == "http" && !to.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("%w: %s is not this machine, and the URL is not https", ErrBlocked, to.Addr())
	}
	return nil
}

// target reports whether a mapping names exactly this address and port.
func (g *Guard) target(to netip.AddrPort) bool {
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	for _, mapped := range g.mapped {
		if mapped == to {
			return true
		}
	}
	return false
}

// DialContext connects to a host and port. It tries the permitted addresses of
// a name as in RFC 8305.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	asked := address
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConnect, err)
	}
	if to, is := g.mapped[strings.ToLower(host)]; is {
		if to.Port() != 0 {
			port = fmt.Sprint(to.Port())
		}
		address = net.JoinHostPort(to.Addr().String(), port)
	}
	dialer := &g.dialer
	if g.trusts(asked) {
		dialer = &g.known
	}
	conn, err := dialer.DialContext(ctx, network, address)
	var name *net.DNSError
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, ErrBlocked):
		return nil, err
	case errors.As(err, &name):
		return nil, fmt.Errorf("%w: %w", ErrName, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrConnect, err)
}

// dialTLS connects and makes the TLS handshake. http.Transport continues a dial
// after its request was cancelled, so the time is bounded here too.
func (g *Guard) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	raw, err := g.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := g.tls.Clone()
	config.ServerName, _, _ = net.SplitHostPort(address)
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, fmt.Errorf("%w: %w", ErrTLS, err)
	}
	return conn, nil
}

// The bounds of a transport.
const (
	dialTime  = 10 * time.Second
	maxHeader = 64 << 10
	// Idle connections, to all receivers and to one.
	maxIdle, maxIdleEach = 1024, 128
	idleTime             = 90 * time.Second
)

// Transport returns a transport whose connections the guard dials. It speaks
// HTTP/1.1 over TLS 1.2 or later, fully verified, without proxy, redirects,
// cookies or compression. An http.Client around it would follow redirects. The
// transport bounds the head of an answer at 64 KiB. The caller bounds the time
// of a request and the bytes that it reads of a body. An answer below 200 may
// be 101, which hands the connection to the caller: its body must be closed
// unread.
//
// There is no HTTP/2, because net/http does not bound some costs that a
// receiver could cause. With GOAWAY for each stream, one request took thousands
// of connections in its 10 seconds. PING frames continue after the request.
func (g *Guard) Transport() *http.Transport {
	return &http.Transport{
		DialContext:            g.dialPlain,
		DialTLSContext:         g.dialTLS,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // no HTTP/2
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdleEach,
		IdleConnTimeout:        idleTime,
	}
}

// dialPlain refuses requests to http://, unless the operator has named the server.
func (g *Guard) dialPlain(ctx context.Context, network, address string) (net.Conn, error) {
	if !g.trusts(address) || g.options.Trusted.Scheme != "http" {
		return nil, fmt.Errorf("%w: the URL is not https", ErrBlocked)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	return g.DialContext(ctx, network, address)
}
