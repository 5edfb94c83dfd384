package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// nameserver is a DNS server on loopback. answers has a list of results for each host name. Each
// query for the name gets the next result of the list, and later queries get the last.
type nameserver struct {
	conn    net.PacketConn
	mu      sync.Mutex
	answers map[string][][]netip.Addr
	asked   map[string]int
}

func newNameserver(t *testing.T, answers map[string][][]netip.Addr) *nameserver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &nameserver{conn: conn, answers: answers, asked: map[string]int{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.serve()
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return n
}

func (n *nameserver) serve() {
	buffer := make([]byte, 4096)
	for {
		size, from, err := n.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		if reply, err := n.reply(buffer[:size]); err == nil {
			n.conn.WriteTo(reply, from)
		}
	}
}

func (n *nameserver) reply(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	addrs, known := n.next(strings.TrimSuffix(q.Name.String(), "."), q.Type)
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addrs {
		head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return m.Pack()
}

func (n *nameserver) next(name string, kind dnsmessage.Type) ([]netip.Addr, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list, known := n.answers[name]
	if !known {
		return nil, false
	}
	key := name + kind.String()
	i := min(n.asked[key], len(list)-1)
	n.asked[key]++
	return list[i], true
}

func (n *nameserver) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", n.conn.LocalAddr().String())
	}}
}

// door is a listener that counts the connections to its address.
type door struct {
	net.Listener
	came atomic.Int32
}

func listen(t *testing.T, address string) *door {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skip("this machine does not have the address of the test:", err)
	}
	d := &door{Listener: l}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			d.came.Add(1)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return d
}

func addrs(texts ...string) (list []netip.Addr) {
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

// TestRebinding checks that a Guard connects only to permitted addresses, whatever the DNS server
// returns. The only permitted address, 127.0.0.2, has a listener. Two refused addresses have
// listeners on the same port.
func TestRebinding(t *testing.T) {
	names := newNameserver(t, map[string][][]netip.Addr{
		"rebinds.test":  {addrs("127.0.0.2"), addrs("127.0.0.3")},
		"back.test":     {addrs("127.0.0.3"), addrs("127.0.0.2")},
		"both.test":     {addrs("127.0.0.3", "127.0.0.2")},
		"families.test": {addrs("::1", "127.0.0.2")},
		"mapped.test":   {addrs("::ffff:127.0.0.3")},
		"inside.test":   {addrs("127.0.0.3", "::1", "169.254.169.254", "10.0.0.1", "64:ff9b::7f00:3")},
		"nothing.test":  {nil},
	})
	receiver := listen(t, "127.0.0.2:0")
	_, port, _ := net.SplitHostPort(receiver.Addr().String())
	inside := []*door{listen(t, "127.0.0.3:"+port), listen(t, "[::1]:"+port)}
	g := New(Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, Resolver: names.resolver()})
	g.ports = []uint16{receiver.port()}

	for _, c := range []struct {
		host string
		want error
	}{
		{"rebinds.test", nil},
		{"rebinds.test", ErrBlocked},
		{"back.test", ErrBlocked},
		{"back.test", nil},
		{"both.test", nil},
		{"families.test", nil},
		{"mapped.test", ErrBlocked},
		{"inside.test", ErrBlocked},
		{"nothing.test", ErrName},
		{"unknown.test", ErrName},
	} {
		t.Run(c.host, func(t *testing.T) {
			before := receiver.came.Load()
			conn, err := g.DialContext(t.Context(), "tcp", net.JoinHostPort(c.host, port))
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if err != nil {
				return
			}
			io.ReadAll(conn) // waits until the receiver has counted the connection
			conn.Close()
			if came := receiver.came.Load() - before; came != 1 {
				t.Errorf("%d connections came to the receiver", came)
			}
		})
	}
	for _, d := range inside {
		if came := d.came.Load(); came != 0 {
			t.Errorf("%d connections came to %s", came, d.Addr())
		}
	}
	// DialContext makes one DNS query for a name. The answer to a second query could have another
	// address.
	names.mu.Lock()
	asked := names.asked["rebinds.test"+dnsmessage.TypeA.String()]
	names.mu.Unlock()
	if asked != 2 {
		t.Errorf("two dials asked %d times", asked)
	}
}

func (d *door) port() uint16 { return uint16(d.Addr().(*net.TCPAddr).Port) }

// TestNotations checks that a Guard refuses loopback addresses in every notation that some resolver
// accepts.
func TestNotations(t *testing.T) {
	inside := listen(t, "127.0.0.1:0")
	names := newNameserver(t, nil)
	for _, resolver := range []*net.Resolver{names.resolver(), nil} {
		g := New(Options{Resolver: resolver})
		g.ports = []uint16{inside.port()}
		for _, host := range []string{
			"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0x7f.1", "0177.0.0.1",
			"017700000001", "0177.1",
			"127.0.0.1.", "0", "0.0.0.0", "00.0.0.0", "::", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1",
			"64:ff9b::127.0.0.1",
			"0:0:0:0:0:0:0:1", "::1%lo", "localhost", "LOCALHOST",
		} {
			if resolver == nil && strings.HasSuffix(host, ".") {
				continue // the resolver would query a DNS server outside this machine
			}
			conn, err := g.DialContext(t.Context(), "tcp", net.JoinHostPort(host, strconv.Itoa(int(inside.port()))))
			if err == nil {
				conn.Close()
			}
			if !errors.Is(err, ErrBlocked) && !errors.Is(err, ErrName) {
				t.Errorf("%s: %v", host, err)
			}
		}
	}
	if came := inside.came.Load(); came != 0 {
		t.Errorf("%d connections arrived", came)
	}
}

func TestPorts(t *testing.T) {
	receiver := listen(t, "127.0.0.1:0")
	other := listen(t, "127.0.0.1:0")
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	to := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), receiver.port())
	g := New(Options{Allow: loopback, Dial: []Mapping{{"hook.test", to}, {"bare.test", netip.AddrPortFrom(to.Addr(), 0)}}})
	for address, want := range map[string]error{
		"hook.test:443": nil, "HOOK.test:443": nil,
		"127.0.0.1:" + strconv.Itoa(int(other.port())): ErrBlocked,
		"bare.test:" + strconv.Itoa(int(other.port())): ErrBlocked,
		"127.0.0.1:80": ErrBlocked, "1.1.1.1:80": ErrBlocked, "1.1.1.1:8443": ErrBlocked, "1.1.1.1:22": ErrBlocked,
		"1.1.1.1": ErrConnect,
	} {
		conn, err := g.DialContext(t.Context(), "tcp", address)
		if err == nil {
			conn.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", address, err, want)
		}
	}
	if _, err := g.DialContext(t.Context(), "udp", "1.1.1.1:443"); !errors.Is(err, ErrBlocked) {
		t.Errorf("UDP: %v", err)
	}
	// A mapping only replaces DNS. The address must still be permitted.
	g = New(Options{Dial: []Mapping{{"hook.test", to}}})
	if _, err := g.DialContext(t.Context(), "tcp", "hook.test:443"); !errors.Is(err, ErrBlocked) {
		t.Errorf("mapped to loopback: %v", err)
	}
	if other.came.Load() != 0 {
		t.Error("a connection arrived at another port")
	}
}

// TestTransport checks that the transport uses no proxy, cookies, HTTP/2 or plain HTTP, and follows
// no redirect.
func TestTransport(t *testing.T) {
	var inside atomic.Int32
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside.Add(1) }))
	defer private.Close()
	var seen atomic.Pointer[http.Request]
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r)
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		http.Redirect(w, r, private.URL, http.StatusTemporaryRedirect)
	}))
	receiver.EnableHTTP2 = true // the transport must not use it
	receiver.StartTLS()
	defer receiver.Close()
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY"} {
		t.Setenv(name, private.URL)
	}
	roots := x509.NewCertPool()
	roots.AddCert(receiver.Certificate())
	to := netip.MustParseAddrPort(receiver.Listener.Addr().String())
	transport := New(Options{
		Allow: []netip.Prefix{netip.PrefixFrom(to.Addr(), 32)}, Roots: roots, Dial: []Mapping{{"example.com", to}},
	}).Transport()
	defer transport.CloseIdleConnections()
	get := func(url string) (*http.Response, error) {
		request, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		return transport.RoundTrip(request)
	}
	for range 2 {
		answer, err := get("https://example.com/hook")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusTemporaryRedirect || answer.ProtoMajor != 1 ||
			answer.TLS.Version != tls.VersionTLS13 {
			t.Errorf("%s over %s and TLS %x", answer.Status, answer.Proto, answer.TLS.Version)
		}
		if r := seen.Load(); r.Header.Get("Accept-Encoding") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("it sent %v", r.Header)
		}
	}
	if _, err := get("http://example.com/hook"); !errors.Is(err, ErrBlocked) {
		t.Errorf("without TLS: %v", err)
	}
	if inside.Load() != 0 {
		t.Error("a request arrived at the private server")
	}
}

// TestTrusted checks requests to the trusted server of the operator. It may have any address, and
// only the port of its URL. Without TLS, its address must be a loopback address.
func TestTrusted(t *testing.T) {
	name := newNameserver(t, map[string][][]netip.Addr{
		"login.internal": {{netip.MustParseAddr("127.0.0.1")}}, "outside.internal": {{netip.MustParseAddr("192.0.2.1")}},
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "ok")
	}))
	t.Cleanup(server.Close)
	port := server.Listener.Addr().(*net.TCPAddr).Port
	at := func(scheme, host string, port int) string {
		return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(port))
	}
	other := listen(t, "127.0.0.1:0")
	for _, c := range []struct {
		trusted, asked string
		want           error
	}{
		{at("http", "127.0.0.1", port), at("http", "127.0.0.1", port), nil},
		{at("http", "login.internal", port), at("http", "login.internal", port), nil},
		{at("http", "login.internal", port), at("http", "127.0.0.1", port), ErrBlocked},
		{at("http", "login.internal", port), at("http", "login.internal", other.Addr().(*net.TCPAddr).Port), ErrBlocked},
		{at("http", "outside.internal", port), at("http", "outside.internal", port), ErrBlocked},
		{at("https", "login.internal", port), at("http", "login.internal", port), ErrBlocked},
		{at("https", "login.internal", port), at("https", "login.internal", port), ErrTLS},
		{at("https", "login.internal", port), "https://login.internal", ErrBlocked},
		{"", at("http", "127.0.0.1", port), ErrBlocked},
	} {
		o := Options{Resolver: name.resolver()}
		if c.trusted != "" {
			o.Trusted, _ = url.Parse(c.trusted)
		}
		transport := New(o).Transport()
		answer, err := (&http.Client{Transport: transport}).Get(c.asked)
		if err == nil {
			answer.Body.Close()
		}
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("trusted %q, asked %s: %v, want %v", c.trusted, c.asked, err, c.want)
		}
		transport.CloseIdleConnections()
	}
	if n := other.came.Load(); n > 0 {
		t.Errorf("%d connections to another port", n)
	}
}
