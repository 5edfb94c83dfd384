package rest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"kartei/door/rest"
	"kartei/kit/serve"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// TestRefusal checks that requests refused by net/http get a problem document, and that the
// connection is closed.
func TestRefusal(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	s, err := serve.Listen("127.0.0.1:0", serve.Options{MaxHeaderBytes: 1 << 10, Logger: nil})
	if err != nil {
		t.Fatal(err)
	}
	s.Refuse(rest.Refusal(o.API))
	s.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "*" {
			rest.ForServer(o.API).ServeHTTP(w, r)
			return
		}
		o.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { s.Shutdown(t.Context()) })
	for name, test := range map[string]struct{ head, says string }{
		"escape":           {"GET /v1/contacts/%zz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1"},
		"no Host":          {"GET /v1/me HTTP/1.1\r\n\r\n", "Host"},
		"wrong Host":       {"GET /v1/me HTTP/1.1\r\nHost: a b\r\n\r\n", "Host"},
		"two Hosts":        {"GET /v1/me HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "Host"},
		"name of a header": {"GET /v1/me HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n", "Header"},
		"all of HTTP/2":    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1"},
		"no HTTP":          {"HALLO\r\n\r\n", "HTTP/1.1"},
		"coding":           {"POST /v1/contacts HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", "Transfer-Encoding"},
		"Expect": {
			"POST /v1/contacts HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nContent-Length: 2\r\n\r\n{}", "Expect",
		},
		"large head": {"GET /v1/me HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 8<<10) + "\r\n\r\n", "zu groß"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprint(conn, test.head)
			r := bufio.NewReader(conn)
			response, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			a := &apitest.Answer{TB: t, Status: response.StatusCode, Header: response.Header, Body: body}
			if p := a.Want(400, "INVALID_REQUEST").JSON(); p["requestId"] != a.Header.Get("Request-Id") ||
				!strings.HasPrefix(fmt.Sprint(p["requestId"]), "req_") || p["instance"] != "/v1" ||
				!strings.Contains(fmt.Sprint(p["detail"]), test.says) {
				t.Errorf("%v", p)
			}
			for _, name := range []string{
				"RateLimit", "RateLimit-Policy", "Svc-Version", "Link", "Vary", "X-Content-Type-Options",
				"Cache-Control",
			} {
				if strings.Join(a.Header.Values(name), "")+strings.Join(a.Header[name], "") == "" {
					t.Errorf("no %s", name)
				}
			}
			if a.Header.Get("Content-Type") != "application/problem+json" || a.Header.Get("Content-Language") != "de" ||
				!response.Close || a.Header.Get("Date") == "" {
				t.Errorf("%v", a.Header)
			}
			if rest, _ := io.ReadAll(r); len(rest) > 0 { // a reset is possible, as the request was not read to its end
				t.Errorf("behind the answer: %q", rest)
			}
		})
	}
}

// TestOptionsOfTheServer checks that OPTIONS * gets the headers of every response.
func TestOptionsOfTheServer(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	s, err := serve.Listen("127.0.0.1:0", serve.Options{MaxHeaderBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(rest.ForServer(o.API))
	t.Cleanup(func() { s.Shutdown(t.Context()) })
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != 204 || !strings.HasPrefix(response.Header.Get("Request-Id"), "req_") ||
		!strings.Contains(response.Header.Get("Allow"), "OPTIONS") {
		t.Errorf("%v %+v", err, response)
	}
}

// TestHeaderNames checks that header names are sent with the spelling of the RFCs.
func TestHeaderNames(t *testing.T) {
	s, c := open(t)
	made := s.Send(c, apitest.Wire{Method: "POST", Path: "/contacts", Body: `{"lastName":"Berg"}`}).Want(201)
	file := c.Document("a.txt", "text/plain", []byte("Text"))
	for _, test := range []struct {
		wire apitest.Wire
		want []string
	}{
		{
			apitest.Wire{Method: "GET", Path: "/contacts/" + made.Text("id")},
			[]string{"ETag: ", "RateLimit: ", "RateLimit-Policy: "},
		},
		{apitest.Wire{Method: "GET", Path: "/documents/" + file + "/content"}, []string{"ETag: ", "RateLimit: "}},
		{
			apitest.Wire{Method: "GET", Path: "/documents/" + file + "/content", Lines: []string{"Range: bytes=0-1"}},
			[]string{"ETag: ", "Content-Range: "},
		},
		{
			apitest.Wire{Method: "GET", Path: "/me", Lines: []string{"-Authorization"}},
			[]string{"WWW-Authenticate: ", "RateLimit: "},
		},
	} {
		conn := s.Dial()
		fmt.Fprint(conn, c.Text(test.wire))
		head := ""
		for in := bufio.NewReader(conn); !strings.HasSuffix(head, "\r\n\r\n"); {
			line, err := in.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			head += line
		}
		for _, name := range test.want {
			if strings.Count(head, "\n"+name) != 1 || strings.Count(strings.ToLower(head), "\n"+strings.ToLower(name)) != 1 {
				t.Errorf("%s: %sonce is wanted in\n%s", test.wire.Path, name, head)
			}
		}
	}
}
