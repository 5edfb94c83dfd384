package apitest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"
)

// wait is the maximum life of a test's connection. It is long enough for a busy machine, and passes
// only if a response is missing.
const wait = 2 * time.Minute

// Server is an office behind a real listener on the loopback interface.
type Server struct {
	*Office
	// URL is the base URL without /v1. Address is its host and port.
	URL, Address string
}

// Listen starts a server. It is stopped when the test ends.
func (o *Office) Listen() *Server {
	o.Helper()
	s := httptest.NewServer(o.Handler)
	o.Cleanup(s.Close)
	return &Server{o, s.URL, s.Listener.Addr().String()}
}

// Wire is a request whose bytes the test controls.
type Wire struct {
	Method, Path string
	// Lines are header lines such as "If-Match: *". A line replaces all lines with the same name
	// that Text would add. "-Name" removes these lines.
	Lines []string
	// Body is sent unchanged, even if Lines announce chunks.
	Body string
}

// Text returns the bytes of an HTTP/1.1 request. It has the headers that Do adds.
func (c *Client) Text(w Wire) string {
	h := []string{"Host: localhost", "Authorization: Bearer " + c.Key}
	if w.Method != "GET" && w.Method != "HEAD" {
		h = append(h, "Svc-Preview: true")
	}
	if w.Method == "POST" {
		h = append(h, "Idempotency-Key: wire-"+strconv.FormatInt(keys.Add(1), 10))
	}
	if w.Body != "" || w.Method == "POST" || w.Method == "PATCH" {
		h = append(h, "Content-Type: application/json", "Content-Length: "+strconv.Itoa(len(w.Body)))
	}
	for _, line := range w.Lines {
		h = without(h, line)
		if strings.HasPrefix(line, "Transfer-Encoding:") {
			h = without(h, "-Content-Length")
		}
	}
	for _, line := range w.Lines {
		if !strings.HasPrefix(line, "-") {
			h = append(h, line)
		}
	}
	return w.Method + " /v1" + w.Path + " HTTP/1.1\r\n" + strings.Join(h, "\r\n") + "\r\n\r\n" + w.Body
}

// without returns lines without all lines that have the header name of line.
func without(lines []string, line string) []string {
	name, _, _ := strings.Cut(strings.TrimPrefix(line, "-"), ":")
	return slices.DeleteFunc(lines, func(l string) bool {
		have, _, _ := strings.Cut(l, ":")
		return strings.EqualFold(have, name)
	})
}

// Send sends a request over a new connection and returns the response. It fails the test if the
// response does not come within wait, or if the connection closes before.
func (s *Server) Send(c *Client, w Wire) *Answer {
	s.Helper()
	conn := s.Dial()
	go io.Copy(conn, strings.NewReader(c.Text(w))) // The response may come before the whole request is sent.
	return s.Read(bufio.NewReader(conn), w)
}

// Dial opens a connection. It is closed when the test ends.
func (s *Server) Dial() net.Conn {
	s.Helper()
	conn, err := net.Dial("tcp", s.Address)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(wait))
	return conn
}

// Read reads the response to the request w.
func (s *Server) Read(r *bufio.Reader, w Wire) *Answer {
	s.Helper()
	response, err := http.ReadResponse(r, &http.Request{Method: w.Method})
	if err != nil {
		s.Fatalf("%s %.80s: no answer: %v", w.Method, w.Path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatalf("%s %.80s: half an answer: %v", w.Method, w.Path, err)
	}
	a := &Answer{TB: s.TB, Status: response.StatusCode, Header: response.Header, Body: body}
	// For requests that are not valid HTTP, net/http responds in plain text.
	if bytes.HasPrefix(body, []byte("{")) || w.Method == "HEAD" {
		Conform(s.TB, a.Header.Get("Svc-Version"), w.Method, w.Path, a.Status, a.Header, a.Body)
	}
	return a
}
