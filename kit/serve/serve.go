// Package serve owns the HTTP listeners: limits for clients, TLS certificates, and an orderly shutdown.
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

// Options has the limits of a server for its clients. For a duration or number, zero means no
// limit. Package config sets all of them.
type Options struct {
	// ReadHeader is the maximum time for the header of a request, and Body for the whole request.
	// Write is the maximum time from the end of the request's header until the client has received
	// the response. Idle is the maximum time between two requests of a connection.
	ReadHeader, Body, Write, Idle time.Duration
	// MaxHeaderBytes is the maximum size of a request's header in bytes. For a larger header,
	// net/http sends 431 and closes the connection.
	MaxHeaderBytes int
	// Connections is the maximum number of open connections. More connections wait in the queue of
	// the kernel. PerAddress is the maximum for one address (for IPv6: one /64). More are closed at
	// once. Trusted has the networks of proxies, to which PerAddress does not apply, because many
	// clients share their address.
	Connections, PerAddress int
	Trusted                 []netip.Prefix
	// Certificate is for TLS with HTTP/2. If it is nil, the server uses plain HTTP.
	Certificate *Certificate
	// StrictTransport is the time for which browsers must use only TLS after a response over TLS
	// (RFC 6797). If it is zero, responses have no Strict-Transport-Security header.
	StrictTransport time.Duration
	// Inherited is a listener that another program has opened. If it is nil, Listen opens one.
	Inherited net.Listener
	// Logger logs the errors of connections. If it is nil, slog.Default is used.
	Logger *slog.Logger
}

// Server serves one handler on one listener. Listen returns it.
type Server struct {
	http     *http.Server
	bound    *boundListener
	named    bool // says that the host of the address is localhost
	secure   bool
	strict   string // value of Strict-Transport-Security; empty without the header
	draining atomic.Bool
	handler  atomic.Pointer[http.Handler]
	done     chan struct{} // closed when the server accepts no more connections
	err      error
}

// Listen returns a Server that listens at address, or on Inherited. Connections wait until Serve is called. The host
// localhost means the loopback addresses of IPv4 and IPv6.
func Listen(address string, o Options) (*Server, error) {
	l := o.Inherited
	if l == nil {
		var err error
		if l, err = listen(address); err != nil {
			return nil, explain(err, address)
		}
	}
	s := &Server{
		http: &http.Server{
			ReadHeaderTimeout: o.ReadHeader,
			ReadTimeout:       o.Body,
			WriteTimeout:      o.Write,
			IdleTimeout:       o.Idle,
			MaxHeaderBytes:    o.MaxHeaderBytes,
			ErrorLog:          errorLog(o.Logger),
			// The handler also gets OPTIONS *, so that the response has the headers of the handler.
			DisableGeneralOptionsHandler: true,
			// RFC 9113 (section 6.5.2) recommends at least 100.
			HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100},
		},
		bound:  bound(l, o),
		named:  o.Inherited == nil && bothFamilies(address),
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

// explain returns the error of a listener, with advice if its address is taken.
func explain(err error, address string) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("another program listens on %s already: name another port, or end that program", address)
	}
	return err
}

// Addr returns the address of the listener.
func (s *Server) Addr() net.Addr { return s.bound.Addr() }

// URL returns the base URL of the server for programs on this machine.
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

// Serve handles requests with h in the background until Shutdown. A second call replaces the
// handler.
func (s *Server) Serve(h http.Handler) {
	if s.handler.Swap(&h) != nil {
		return
	}
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close") // means GOAWAY with HTTP/2
		}
		// A browser applies the header to all ports of a host. On localhost this would block other
		// programs without TLS.
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

// localhost reports whether the host, with or without a port, is a name of this machine (RFC 6761).
func localhost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Wait returns when the server accepts no more connections, or when ctx ends. The error is the
// reason. It is nil after Shutdown and when ctx ends.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return nil
	}
}

// Drain makes the server close each connection after the next response. The server still accepts
// connections.
func (s *Server) Drain() { s.draining.Store(true) }

// Shutdown stops the listener and waits for the running requests. If ctx ends first, Shutdown
// closes their connections and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		s.http.Close()
	}
	_ = s.bound.Close() // for a server that never called Serve
	return err
}

// errorLog returns a logger for net/http that writes to l. It removes the addresses of clients,
// which the log must not contain (see package telemetry).
func errorLog(l *slog.Logger) *log.Logger {
	if l == nil {
		l = slog.Default()
	}
	return log.New(lines{l}, "", 0)
}

type lines struct{ logger *slog.Logger }

// address matches an IP address with its port, in the format of package net.
var address = regexp.MustCompile(`(?:\d+\.\d+\.\d+\.\d+|\[[0-9a-fA-F:.%a-z]*\]):\d+`)

func (w lines) Write(line []byte) (int, error) {
	text := address.ReplaceAllLiteralString(strings.TrimSpace(string(line)), "a client")
	// Clients can cause most of these lines, so they are not warnings.
	level := slog.LevelDebug
	if strings.Contains(text, "panic") {
		level = slog.LevelError
	}
	w.logger.Log(context.Background(), level, "connection", "error", text)
	return len(line), nil
}
