package rest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"kartei/access"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func open(t *testing.T) (*apitest.Server, *apitest.Client) {
	t.Helper()
	o := apitest.New(t, dbtest.SQLite(t))
	return o.Listen(), o.As(access.Member)
}

// TestOutside checks that request targets outside /v1 get 404, and are not logged as errors.
func TestOutside(t *testing.T) {
	s, _ := open(t)
	for _, line := range []string{
		"GET / HTTP/1.1", "GET /v HTTP/1.1", "GET /v1 HTTP/1.1", "GET /v1x/contacts HTTP/1.1",
		"GET /v2/contacts HTTP/1.1", "GET /contacts HTTP/1.1",
		"GET /%761/contacts HTTP/1.1", "GET //v1/contacts HTTP/1.1", "GET x:y HTTP/1.1", "GET v1:contacts HTTP/1.1",
		"GET * HTTP/1.1",
		"GET http://localhost HTTP/1.1", "CONNECT localhost:80 HTTP/1.1", "CONNECT /v1 HTTP/1.1",
	} {
		conn := s.Dial()
		fmt.Fprintf(conn, "%s\r\nHost: localhost\r\n\r\n", line)
		if a := s.Read(bufio.NewReader(conn), apitest.Wire{Method: strings.Fields(line)[0]}); a.Status != 404 {
			t.Errorf("%s: %d %s", line, a.Status, a.Body)
		}
	}
	if s.Logged.Len() != 0 {
		t.Errorf("the operator is told: %s", s.Logged)
	}
}

// TestLengths checks Content-Length and Content-Type of responses. Responses without a body have
// neither.
func TestLengths(t *testing.T) {
	s, c := open(t)
	made := s.Send(c, apitest.Wire{Method: "POST", Path: "/contacts", Body: `{"lastName":"Müller"}`}).Want(201)
	at := "/contacts/" + made.Text("id")
	match := []string{"If-Match: *"}
	for _, test := range []struct {
		wire        apitest.Wire
		status      int
		contentType string
	}{
		{apitest.Wire{Method: "GET", Path: at}, 200, "application/json"},
		{apitest.Wire{Method: "HEAD", Path: at}, 200, "application/json"},
		{apitest.Wire{Method: "GET", Path: "/contacts?limit=1"}, 200, "application/json"},
		{apitest.Wire{Method: "HEAD", Path: "/openapi.json"}, 200, "application/json"},
		{apitest.Wire{Method: "PATCH", Path: at, Body: `{}`, Lines: match}, 200, "application/json"},
		{apitest.Wire{Method: "GET", Path: at, Lines: []string{`If-None-Match: "r1"`}}, 304, ""},
		{apitest.Wire{Method: "HEAD", Path: at, Lines: []string{`If-None-Match: "r1"`}}, 304, ""},
		{apitest.Wire{Method: "GET", Path: "/nothing"}, 404, "application/problem+json"},
		{apitest.Wire{Method: "HEAD", Path: "/nothing"}, 404, "application/problem+json"},
		{apitest.Wire{Method: "OPTIONS", Path: "/me"}, 405, "application/problem+json"},
		{apitest.Wire{Method: "DELETE", Path: at, Lines: match}, 204, ""},
	} {
		name := test.wire.Method + " " + test.wire.Path
		a := s.Send(c, test.wire).Want(test.status)
		length, err := strconv.Atoi(a.Header.Get("Content-Length"))
		switch {
		case a.Header.Get("Content-Type") != test.contentType:
			t.Errorf("%s: Content-Type %q", name, a.Header.Get("Content-Type"))
		case test.contentType == "":
			if a.Header.Get("Content-Length") != "" || len(a.Body) != 0 {
				t.Errorf("%s: Content-Length %q, %q", name, a.Header.Get("Content-Length"), a.Body)
			}
		case err != nil || length == 0:
			t.Errorf("%s: Content-Length %q", name, a.Header.Get("Content-Length"))
		case test.wire.Method == "HEAD" && len(a.Body) != 0, test.wire.Method != "HEAD" && len(a.Body) != length:
			t.Errorf("%s: %d bytes, Content-Length %d", name, len(a.Body), length)
		}
		if a.Header.Get("Transfer-Encoding") != "" || a.Header.Get("Date") == "" {
			t.Errorf("%s: %v", name, a.Header)
		}
	}
}

// TestConnectionIsReused checks that a connection stays open after an error, unless the request's
// body is too large for the server to read.
func TestConnectionIsReused(t *testing.T) {
	s, c := open(t)
	conn := s.Dial()
	in := bufio.NewReader(conn)
	body := `{"lastName":"` + strings.Repeat("x", 100_000) + `"}`
	for _, test := range []struct {
		wire   apitest.Wire
		status int
	}{
		{apitest.Wire{Method: "GET", Path: "/me"}, 200},
		{apitest.Wire{Method: "GET", Path: "/nothing"}, 404},
		{apitest.Wire{Method: "HEAD", Path: "/me"}, 200},
		{apitest.Wire{Method: "HEAD", Path: "/nothing"}, 404},
		// These requests are refused before the body is read.
		{apitest.Wire{Method: "POST", Path: "/contacts", Body: body, Lines: []string{"Authorization: Bearer x"}}, 401},
		{apitest.Wire{Method: "POST", Path: "/contacts", Body: body, Lines: []string{"-Svc-Preview"}}, 404},
		{apitest.Wire{Method: "POST", Path: "/contacts", Body: body}, 422},
		{apitest.Wire{Method: "POST", Path: "/contacts", Body: `{`}, 400},
		{apitest.Wire{
			Method: "POST",
			Path:   "/contacts",
			Body:   "5\r\n{\"a\":\r\n2\r\n1}\r\n0\r\n\r\n",
			Lines:  []string{"Transfer-Encoding: chunked"},
		}, 422},
		{apitest.Wire{Method: "GET", Path: "/me", Body: `{}`}, 400},
		{apitest.Wire{Method: "FOO", Path: "/me", Body: `{}`}, 405},
		{apitest.Wire{Method: "POST", Path: "/contacts", Body: `{"lastName":"Berg"}`}, 201},
		{apitest.Wire{Method: "GET", Path: "/contacts/count"}, 200},
	} {
		if _, err := io.WriteString(conn, c.Text(test.wire)); err != nil {
			t.Fatalf("%s %s: %v", test.wire.Method, test.wire.Path, err)
		}
		a := s.Read(in, test.wire).Want(test.status)
		if a.Header.Get("Connection") == "close" {
			t.Fatalf("%s %s: the server hangs up", test.wire.Method, test.wire.Path)
		}
	}
}

// TestPipelined checks that pipelined requests are answered in order.
func TestPipelined(t *testing.T) {
	s, c := open(t)
	conn := s.Dial()
	var out strings.Builder
	paths := []string{"/me", "/nothing", "/contacts", "/rate_limit", "/events"}
	for _, path := range paths {
		out.WriteString(c.Text(apitest.Wire{Method: "GET", Path: path}))
	}
	io.WriteString(conn, out.String())
	in := bufio.NewReader(conn)
	for _, path := range paths {
		a := s.Read(in, apitest.Wire{Method: "GET", Path: path})
		want := 200
		if path == "/nothing" {
			want = 404
		}
		a.Want(want)
	}
}

// TestSlowBody checks that the server answers other requests while one client sends its body
// slowly. In the end, the slow request succeeds.
func TestSlowBody(t *testing.T) {
	s, c := open(t)
	slow := s.Dial()
	w := apitest.Wire{Method: "POST", Path: "/contacts", Body: `{"lastName":"Langsam"}`}
	text := c.Text(w)
	for piece := range strings.SplitSeq(text, "") {
		if _, err := io.WriteString(slow, piece); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(piece, "a") {
			s.Send(c, apitest.Wire{Method: "GET", Path: "/contacts/count"}).Want(200)
		}
	}
	s.Read(bufio.NewReader(slow), w).Want(201)
}

// TestInterruptedBody checks that a request whose body is incomplete changes nothing.
func TestInterruptedBody(t *testing.T) {
	s, c := open(t)
	whole := c.Text(apitest.Wire{Method: "POST", Path: "/contacts", Body: `{"lastName":"Berg"}`})
	for _, keep := range []int{len(whole) - 1, len(whole) - 10, len(whole) - 19} {
		conn := s.Dial()
		io.WriteString(conn, whole[:keep])
		conn.(interface{ CloseWrite() error }).CloseWrite()
		// The server may send a response or only close the connection.
		answer, err := io.ReadAll(conn)
		if err == nil && len(answer) > 0 && !bytes.HasPrefix(answer, []byte("HTTP/1.1 400 ")) {
			t.Errorf("half a body got %.60q", answer)
		}
	}
	if got := c.Do("GET", "/contacts/count", nil).Want(200).JSON()["count"]; got != 0.0 {
		t.Errorf("%v contacts after broken bodies", got)
	}
	if s.Logged.Len() != 0 {
		t.Errorf("the operator is told: %s", s.Logged)
	}
}

// TestContinue checks that a client with Expect: 100-continue gets 100, or an error before it sends
// the body.
func TestContinue(t *testing.T) {
	s, c := open(t)
	ask := func(lines ...string) (*bufio.Reader, io.Writer, string) {
		t.Helper()
		conn := s.Dial()
		body := `{"lastName":"Berg"}`
		text := c.Text(apitest.Wire{
			Method: "POST", Path: "/contacts", Body: body, Lines: append(lines, "Expect: 100-continue"),
		})
		io.WriteString(conn, strings.TrimSuffix(text, body))
		return bufio.NewReader(conn), conn, body
	}
	in, out, body := ask()
	if line, err := in.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	in.ReadString('\n')
	io.WriteString(out, body)
	s.Read(in, apitest.Wire{Method: "POST", Path: "/contacts"}).Want(201)

	in, _, _ = ask("Authorization: Bearer x")
	s.Read(in, apitest.Wire{Method: "POST", Path: "/contacts"}).Want(401)
	in, _, _ = ask("Content-Length: 2000000")
	s.Read(in, apitest.Wire{Method: "POST", Path: "/contacts"}).Want(413)
}

// TestHTTP10 checks that clients with HTTP/1.0, which close the connection, get a response.
func TestHTTP10(t *testing.T) {
	s, c := open(t)
	conn := s.Dial()
	w := apitest.Wire{Method: "GET", Path: "/me"}
	io.WriteString(conn, strings.Replace(c.Text(w), "HTTP/1.1", "HTTP/1.0", 1))
	in := bufio.NewReader(conn)
	s.Read(in, w).Want(200)
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("the connection stays: %v", err)
	}
}

// TestOverlappingBodies checks that concurrent requests do not share a pooled buffer.
func TestOverlappingBodies(t *testing.T) {
	s, c := open(t)
	client := &http.Client{Timeout: waittest.Bound}
	failed := make(chan error)
	const workers, calls = 8, 25
	for worker := range workers {
		go func() {
			var err error
			for call := range calls {
				name := fmt.Sprintf("%d-%d-%s", worker, call, strings.Repeat("x", (worker*31+call*7)%150))
				r, _ := http.NewRequest("POST", s.URL+"/v1/contacts", strings.NewReader(`{"lastName":"`+name+`"}`))
				r.Header = http.Header{
					"Authorization":   {"Bearer " + c.Key},
					"Content-Type":    {"application/json"},
					"Svc-Preview":     {"true"},
					"Idempotency-Key": {name},
				}
				var response *http.Response
				if response, err = client.Do(r); err != nil {
					break
				}
				body, _ := io.ReadAll(response.Body)
				response.Body.Close()
				if response.StatusCode != 201 || !strings.Contains(string(body), `"`+name+`"`) {
					err = fmt.Errorf("%s: %d %s", name, response.StatusCode, body)
					break
				}
			}
			failed <- err
		}()
	}
	for range workers {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}
