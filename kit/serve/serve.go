// Package serve owns the listeners: bounds on time, size and number of connections, certificates, orderly end.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Options bound the resources that clients can hold. A zero duration or number
// means no bound. Package config sets all of them.
type Options struct {
	// ReadHeader is the time for the head of a request, and Body that for the
	// whole request. Write is the time from the first byte of a request until
	// the client has read the answer. Idle is the time between two requests.
	ReadHeader, Body, Write, Idle time.Duration
	// MaxHeaderBytes bounds the head of a request. Beyond it net/http sends 431
	// and closes the connection.
	MaxHeaderBytes int
	// Connections is the number of connections that are served at the same
	// time; more wait in the kernel's queue. PerAddress is how many of them one
	// address (for IPv6: one /64) may hold; more are closed at once. Trusted
	// networks, the proxies, have no such bound, because many clients share
	// their address.
	Connections, PerAddress int
	Trusted                 []netip.Prefix
	// Certificate serves TLS with HTTP/2; nil serves plain HTTP.
	Certificate *Certificate
	// StrictTransport is the time for which browsers use only TLS after a call
	// over TLS (RFC 6797). Zero does not ask for that.
	StrictTransport time.Duration
	// Logger receives the errors of connections.
	Logger *slog.Logger
}

// Server serves one handler on one listener.
type Server struct {
	http     *http.Server
	bound    *boundListener
	named    bool // the host is localhost
	secure   bool
	strict   string // Strict-Transport-Security, empty for none
	draining atomic.Bool
	handler  atomic.Pointer[http.Handler]
	done     chan struct{} // closed when serving has ended
	err      error
}

// Listen binds address. Connections wait until Serve is called. The host
// localhost binds the loopback addresses of both families.
func Listen(address string, o Options) (*Server, error) {
	l, err := listen(address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another program listens on %s already: name another port, or end that program", address)
	}
	if err != nil {
		return nil, err
	}
	s := &Server{
		http: &http.Server{
			ReadHeaderTimeout: o.ReadHeader,
			ReadTimeout:       o.Body,
			WriteTimeout:      o.Write,
			IdleTimeout:       o.Idle,
			MaxHeaderBytes:    o.MaxHeaderBytes,
			ErrorLog:          errorLog(o.Logger),
			// The handler answers OPTIONS * too, so that the answer has its headers.
			DisableGeneralOptionsHandler: true,
			// RFC 9113 (section 6.5.2) recommends no fewer than 100.
			HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100},
		},
		bound:  bound(l, o),
		named:  bothFamilies(address),
		secure: o.Certificate != nil,
		done:   make(chan struct{}),
	}
	watch(s.http)
	if o.Certificate != nil {
		if age := int64(o.StrictTransport / time.Second); age > 0 {
			s.strict = "max-age=" + strconv.FormatInt(age, 10)
		}
		s.http.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: o.Certificate.get}
	}
	return s, nil
}

// Addr returns the address of the listener.
func (s *Server) Addr() net.Addr { return s.bound.Addr() }

// URL returns the address of the server for programs on this machine.
func (s *Server) URL() string {
	scheme := "http://"
	if s.secure {
		scheme = "https://"
	}
	a := s.bound.Addr().(*net.TCPAddr)
	if s.named || a.IP.IsUnspecified() {
		return scheme + net.JoinHostPort("localhost", strconv.Itoa(a.Port))
	}
	return scheme + a.String()
}

// Serve answers calls with h, in the background, until Shutdown. A second Serve
// replaces the handler.
func (s *Server) Serve(h http.Handler) {
	if s.handler.Swap(&h) != nil {
		return
	}
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close") // HTTP/2: GOAWAY
		}
		// A browser applies the header to all ports of a name. On localhost
		// that would cut off other programs.
		if s.strict != "" && !localhost(r.Host) {
			w.Header().Set("Strict-Transport-Security", s.strict)
		}
		answers(r)
		(*s.handler.Load()).ServeHTTP(w, r)
	})
	go func() {
		defer close(s.done)
		var err error
		if s.secure {
			err = s.http.ServeTLS(s.bound, "", "")
		} else {
			err = s.http.Serve(s.bound)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			s.err = err
		}
	}()
}

// localhost reports whether a Host is a name of this machine itself (RFC 6761).
func localhost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Wait returns when serving has ended, or when ctx ends. Its error is the
// reason, or nil after Shutdown.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return nil
	}
}

// Drain continues to accept calls, and closes each connection after its next
// answer.
func (s *Server) Drain() { s.draining.Store(true) }

// Shutdown accepts no more calls and waits for those in flight. If ctx ends
// first, it cuts them off and returns the context's error.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		s.http.Close()
	}
	_ = s.bound.Close() // also if Serve was never called
	return err
}

// errorLog logs the lines of net/http in structured form. They contain
// addresses of callers, which must not be in the log (see package telemetry),
// so the addresses are removed.
func errorLog(l *slog.Logger) *log.Logger {
	if l == nil {
		l = slog.Default()
	}
	return log.New(lines{l}, "", 0)
}

type lines struct{ logger *slog.Logger }

// address matches an IP address with its port in the form of package net.
var address = regexp.MustCompile(`(?:\d+\.\d+\.\d+\.\d+|\[[0-9a-fA-F:.%a-z]*\]):\d+`)

func (w lines) Write(line []byte) (int, error) {
	text := address.ReplaceAllLiteralString(strings.TrimSpace(string(line)), "a client")
	// Anyone can cause most of these, so they are no warnings.
	level := slog.LevelDebug
	if strings.Contains(text, "panic") {
		level = slog.LevelError
	}
	w.logger.Log(context.Background(), level, "connection", "error", text)
	return len(line), nil
}
