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

// wait bounds the life of a test's connection. It is long enough for a busy
// machine, and passes only if an answer is missing.
const wait = 2 * time.Minute

// Server is an office behind a real listener on loopback.
type Server struct {
	*Office
	// URL is the address without /v1, Address its host and port.
	URL, Address string
}

// Listen starts a server that is stopped with the test.
func (o *Office) Listen() *Server {
	o.Helper()
	s := httptest.NewServer(o.Handler)
	o.Cleanup(s.Close)
	return &Server{o, s.URL, s.Listener.Addr().String()}
}

// Wire is a request on the wire, byte for byte.
type Wire struct {
	Method, Path string
	// Lines are header lines such as "If-Match: *". A line replaces all lines
	// of that name that Text would add. "-Name" only removes them.
	Lines []string
	// Body is sent unchanged, even if Lines announce chunks.
	Body string
}

// Text returns the bytes of the request: HTTP/1.1 with the headers that Do
// adds.
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

// without removes all lines with a header's name.
func without(lines []string, line string) []string {
	name, _, _ := strings.Cut(strings.TrimPrefix(line, "-"), ":")
	return slices.DeleteFunc(lines, func(l string) bool {
		have, _, _ := strings.Cut(l, ":")
		return strings.EqualFold(have, name)
	})
}

// Send sends a request over a connection of its own and returns the answer. The
// test fails if there is no answer within the wait, or if the connection closes
// before.
func (s *Server) Send(c *Client, w Wire) *Answer {
	s.Helper()
	conn := s.Dial()
	go io.Copy(conn, strings.NewReader(c.Text(w))) // the answer may come before the end of the request
	return s.Read(bufio.NewReader(conn), w)
}

// Dial opens a connection that is closed with the test.
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

// Read reads the answer to the request w.
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
	// Requests that are not valid HTTP are answered by net/http, in plain text.
	if bytes.HasPrefix(body, []byte("{")) || w.Method == "HEAD" {
		Conform(s.TB, a.Header.Get("Svc-Version"), w.Method, w.Path, a.Status, a.Header, a.Body)
	}
	return a
}
