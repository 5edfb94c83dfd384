package sso

import (
	"errors"
	"io"
	"net/http"
)

// boundedTransport cuts answers that are too large: the libraries read them as a
// whole.
type boundedTransport struct{ http.RoundTripper }

// RoundTrip is part of http.RoundTripper.
func (b boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return answer, err
	}
	answer.Body = &shortBody{ReadCloser: answer.Body, left: maxAnswer}
	return answer, nil
}

// CloseIdleConnections closes the transport's idle connections.
func (b boundedTransport) CloseIdleConnections() {
	if c, is := b.RoundTripper.(interface{ CloseIdleConnections() }); is {
		c.CloseIdleConnections()
	}
}

// shortBody is a body that fails beyond some bytes.
type shortBody struct {
	io.ReadCloser
	left int
}

// Read is part of io.Reader.
func (s *shortBody) Read(b []byte) (int, error) {
	if s.left <= 0 {
		return 0, errLong
	}
	n, err := s.ReadCloser.Read(b[:min(len(b), s.left)])
	s.left -= n
	return n, err
}

var errLong = errors.New("the answer of the provider is too long")
