package serve

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"kartei/test/leaktest"
)

// startAt starts a server at an address. The server ends with the test.
func startAt(t *testing.T, address string) *Server {
	t.Helper()
	s, err := Listen(address, limits)
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) }))
	t.Cleanup(func() { s.Shutdown(context.Background()) })
	return s
}

// families returns the loopback addresses that this machine has.
func families(t *testing.T) (all []string) {
	t.Helper()
	for _, ip := range []string{"127.0.0.1", "::1"} {
		if l, err := net.Listen("tcp", net.JoinHostPort(ip, "0")); err == nil {
			l.Close()
			all = append(all, ip)
		}
	}
	return all
}

// TestLocalhost checks that a server on localhost accepts IPv4 and IPv6 on one port, and that its
// URL has the host localhost. After Shutdown, the port must be free in both families.
func TestLocalhost(t *testing.T) {
	t.Cleanup(func() { leaktest.None(t) })
	s := startAt(t, "localhost:0")
	port, ok := strings.CutPrefix(s.URL(), "http://localhost:")
	if !ok {
		t.Fatalf("the address is %s", s.URL())
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(host string) {
		t.Helper()
		got, err := client.Get("http://" + net.JoinHostPort(host, port))
		if err != nil {
			t.Error(err)
			return
		}
		defer got.Body.Close()
		from, _ := io.ReadAll(got.Body)
		if ip := net.ParseIP(host); ip != nil && !hostAddress(string(from)).IsLoopback() ||
			ip != nil && (ip.To4() != nil) != hostAddress(string(from)).Is4() {
			t.Errorf("a call to %s came from %s", host, from)
		}
	}
	ask("localhost")
	for _, ip := range families(t) {
		ask(ip)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	for _, ip := range families(t) {
		l, err := net.Listen("tcp", net.JoinHostPort(ip, port))
		if err != nil {
			t.Errorf("after the end: %v", err)
			continue
		}
		l.Close()
	}
}

// TestLocalhostTaken checks that Listen fails if another program uses the port in only one family.
// A browser that tries this family first would reach the other program.
func TestLocalhostTaken(t *testing.T) {
	for _, ip := range families(t) {
		other, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(other.Addr().String())
		if s, err := Listen("localhost:"+port, limits); err == nil ||
			!strings.Contains(err.Error(), "another program listens on localhost:"+port) {
			t.Errorf("with %s taken: %v, %v", ip, s, err)
		}
		other.Close()
	}
}

// TestLocalhostNeverServed checks that Shutdown frees the port of a server that never called Serve.
func TestLocalhostNeverServed(t *testing.T) {
	t.Cleanup(func() { leaktest.None(t) })
	s, err := Listen("localhost:0", limits)
	if err != nil {
		t.Fatal(err)
	}
	address := s.Addr().String()
	waiting, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
}
