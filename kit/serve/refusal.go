package serve

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
)

// Refuse sets the function that writes the responses to requests that net/http refuses. Such a
// request has a malformed header, a wrong Host, an unknown transfer coding or Expect, or a header
// above MaxHeaderBytes. No handler sees it.
//
// f gets the status of net/http and returns a whole HTTP/1.1 response. The connection is closed
// after the response. Refuse has no effect with TLS, and so with HTTP/2, because the encrypted
// bytes cannot be recognized.
func (s *Server) Refuse(f func(status int) []byte) { s.bound.refusal.Store(&f) }

// refusalHead is the end of the header in each refusal of net/http (server.go, func serve). A
// response of a handler does not end so, because it has the header Date.
const refusalHead = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// refusedWith returns the status if answer is a refusal of net/http, and 0 for all other bytes.
func refusedWith(answer []byte) int {
	const version = "HTTP/1.1 "
	if len(answer) < len(version)+3 || answer[len(version)] != '4' && answer[len(version)] != '5' ||
		string(answer[:len(version)]) != version {
		return 0
	}
	status, err := strconv.Atoi(string(answer[len(version) : len(version)+3]))
	end := bytes.IndexByte(answer, '\r')
	// net/http writes 417 like a response of a handler, but no handler sends this status.
	if err != nil || end < 0 || status != 417 && !bytes.HasPrefix(answer[end:], []byte(refusalHead)) {
		return 0
	}
	return status
}

// connKey is the key of the context value with the connection of a request.
type connKey struct{}

// watch makes the server reset answered when a connection becomes idle. From the first byte of a
// handler's response until then, all bytes are the response. net/http writes refusals only at other
// times.
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

// answers records on the connection that a handler begins its response to r.
func answers(r *http.Request) {
	if b, is := r.Context().Value(connKey{}).(*boundConn); is {
		b.answered.Store(true)
	}
}

// Write sends p. If p is a refusal of net/http, it sends the response of Refuse's function instead.
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
