package sso

import (
	"errors"
	"io"
	"net/http"
)

// boundedTransport limits the size of response bodies, because the libraries read them as a whole.
type boundedTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return answer, err
	}
	answer.Body = &shortBody{ReadCloser: answer.Body, left: maxAnswer}
	return answer, nil
}

// CloseIdleConnections closes the idle connections of the transport.
func (b boundedTransport) CloseIdleConnections() {
	if c, is := b.RoundTripper.(interface{ CloseIdleConnections() }); is {
		c.CloseIdleConnections()
	}
}

// shortBody is a response body that fails after a number of bytes.
type shortBody struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader. It fails with errLong once the limit is reached.
func (s *shortBody) Read(b []byte) (int, error) {
	if s.left <= 0 {
		return 0, errLong
	}
	n, err := s.ReadCloser.Read(b[:min(len(b), s.left)])
	s.left -= n
	return n, err
}

var errLong = errors.New("the answer of the provider is too long")
