// Package egress owns outgoing connections to targets that users name, with a check of the address on the socket.
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

// The errors of a dial. Callers distinguish them with errors.Is.
var (
	// ErrBlocked means that the address or the port is not permitted.
	ErrBlocked = errors.New("the address is not permitted")
	// ErrName means that the host name has no address.
	ErrName = errors.New("the host name has no address")
	// ErrConnect means that no address of the host accepts a connection.
	ErrConnect = errors.New("the address accepts no connection")
	// ErrTLS means that the TLS handshake failed. The certificate may be wrong, the version too
	// old, or the server may not support TLS.
	ErrTLS = errors.New("the TLS handshake failed")
)

// Port is the only port that a Guard dials, unless Options have another in Dial or Trusted.
const Port = 443

// Options are the settings of an operator. The zero value is for production: it permits only public
// addresses and trusts the certificate authorities of the system.
type Options struct {
	// Allow lists networks that are permitted although they are not public.
	Allow []netip.Prefix
	// Deny lists networks that are refused, even if they are public or in Allow.
	Deny []netip.Prefix
	// Roots has the trusted certificate authorities. If it is nil, the authorities of the system
	// are trusted.
	Roots *x509.CertPool
	// Dial has the addresses of some host names. No DNS query is made for these names.
	Dial []Mapping
	// Trusted is the origin of a server that the operator configures, such as
	// https://login.example.com:8443. The server may have any address, and its port is permitted.
	// If the URL begins with http://, the address must be a loopback address. If Trusted is nil,
	// there is no such server.
	Trusted *url.URL
	// Resolver resolves host names. If it is nil, the resolver of the system is used.
	Resolver *net.Resolver
}

// Guard connects to permitted addresses and refuses all others. It is safe for concurrent use. A
// nil Guard has the zero Options.
type Guard struct {
	options Options
	ports   []uint16 // 443, and more ports in tests
	mapped  map[string]netip.AddrPort
	dialer  net.Dialer
	tls     *tls.Config
	trusted string     // host and port of Options.Trusted; empty without it
	known   net.Dialer // dials the trusted server
}

// New returns a Guard with these options.
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
	// nat64 is the well-known prefix of RFC 6052. Such an address reaches the IPv4 address in its
	// last 32 bits, so Permit checks the IPv4 address. A machine without IPv4 needs the prefix to
	// reach receivers that have only IPv4.
	nat64 = ssrf.IPv6NAT64Prefix
)

// Permit returns an error that wraps ErrBlocked if a must not be dialled. Options.Deny and then
// Options.Allow decide first. Other addresses must be public: in no registry of special-purpose
// addresses (RFC 6890), and not multicast. An IPv6 address must also be within 2000::/3.
//
// If a is an IPv4-mapped or NAT64 address, Permit checks the IPv4 address in it. It refuses the
// other forms that contain an IPv4 address (6to4, Teredo, ISATAP, IPv4-compatible).
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

// isatap reports whether a has the form of RFC 5214, section 6.1. In this form, an IPv4 address
// follows 00-00-5E-FE or 02-00-5E-FE, under any prefix.
func isatap(a netip.Addr) bool {
	b := a.As16()
	return a.Is6() && b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// control checks the address and the port of a socket before it connects. The socket then connects
// to the checked address, so a later change in DNS has no effect.
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

// authority returns the host and the port of a URL in the form in which http.Transport dials them.
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

// controlTrusted checks the address of a socket to the trusted server before it connects.
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

// target reports whether a mapping has exactly this address and port.
func (g *Guard) target(to netip.AddrPort) bool {
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	for _, mapped := range g.mapped {
		if mapped == to {
			return true
		}
	}
	return false
}

// DialContext connects to a host and port. It tries the permitted addresses of the host as in RFC
// 8305. The error wraps ErrBlocked, ErrName or ErrConnect.
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

// dialTLS connects and makes the TLS handshake. It has its own timeout, because http.Transport
// continues a dial after its request was cancelled.
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

// The limits of a transport.
const (
	dialTime  = 10 * time.Second
	maxHeader = 64 << 10
	// maxIdle and maxIdleEach are the maximum numbers of idle connections in total and to one
	// receiver.
	maxIdle, maxIdleEach = 1024, 128
	idleTime             = 90 * time.Second
)

// Transport returns a transport whose connections the Guard dials. It supports only HTTP/1.1, over
// TLS 1.2 or later with verified certificates. It uses no proxy, cookies or compression. The
// transport itself follows no redirects, but an http.Client around it would.
//
// The header of a response may have 64 KiB. The caller limits the time of a request and the number
// of bytes that it reads of a body. A response with the status 101 hands the connection to the
// caller. So the caller must close the body of a response below 200 without reading it.
//
// HTTP/2 is off, because net/http does not limit some costs that a receiver can cause. A receiver
// that sent GOAWAY on each stream caused thousands of connections for one request of 10 seconds.
// PING frames continue after the request.
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

// dialPlain connects for a request to http://. It returns ErrBlocked for all servers but the
// trusted server.
func (g *Guard) dialPlain(ctx context.Context, network, address string) (net.Conn, error) {
	if !g.trusts(address) || g.options.Trusted.Scheme != "http" {
		return nil, fmt.Errorf("%w: the URL is not https", ErrBlocked)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	return g.DialContext(ctx, network, address)
}
