package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"kartei/access"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// stuckClient is a client that reads the header of a response, and reads the body only after it is
// released.
type stuckClient struct {
	http.ResponseWriter
	flows, let chan struct{}
}

func (s *stuckClient) Write(b []byte) (int, error) {
	s.flows <- struct{}{}
	<-s.let
	return len(b), nil
}

// trickle begins a download whose client does not read the body. end makes the client read the
// rest.
func trickle(c *apitest.Client, document string) (end func()) {
	w := &stuckClient{httptest.NewRecorder(), make(chan struct{}, 100), make(chan struct{})}
	done := make(chan struct{})
	r := c.Request("GET", "/documents/"+document+"/content", nil)
	go func() {
		defer close(done)
		c.Handler.ServeHTTP(w, r)
	}()
	<-w.flows
	return func() { close(w.let); <-done }
}

// send begins a PUT whose client sends no bytes. end disconnects the client.
func send(c *apitest.Client) (end func(), answer *httptest.ResponseRecorder) {
	c.Helper()
	session := c.Do("POST", "/uploads", `{"fileName":"a.txt","contentType":"text/plain","size":10}`).Want(201)
	u, err := url.Parse(session.Text("url"))
	if err != nil {
		c.Fatal(err)
	}
	in, out := io.Pipe()
	reading, done := make(chan struct{}), make(chan struct{})
	r := httptest.NewRequest("PUT", u.Path, signalReader{in, reading})
	r.Header.Set("Content-Type", "text/plain")
	answer = httptest.NewRecorder()
	go func() {
		defer close(done)
		c.Handler.ServeHTTP(answer, r)
	}()
	select {
	case <-reading:
	case <-done:
	}
	return func() { out.CloseWithError(io.ErrUnexpectedEOF); <-done }, answer
}

// signalReader closes told at its first read.
type signalReader struct {
	io.Reader
	told chan struct{}
}

func (r signalReader) Read(b []byte) (int, error) {
	select {
	case <-r.told:
	default:
		close(r.told)
	}
	return r.Reader.Read(b)
}

// TestTransfersHoldNothing checks what files in transfer do not use: one of the concurrent calls of
// the instance, a connection to the database, and its writer. A download is one of the six
// concurrent calls of its key, and an upload is not.
func TestTransfersHoldNothing(t *testing.T) {
	apitest.Alone(t)
	o := apitest.New(t, dbtest.Open(t, dbtest.SQLiteURL(t), db.Options{Readers: 1, Writers: 1}), apitest.Metered(),
		apitest.MaxCalls(1))
	c := o.As(access.Member)
	id := c.Document("a.txt", "text/plain", bytes.Repeat([]byte("Guten Tag\n"), 10_000))
	var ends []func()
	for range 5 {
		up, _ := send(c)
		ends = append(ends, trickle(c, id), up)
	}
	if n := allLeft(t, c)["concurrency"]; n != 1 {
		t.Errorf("%d calls left while files flow", n)
	}
	c.Do("GET", "/contacts", nil).Want(200)
	c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201)
	if n := o.API.Transfers(); n != 10 {
		t.Errorf("%d files on their way", n)
	}
	for _, end := range ends {
		end()
	}
	if n := o.API.Transfers(); n != 0 {
		t.Errorf("%d files on their way after the last", n)
	}
	if n := allLeft(t, c)["concurrency"]; n != 6 {
		t.Errorf("%d calls left after the last file", n)
	}
}

// TestTransfersAreBounded checks that the number of transfers is limited, for one organization and
// for all together. A refusal says in both languages when to try again. A new attempt succeeds
// after a transfer has ended.
func TestTransfersAreBounded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1), apitest.Transfers(3, 2))
		_, sandbox := o.Organization("Kanzlei Abendroth")
		user := o.User(access.Admin, sandbox)
		clients := []*apitest.Client{o.As(access.Member), {Office: o, Principal: user, Key: o.Key(user)}}
		var documents []string
		for _, c := range clients {
			documents = append(documents, c.Document("a.txt", "text/plain", []byte("Guten Tag\n")))
		}
		get := func(i int, headers ...string) *apitest.Answer {
			return clients[i].Do("GET", "/documents/"+documents[i]+"/content", nil, headers...)
		}
		one := trickle(clients[0], documents[0])
		two, _ := send(clients[0])
		words := map[string]bool{}
		for _, language := range []string{"de", "en"} {
			a := get(0, "Accept-Language", language).Want(429, "RATE_LIMITED")
			words[a.Text("detail")] = true
			if got := fmt.Sprint(a.JSON()["violated-policies"]); got != "[transfers]" {
				t.Errorf("violated-policies %s", got)
			}
			if a.Header.Get("Retry-After") != "2" || a.Header.Get("Content-Disposition") != "" {
				t.Errorf("%v", a.Header)
			}
		}
		if len(words) != 2 {
			t.Errorf("%v", words)
		}
		if _, answer := send(clients[0]); answer.Code != 429 {
			t.Errorf("a third file up: %d %s", answer.Code, answer.Body)
		}
		get(0, "If-None-Match", "*").Want(304) // the response has no file
		get(1).Want(200)                       // from another organization
		three := trickle(clients[1], documents[1])
		get(1).Want(429, "OVERLOADED")
		one()
		get(0).Want(200)
		get(1).Want(200)
		two()
		three()
		if n := o.API.Transfers(); n != 0 {
			t.Errorf("%d files on their way after the last", n)
		}
	})
}
