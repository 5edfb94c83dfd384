package dispatch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/egress"
)

// authority is a certificate authority for the receivers.
type authority struct {
	key  *ecdsa.PrivateKey
	root *x509.Certificate
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key, root, x509.NewCertPool()}
	a.pool.AddCert(root)
	return a
}

// issue returns a certificate that expires in an hour minus ended. A certificate with a large ended
// has already expired.
func (a *authority) issue(t *testing.T, ended time.Duration, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(time.Hour - ended),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.root, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// hook is the host name of the receivers.
const hook = "hook.example.com"

// bench is a Sender with the clock, the certificate authority and the secrets
// of its test.
type bench struct {
	*Sender
	clock *clock.Fake
	ca    *authority
	key   webhook.Secret
	old   webhook.Secret
}

// newBench returns a bench whose Sender connects to a receiver at address. A nil address means no
// receiver.
func newBench(t *testing.T, address net.Addr, ca *authority) *bench {
	t.Helper()
	o := egress.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Roots: ca.pool}
	if address != nil {
		o.Dial = []egress.Mapping{{Host: hook, To: netip.MustParseAddrPort(address.String())}}
	}
	b := &bench{clock: clock.NewFake(time.Now()), ca: ca, key: secret(t), old: secret(t)}
	b.Sender = NewSender(egress.New(o), b.clock)
	t.Cleanup(b.Close)
	return b
}

func (b *bench) message() Message {
	return Message{
		URL:     "https://" + hook + "/kartei",
		EventID: "evt_1",
		Body:    []byte(`{"object":"event","id":"evt_1"}`),
		Secrets: []webhook.Secret{b.key, b.old},
	}
}

func (b *bench) attempt(t *testing.T) Outcome {
	t.Helper()
	return b.Attempt(t.Context(), b.message())
}

// plain starts a receiver that accepts TLS connections and calls answer with each connection after
// the request. It returns a bench for the receiver.
func plain(t *testing.T, answer func(net.Conn)) *bench {
	t.Helper()
	ca := newAuthority(t)
	return newBench(t, serveTLS(t, &tls.Config{Certificates: []tls.Certificate{ca.issue(t, 0, hook)}}, func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			answer(c)
		}
	}), ca)
}

// serveTLS accepts TLS connections until the end of the test, and calls each with each connection.
func serveTLS(t *testing.T, config *tls.Config, each func(net.Conn)) net.Addr {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	return take(t, l, each)
}

func take(t *testing.T, l net.Listener, each func(net.Conn)) net.Addr {
	var ground sync.WaitGroup
	ground.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			ground.Go(func() {
				defer c.Close()
				stop := context.AfterFunc(t.Context(), func() { c.Close() })
				defer stop()
				each(c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); ground.Wait() })
	return l.Addr()
}

func TestDelivery(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			var got *http.Request
			var body []byte
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = r
				body, _ = io.ReadAll(r.Body)
				w.WriteHeader(http.StatusNoContent)
			}))
			ca := newAuthority(t)
			server.TLS = &tls.Config{
				Certificates: []tls.Certificate{ca.issue(t, 0, hook)},
				MinVersion:   version,
				MaxVersion:   version,
			}
			server.EnableHTTP2 = true // the client must not use HTTP/2
			var connections atomic.Int32
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					connections.Add(1)
				}
			}
			server.StartTLS()
			defer server.Close()
			b := newBench(t, server.Listener.Addr(), ca)
			m := b.message()
			const attempts = 10
			for range attempts {
				if o := b.attempt(t); !o.Succeeded() || o != (Outcome{Status: 204}) {
					t.Fatalf("%+v", o)
				}
			}
			// net/http keeps a connection only if the writer of the request ended within 50 ms.
			if n := connections.Load(); n == attempts {
				t.Errorf("%d attempts took %d connections", attempts, n)
			}
			if got.ProtoMajor != 1 || got.Method != "POST" || got.Host != hook || got.URL.Path != "/kartei" ||
				!bytes.Equal(body, m.Body) {
				t.Errorf("%s %s %s%s %q", got.Proto, got.Method, got.Host, got.URL, body)
			}
			for name, want := range map[string]string{
				"Content-Type": "application/json", "User-Agent": "Kartei-Webhooks/1.0", "Webhook-Id": "evt_1",
				"Webhook-Timestamp": strconv.FormatInt(b.clock.Now().Unix(), 10), "Content-Length": strconv.Itoa(len(m.Body)),
				"Webhook-Signature": got.Header.Get("Webhook-Signature"),
			} {
				if values := got.Header.Values(name); len(values) != 1 || values[0] != want {
					t.Errorf("%s: %q, want %q", name, values, want)
				}
				got.Header.Del(name)
			}
			if len(got.Header) != 0 {
				t.Errorf("besides it sent %v", got.Header)
			}
			for _, s := range m.Secrets {
				h := http.Header{}
				Sign(h, "evt_1", b.clock.Now(), body, m.Secrets...)
				if v, err := standardwebhooks.NewWebhook(s.Reveal()); err != nil || v.Verify(body, h) != nil {
					t.Error("a secret does not verify", err)
				}
			}
		})
	}
}

// TestAnswers checks that the status of a response decides the outcome. A malformed response is a
// protocol error, and the sender follows no redirect.
func TestAnswers(t *testing.T) {
	endless := strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 100)
	for name, c := range map[string]struct {
		answer string
		want   Outcome
	}{
		"200":                   {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Outcome{Status: 200}},
		"299, until the end":    {"HTTP/1.1 299 Yes\r\n\r\nok", Outcome{Status: 299}},
		"HTTP/1.0":              {"HTTP/1.0 202 Accepted\r\n\r\n", Outcome{Status: 202}},
		"closed after the head": {"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n", Outcome{Status: 200}},
		"a broken chunk":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", Outcome{Status: 200}},
		"a wrong encoding": {
			"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
			Outcome{Status: 200},
		},
		"hints before": {
			"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
			Outcome{Status: 200},
		},
		"300": {
			"HTTP/1.1 300 Multiple Choices\r\nContent-Length: 0\r\n\r\n",
			Outcome{Status: 300, Code: webhook.HTTPStatus},
		},
		"a redirect inwards": {
			"HTTP/1.1 307 Temporary Redirect\r\nLocation: https://127.0.0.1/\r\nContent-Length: 0\r\n\r\n",
			Outcome{Status: 307, Code: webhook.HTTPStatus},
		},
		"a redirect to itself": {
			"HTTP/1.1 302 Found\r\nLocation: /kartei\r\nContent-Length: 0\r\n\r\n",
			Outcome{Status: 302, Code: webhook.HTTPStatus},
		},
		"a redirect without a place": {
			"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
			Outcome{Status: 302, Code: webhook.HTTPStatus},
		},
		"a redirect to nonsense": {
			"HTTP/1.1 301 Moved\r\nLocation: https://[::1\r\nContent-Length: 0\r\n\r\n",
			Outcome{Status: 301, Code: webhook.HTTPStatus},
		},
		"401": {
			"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
			Outcome{Status: 401, Code: webhook.HTTPStatus},
		},
		"410": {
			"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n",
			Outcome{Status: 410, Code: webhook.HTTPStatus},
		},
		"500": {
			"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
			Outcome{Status: 500, Code: webhook.HTTPStatus},
		},
		"a protocol of its own": {
			"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
			Outcome{Status: 101, Code: webhook.HTTPStatus},
		},
		"nothing":                    {"", Outcome{Code: webhook.ProtocolError}},
		"half a head":                {"HTTP/1.1 200 OK\r\nContent-Le", Outcome{Code: webhook.ProtocolError}},
		"not HTTP":                   {"220 mail.example.com ESMTP\r\n", Outcome{Code: webhook.ProtocolError}},
		"a status of letters":        {"HTTP/1.1 abc OK\r\n\r\n", Outcome{Code: webhook.ProtocolError}},
		"a status below 100":         {"HTTP/1.1 099 OK\r\n\r\n", Outcome{Code: webhook.ProtocolError}},
		"a status that there is not": {"HTTP/1.1 -20 OK\r\n\r\n", Outcome{Code: webhook.ProtocolError}},
		"a head that is malformed":   {"HTTP/1.1 200 OK\r\n: a\r\nb\r\n\r\n", Outcome{Code: webhook.ProtocolError}},
		"two lengths": {
			"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok",
			Outcome{Code: webhook.ProtocolError},
		},
		"a length below 0": {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", Outcome{Code: webhook.ProtocolError}},
		"a head of 100 KB": {"HTTP/1.1 200 OK\r\n" + endless + "\r\n", Outcome{Code: webhook.ProtocolError}},
		"a line of 100 KB": {
			"HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 100<<10) + "\r\n\r\n",
			Outcome{Code: webhook.ProtocolError},
		},
		"a status line of 100 KB": {
			"HTTP/1.1 200 " + strings.Repeat("a", 100<<10) + "\r\n\r\n",
			Outcome{Code: webhook.ProtocolError},
		},
		"a flood of 1xx": {
			strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n", 10_000),
			Outcome{Code: webhook.ProtocolError},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var connections atomic.Int32
			b := plain(t, func(conn net.Conn) {
				connections.Add(1)
				io.WriteString(conn, c.answer)
			})
			o := b.attempt(t)
			if o != c.want || o.Succeeded() != (c.want.Code == webhook.NoError) || o.Gone() != (c.want.Status == 410) {
				t.Errorf("%+v, want %+v", o, c.want)
			}
			if n := connections.Load(); n != 1 {
				t.Errorf("one attempt came %d times", n)
			}
		})
	}
}

// begin starts an attempt. The returned channel receives its outcome.
func (b *bench) begin(t *testing.T) <-chan Outcome {
	done := make(chan Outcome, 1)
	go func() { done <- b.attempt(t) }()
	return done
}

// TestTime checks that an attempt ends after 10 s, no matter which of its steps hangs.
func TestTime(t *testing.T) {
	quiet := func(c net.Conn) { io.Copy(io.Discard, c) }
	for name, receiver := range map[string]func(t *testing.T, ca *authority, reached chan<- struct{}) net.Addr{
		"no handshake": func(t *testing.T, _ *authority, reached chan<- struct{}) net.Addr {
			return serveTCP(t, func(c net.Conn) { reached <- struct{}{}; quiet(c) })
		},
		"no head": func(t *testing.T, ca *authority, reached chan<- struct{}) net.Addr {
			return serveTLS(t, &tls.Config{Certificates: []tls.Certificate{ca.issue(t, 0, hook)}}, func(c net.Conn) {
				http.ReadRequest(bufio.NewReader(c))
				reached <- struct{}{}
				quiet(c)
			})
		},
		"half a head": func(t *testing.T, ca *authority, reached chan<- struct{}) net.Addr {
			return serveTLS(t, &tls.Config{Certificates: []tls.Certificate{ca.issue(t, 0, hook)}}, func(c net.Conn) {
				http.ReadRequest(bufio.NewReader(c))
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Le")
				reached <- struct{}{}
				quiet(c)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ca, reached := newAuthority(t), make(chan struct{}, 1)
			b := newBench(t, receiver(t, ca, reached), ca)
			done := b.begin(t)
			<-reached
			b.clock.Advance(attemptTime - time.Nanosecond)
			select {
			case o := <-done:
				t.Fatalf("%+v before its time", o)
			default:
			}
			b.clock.Advance(time.Nanosecond)
			if o := <-done; o != (Outcome{Code: webhook.Timeout, Took: attemptTime}) {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestTrickle checks that a receiver cannot extend an attempt by writing one byte of its response
// each second.
func TestTrickle(t *testing.T) {
	second, written := make(chan struct{}), make(chan struct{})
	b := plain(t, func(c net.Conn) {
		written <- struct{}{}
		for _, char := range []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") {
			<-second
			if _, err := c.Write([]byte{char}); err != nil {
				return
			}
			written <- struct{}{}
		}
	})
	done := b.begin(t)
	<-written
	for range 9 {
		b.clock.Advance(time.Second)
		second <- struct{}{}
		<-written
	}
	b.clock.Advance(time.Second)
	if o := <-done; o != (Outcome{Code: webhook.Timeout, Took: attemptTime}) {
		t.Errorf("%+v", o)
	}
	close(second)
	go func() {
		for range written {
		}
	}()
}

// TestLongBodies checks that the sender reads a bounded part of a long response body. The status
// 200 still counts as success.
func TestLongBodies(t *testing.T) {
	// After status 101, the connection belongs to the sender. The timeouts of net/http then do not
	// end a read.
	t.Run("another protocol that says nothing", func(t *testing.T) {
		end := make(chan struct{})
		b := plain(t, func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
			io.Copy(io.Discard, c)
			close(end)
		})
		if o := b.attempt(t); o != (Outcome{Status: 101, Code: webhook.HTTPStatus}) {
			t.Errorf("%+v", o)
		}
		<-end
	})
	t.Run("a byte now and then", func(t *testing.T) {
		answered, end := make(chan struct{}), make(chan struct{})
		b := plain(t, func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\na")
			close(answered)
			io.Copy(io.Discard, c) // ends when the sender closes the connection
			close(end)
		})
		done := b.begin(t)
		<-answered
		b.clock.Await(2)
		b.clock.Advance(drainTime)
		if o := <-done; !o.Succeeded() || o.Status != 200 {
			t.Errorf("%+v", o)
		}
		<-end
	})
	const long = 100 << 20
	t.Run("100 MB", func(t *testing.T) {
		sent := make(chan int64, 1)
		b := plain(t, func(c net.Conn) {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", long)
			n, _ := io.Copy(c, io.LimitReader(zeroes{}, long))
			sent <- n
		})
		if o := b.attempt(t); o != (Outcome{Status: 200}) {
			t.Errorf("%+v", o)
		}
		if n := <-sent; n > long/5 { // the receiver could write at most the size of the socket buffers
			t.Errorf("the receiver got rid of %d bytes", n)
		}
	})
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { return len(p), nil }

// serveTCP accepts connections without TLS until the end of the test, and calls each with each
// connection.
func serveTCP(t *testing.T, each func(net.Conn)) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return take(t, l, each)
}

func TestTLS(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	answer := func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	}
	good := ca.issue(t, 0, hook)
	for name, c := range map[string]struct {
		config *tls.Config
		want   Outcome
	}{
		"TLS 1.2": {
			&tls.Config{Certificates: []tls.Certificate{good}, MaxVersion: tls.VersionTLS12},
			Outcome{Status: 200},
		},
		"TLS 1.3": {
			&tls.Config{Certificates: []tls.Certificate{good}, MinVersion: tls.VersionTLS13},
			Outcome{Status: 200},
		},
		"TLS 1.1": {
			&tls.Config{Certificates: []tls.Certificate{good}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
			Outcome{Code: webhook.TLSError},
		},
		"TLS 1.0": {
			&tls.Config{Certificates: []tls.Certificate{good}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10},
			Outcome{Code: webhook.TLSError},
		},
		"another name": {
			&tls.Config{Certificates: []tls.Certificate{ca.issue(t, 0, "other.example.com")}},
			Outcome{Code: webhook.TLSError},
		},
		"a name above": {
			&tls.Config{Certificates: []tls.Certificate{ca.issue(t, 0, "example.com", "*.hook.example.com")}},
			Outcome{Code: webhook.TLSError},
		},
		"any name": {
			&tls.Config{Certificates: []tls.Certificate{ca.issue(t, 0, "*.example.com")}},
			Outcome{Status: 200},
		},
		"expired": {
			&tls.Config{Certificates: []tls.Certificate{ca.issue(t, 2*time.Hour, hook)}},
			Outcome{Code: webhook.TLSError},
		},
		"a stranger's": {
			&tls.Config{Certificates: []tls.Certificate{stranger.issue(t, 0, hook)}},
			Outcome{Code: webhook.TLSError},
		},
		"wants a certificate": {
			&tls.Config{Certificates: []tls.Certificate{good}, ClientAuth: tls.RequireAnyClientCert},
			Outcome{Code: webhook.TLSError},
		},
		"wants one, by TLS 1.2": {
			&tls.Config{
				Certificates: []tls.Certificate{good},
				ClientAuth:   tls.RequireAnyClientCert,
				MaxVersion:   tls.VersionTLS12,
			},
			Outcome{Code: webhook.TLSError},
		},
		"another protocol": {
			&tls.Config{Certificates: []tls.Certificate{good}, NextProtos: []string{"smtp"}},
			Outcome{Code: webhook.TLSError},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, serveTLS(t, c.config, answer), ca)
			if o := b.attempt(t); o != c.want {
				t.Errorf("%+v, want %+v", o, c.want)
			}
		})
	}
	for name, each := range map[string]func(net.Conn){
		"no TLS":       func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") },
		"closed early": func(c net.Conn) { c.Read(make([]byte, 100)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, serveTCP(t, each), ca)
			if o := b.attempt(t); o != (Outcome{Code: webhook.TLSError}) {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	ca := newAuthority(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	b := newBench(t, l.Addr(), ca)
	if o := b.attempt(t); o != (Outcome{Code: webhook.ConnectError}) {
		t.Errorf("nobody listens: %+v", o)
	}
	away := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, io.ErrUnexpectedEOF
	}}
	b.Sender = NewSender(egress.New(egress.Options{Resolver: away}), b.clock)
	if o := b.attempt(t); o != (Outcome{Code: webhook.NameError}) {
		t.Errorf("no DNS: %+v", o)
	}
	m := b.message()
	for _, u := range []string{
		"https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/", "http://1.1.1.1/", "https://1.1.1.1:22/",
	} {
		m.URL = u
		if o := b.Attempt(t.Context(), m); o != (Outcome{Code: webhook.BlockedAddress}) {
			t.Errorf("%s: %+v", u, o)
		}
	}
	m.URL = "https://a b/"
	if o := b.Attempt(t.Context(), m); o != (Outcome{Code: webhook.ProtocolError}) {
		t.Errorf("no URL: %+v", o)
	}
}

// TestInterrupted checks that an attempt is Interrupted if its caller cancels the context.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := plain(t, func(c net.Conn) {
		cancel()
		io.Copy(io.Discard, c)
	})
	if o := b.Attempt(ctx, b.message()); !o.Interrupted || o.Succeeded() {
		t.Errorf("%+v", o)
	}
}

// TestKeptConnectionIsClosed checks a receiver that closes a kept connection when the next delivery
// arrives. The delivery then uses a new connection.
func TestKeptConnectionIsClosed(t *testing.T) {
	ca := newAuthority(t)
	var closed atomic.Bool
	b := newBench(t, serveTLS(t, &tls.Config{Certificates: []tls.Certificate{ca.issue(t, 0, hook)}}, func(c net.Conn) {
		r := bufio.NewReader(c)
		for n := 0; ; n++ {
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			io.Copy(io.Discard, request.Body)
			if n == 1 && closed.CompareAndSwap(false, true) {
				return
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	}), ca)
	for range 20 { // net/http keeps a connection only if the writer of the request ended within 50 ms
		if o := b.attempt(t); o != (Outcome{Status: 200}) {
			t.Fatalf("%+v", o)
		}
		if closed.Load() {
			return
		}
	}
	t.Error("no connection was kept")
}
