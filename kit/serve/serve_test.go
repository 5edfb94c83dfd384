package serve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/test/certtest"
	"kartei/test/waittest"
)

// limits are higher than any test reaches, even on a busy machine. Each test lowers the limit that
// it tests.
var limits = Options{
	ReadHeader: time.Hour, Body: time.Hour, Write: time.Hour, Idle: time.Hour,
	MaxHeaderBytes: 8 << 10, Connections: 8, PerAddress: 8, Logger: slog.New(slog.DiscardHandler),
}

func start(t *testing.T, o Options, h http.HandlerFunc) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(h)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // Connections that a test holds open must not delay Shutdown.
		s.Shutdown(ctx)
	})
	return s
}

func dial(t *testing.T, s *Server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.bound.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	// This is longer than any limit in the tests. If the server lacks the limit, the test fails.
	c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// closed discards the bytes of a connection until the server closes the connection. It fails the
// test if the connection stays open.
func closed(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection stayed open")
	}
}

func TestSlowHeadIsCutOff(t *testing.T) {
	o := limits
	o.ReadHeader = 100 * time.Millisecond
	s := start(t, o, func(http.ResponseWriter, *http.Request) { t.Error("a call was made of half a head") })
	c := dial(t, s)
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\nX-A: ")
	closed(t, c)
}

func TestSlowBodyIsCutOff(t *testing.T) {
	o := limits
	o.Body = 200 * time.Millisecond
	read := make(chan error, 1)
	s := start(t, o, func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		read <- err
		w.WriteHeader(http.StatusBadRequest)
	})
	c := dial(t, s)
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{")
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the body ended with %v", err)
	}
	closed(t, c)
}

func TestSlowReaderIsCutOff(t *testing.T) {
	o := limits
	o.Write = 400 * time.Millisecond
	written := make(chan error, 1)
	s := start(t, o, func(w http.ResponseWriter, r *http.Request) {
		block := make([]byte, 1<<20)
		for {
			if _, err := w.Write(block); err != nil {
				written <- err
				return
			}
		}
	})
	c := dial(t, s)
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case err := <-written:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("writing ended with %v", err)
		}
	case <-time.After(waittest.Bound):
		t.Fatal("the answer was kept for a client that does not read")
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	o := limits
	o.Idle = 100 * time.Millisecond
	s := start(t, o, func(http.ResponseWriter, *http.Request) {})
	c := dial(t, s)
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
		t.Fatal(err)
	}
	closed(t, c)
}

func TestHugeHeadIsRefused(t *testing.T) {
	s := start(t, limits, func(http.ResponseWriter, *http.Request) { t.Error("a call was made of it") })
	c := dial(t, s)
	go fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\nX-A: "+strings.Repeat("a", 64<<10)+"\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil && answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Fatalf("status %d", answer.StatusCode)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	o := limits
	o.Connections, o.PerAddress = 2, 0
	s := start(t, o, func(http.ResponseWriter, *http.Request) {})
	get := func(c net.Conn) error {
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		_, err := http.ReadResponse(bufio.NewReader(c), nil)
		return err
	}
	first, second, third := dial(t, s), dial(t, s), dial(t, s)
	if err := errors.Join(get(first), get(second)); err != nil {
		t.Fatal(err)
	}
	third.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if err := get(third); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a third connection was served beside two: %v", err)
	}
	first.Close()
	third.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := http.ReadResponse(bufio.NewReader(third), nil); err != nil {
		t.Fatalf("the third was not served after the first had gone: %v", err)
	}
}

func TestConnectionsPerAddress(t *testing.T) {
	o := limits
	o.PerAddress = 2
	served := func(o Options) int {
		s := start(t, o, func(http.ResponseWriter, *http.Request) {})
		n := 0
		for range 5 {
			c := dial(t, s)
			fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			if _, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
				n++
			}
		}
		return n
	}
	if n := served(o); n != 2 {
		t.Errorf("%d of 5 connections of one address were served, want 2", n)
	}
	o.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	if n := served(o); n != 5 {
		t.Errorf("%d of 5 connections of a trusted proxy were served, want 5", n)
	}
}

func TestShutdownFinishesCallsInFlight(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	s := start(t, limits, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-leave
		fmt.Fprint(w, "done")
	})
	answer := make(chan string, 1)
	go func() {
		r, err := http.Get(s.URL())
		if err != nil {
			answer <- err.Error()
			return
		}
		b, _ := io.ReadAll(r.Body)
		answer <- string(b)
	}()
	<-entered
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(context.Background()) }()
	<-s.done // the listener is closed now
	close(leave)
	if got := <-answer; got != "done" {
		t.Fatalf("the call in flight got %q", got)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestShutdownIsBounded(t *testing.T) {
	entered := make(chan struct{})
	s := start(t, limits, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	})
	go http.Get(s.URL())
	<-entered
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Shutdown: %v", err)
	}
}

// pair writes a certificate with this serial number and its key to files in dir. The certificate
// ends in an hour.
func pair(t *testing.T, dir string, serial int64) (certFile, keyFile string) {
	t.Helper()
	return pairUntil(t, dir, serial, time.Now().Add(time.Hour))
}

// pairUntil writes a certificate that ends at the time end, and its key, to files in dir.
func pairUntil(t *testing.T, dir string, serial int64, end time.Time) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile = certtest.Write(t, dir, "localhost", serial, end)
	for _, path := range []string{certFile, keyFile} {
		// Some file systems store times with a low resolution, so the test sets the times.
		at := time.Unix(1_700_000_000+serial*10, 0)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := pair(t, dir, 1)
	now := clock.NewFake(time.Unix(1_800_000_000, 0))
	var log bytes.Buffer
	cert, err := LoadCertificate(certFile, keyFile, now, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	o := limits
	o.Certificate = cert
	s := start(t, o, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) })
	serial := func() int64 {
		t.Helper()
		now.Advance(checkInterval)
		c, err := tls.Dial("tcp", s.bound.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Fatalf("first certificate: %d", got)
	}
	pair(t, dir, 2)
	if got := serial(); got != 2 {
		t.Fatalf("after a renewal: %d", got)
	}
	if err := os.WriteFile(certFile, []byte("half a certif"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 2 {
		t.Fatalf("with a broken file: %d", got)
	}
	serial()
	if n := strings.Count(log.String(), "cannot be used"); n != 1 {
		t.Fatalf("the broken file was said %d times:\n%s", n, &log)
	}
	pair(t, dir, 3)
	if got := serial(); got != 3 {
		t.Fatalf("after the repair: %d", got)
	}

	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true,
	}}
	defer client.CloseIdleConnections()
	r, err := client.Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, _ := io.ReadAll(r.Body); string(b) != "HTTP/2.0" {
		t.Fatalf("protocol %s", b)
	}
	if _, err := tls.Dial("tcp", s.bound.Addr().String(), &tls.Config{
		InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11,
	}); err == nil {
		t.Fatal("TLS 1.1 was accepted")
	}
}

// TestCertificateEnds checks the log before the end of a certificate, after the end and after a
// renewal. The log must warn once a day, and say when clients refuse the certificate.
// TestReloadOfCertificate checks that Reload reads files again even if their times and sizes are the
// same, and logs each result. The old certificate stays in use if the files cannot be used.
func TestReloadOfCertificate(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := pair(t, dir, 1)
	var log bytes.Buffer
	cert, err := LoadCertificate(certFile, keyFile, clock.NewFake(time.Unix(1_700_000_000, 0)),
		slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	cert.Reload()
	if n := strings.Count(log.String(), "certificate: read again"); n != 1 {
		t.Errorf("unchanged files were read %d times:\n%s", n, &log)
	}
	if err := errors.Join(os.Remove(certFile), os.Remove(keyFile)); err != nil {
		t.Fatal(err)
	}
	cert.Reload()
	if n := strings.Count(log.String(), "the old certificate stays in use"); n != 1 || cert.current.Load() == nil {
		t.Errorf("missing files were said %d times:\n%s", n, &log)
	}
}

func TestCertificateEnds(t *testing.T) {
	dir := t.TempDir()
	now := clock.NewFake(time.Unix(1_800_000_000, 0))
	end := now.Now().Add(9 * 24 * time.Hour)
	certFile, keyFile := pairUntil(t, dir, 1, end)
	var log bytes.Buffer
	cert, err := LoadCertificate(certFile, keyFile, now, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after               time.Duration
		soon, ended, reread int
	}{
		{0, 0, 0, 0},
		{24 * time.Hour, 0, 0, 0}, // eight days are left
		{25 * time.Hour, 1, 0, 0}, // less than seven
		{time.Hour, 1, 0, 0},
		{23 * time.Hour, 2, 0, 0},
		{6 * 24 * time.Hour, 2, 1, 0},
		{time.Minute, 2, 1, 0},
	} {
		now.Advance(step.after)
		if _, err := cert.get(nil); err != nil {
			t.Fatal(err)
		}
		if soon, ended := strings.Count(log.String(),
			"level=WARN msg=\"certificate: it ends soon"), strings.Count(log.String(),
			"level=ERROR msg=\"certificate: it has ended"); soon != step.soon || ended != step.ended {
			t.Errorf("%s before the end: told %d times that it ends, and %d times that it has ended\n%s", end.Sub(now.Now()),
				soon, ended, &log)
		}
	}
	log.Reset()
	renewed := now.Now().Add(90 * 24 * time.Hour).Truncate(time.Second)
	pairUntil(t, dir, 2, renewed)
	now.Advance(checkInterval)
	if _, err := cert.get(nil); err != nil || !cert.NotAfter().Equal(renewed) || strings.Contains(log.String(), "ended") {
		t.Errorf("after a renewal: until %s, want %s: %v\n%s", cert.NotAfter(), renewed, err, &log)
	}
}

func TestCertificateMustFit(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	certFile, _ := pair(t, a, 1)
	_, keyFile := pair(t, b, 1)
	if _, err := LoadCertificate(certFile, keyFile, clock.System, slog.Default()); err == nil {
		t.Error("a key of another certificate was accepted")
	}
	if _, err := LoadCertificate(certFile, filepath.Join(a, "none"), clock.System, slog.Default()); err == nil {
		t.Error("a missing key was accepted")
	}
}

func TestURL(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:0": "http://127.0.0.1:", "[::1]:0": "http://[::1]:", ":0": "http://localhost:",
	} {
		s, err := Listen(address, limits)
		if err != nil {
			t.Logf("%s: %v", address, err) // a machine without IPv6
			continue
		}
		if !strings.HasPrefix(s.URL(), want) {
			t.Errorf("%s: %s, want %s...", address, s.URL(), want)
		}
		s.Shutdown(context.Background())
	}
}

func TestLogNamesNoClient(t *testing.T) {
	var log bytes.Buffer
	l := errorLog(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	l.Print("http: TLS handshake error from 192.0.2.7:4711: read tcp 10.0.0.1:443->192.0.2.7:4711: EOF")
	l.Print("http: TLS handshake error from [2001:db8::7]:4711: EOF")
	if s := log.String(); strings.Contains(s, "192.0.2.7") || strings.Contains(s, "2001:db8") ||
		!strings.Contains(s, "EOF") {
		t.Error(s)
	}
}

// TestStrictTransport checks that each response over TLS has Strict-Transport-Security. Without
// TLS, on localhost and without the setting, no response has it.
func TestStrictTransport(t *testing.T) {
	certFile, keyFile := pair(t, t.TempDir(), 1)
	cert, err := LoadCertificate(certFile, keyFile, clock.System, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true},
	}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		secure bool
		age    time.Duration
		host   string
		want   string
	}{
		{true, 8760 * time.Hour, "kartei.example", "max-age=31536000"},
		{true, 8760 * time.Hour, "kartei.example:8443", "max-age=31536000"},
		{true, 8760 * time.Hour, "localhost:8443", ""},
		{true, 0, "kartei.example", ""},
		{false, 8760 * time.Hour, "kartei.example", ""},
	} {
		o := limits
		o.StrictTransport = c.age
		if c.secure {
			o.Certificate = cert
		}
		s := start(t, o, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
		request, err := http.NewRequest("GET", s.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = c.host
		r, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if got := r.Header.Get("Strict-Transport-Security"); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}
