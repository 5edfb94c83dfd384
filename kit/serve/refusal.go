package serve

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
)

// Refuse makes f answer requests that net/http refuses before any handler sees
// them. These have a malformed head, a wrong Host, an unknown transfer coding
// or Expect, or a head over MaxHeaderBytes. f gets the status of net/http and
// returns a whole HTTP/1.1 answer, after which the connection is closed. With
// TLS, and so with HTTP/2, only net/http sees the plain text, so its own
// answers are sent.
func (s *Server) Refuse(f func(status int) []byte) { s.bound.refusal.Store(&f) }

// refusalHead is the end of the head of each refusal of net/http (server.go,
// func serve). Answers of handlers do not end like that, because they have a
// Date.
const refusalHead = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// refusedWith returns the status of a refusal of net/http, and 0 for any other
// bytes.
func refusedWith(answer []byte) int {
	const version = "HTTP/1.1 "
	if len(answer) < len(version)+3 || answer[len(version)] != '4' && answer[len(version)] != '5' ||
		string(answer[:len(version)]) != version {
		return 0
	}
	status, err := strconv.Atoi(string(answer[len(version) : len(version)+3]))
	end := bytes.IndexByte(answer, '\r')
	// net/http writes 417 like an answer of a handler, but no handler sends
	// that status.
	if err != nil || end < 0 || status != 417 && !bytes.HasPrefix(answer[end:], []byte(refusalHead)) {
		return 0
	}
	return status
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

// watch makes the server note when a handler answers. Until the connection is
// idle again, all bytes belong to that answer. Refusals of net/http are written
// at other times.
func watch(s *http.Server) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if b, is := c.(*boundConn); is && state == http.StateIdle {
			b.answered.Store(false)
		}
	}
}

// answers notes that a handler begins its answer to r.
func answers(r *http.Request) {
	if b, is := r.Context().Value(connKey{}).(*boundConn); is {
		b.answered.Store(true)
	}
}

// Write sends p, or the answer of Refuse's function instead of a refusal of
// net/http.
func (c *boundConn) Write(p []byte) (int, error) {
	if f := c.refusal.Load(); f != nil && !c.answered.Load() {
		if status := refusedWith(p); status != 0 {
			if _, err := c.Conn.Write((*f)(status)); err != nil {
				return 0, err
			}
			return len(p), nil
		}
	}
	return c.Conn.Write(p)
}
