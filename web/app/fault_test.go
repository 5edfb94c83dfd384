package app_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/serve"
	"kartei/store/db"
	"kartei/test/apitest"
	"kartei/test/dbtest"
	"kartei/test/leaktest"
	"kartei/test/pagetest"
	"kartei/test/waittest"
	"kartei/web"
	"kartei/web/app"
	"kartei/web/shell"
)

// TestFaultsOnPages checks the responses while the instance is unavailable. A script gets only a
// message, and its page keeps the form. Without a script, the response has the same form with the
// same token.
func TestFaultsOnPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := pagetest.Open(t, o, access.Member)
		form := b.Get("/sandbox/contacts/new").Want(200).Fields("/sandbox/contacts/new")
		form.Set("lastName", "Behalten")
		stranger := &pagetest.Browser{T: t, Handler: b.Handler, Cookie: ""}
		signIn, forgot := stranger.Get("/signin").Want(200), stranger.Get("/signin/forgot").Want(200)
		o.API.Pause(true)
		signIn.Send("/signin", "email", "ida@example.com", "password", "geheim").Want(503, `value="ida@example.com"`, "Das liegt am Server und nicht an Ihrer Eingabe.")
		forgot.Send("/signin/forgot", "email", "ida@example.com").Want(503, `value="ida@example.com"`, "Das liegt am Server und nicht an Ihrer Eingabe. Sie bleibt hier stehen")
		page := b.Do("POST", "/sandbox/contacts/new", form).Want(503, `value="Behalten"`, form.Get("form-token"), "data-countdown", "Das liegt am Server und nicht an Ihrer Eingabe. Sie bleibt hier stehen")
		message := b.Do("POST", "/sandbox/contacts/new", form, pagetest.Script...).Want(503, `class="banner`, "data-countdown", "Das liegt am Server und nicht an Ihrer Eingabe.")
		if strings.Contains(message.Body, "<html") || message.Header.Get("HX-Retarget") != "#faults" || message.Header.Get("Retry-After") == "" {
			t.Errorf("a script gets %v\n%s", message.Header, message.Body)
		}
		if read := b.Get("/sandbox/contacts").Want(503, `href="/sandbox/contacts"`); strings.Contains(read.Body, "Eingabe") {
			t.Errorf("a page that was not sent speaks of what was entered: %s", read.Main())
		}
		o.API.Pause(false)
		again := page.Send("/sandbox/contacts/new").Want(303)
		if twice := page.Send("/sandbox/contacts/new").Want(303); twice.Location != again.Location {
			t.Errorf("the same form made %s and %s", again.Location, twice.Location)
		}

		// A form whose token is too old stays on the page and gets a new token.
		before := b.Get("/contacts").Body
		o.Clock.Advance(21 * time.Hour)
		b.Cookie = o.Session(regexp.MustCompile(`data-me="([^"]+)"`).FindStringSubmatch(before)[1])
		old := b.Do("POST", "/sandbox/contacts/new", form, pagetest.Script...).Want(422, "noch einmal senden")
		token := old.Header.Get("Kartei-Token")
		if token == "" || token == form.Get("form-token") {
			t.Fatalf("an old form gets the token %q", token)
		}
		form.Set("form-token", token)
		form.Set("lastName", "Spät")
		b.Do("POST", "/sandbox/contacts/new", form).Want(303)
	})
}

// TestSignInOverPage checks that a script whose session has ended gets a dialog for the sign-in.
// The page below the dialog is not replaced.
func TestSignInOverPage(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := pagetest.Open(t, o, access.Member)
		form := b.Get("/sandbox/contacts/new").Want(200).Fields("/sandbox/contacts/new")
		form.Set("lastName", "Behalten")
		b.Cookie = ""
		ask := b.Do("POST", "/sandbox/contacts/new", form, pagetest.Script...).Want(401, `action="/signin"`, `id="over-title"`)
		if ask.Header.Get("Kartei-Dialog") == "" || strings.Contains(ask.Body, "Behalten") {
			t.Errorf("a script is asked with %v\n%s", ask.Header, ask.Main())
		}
		b.Do("GET", "/sandbox/contacts", nil, pagetest.Script...).Want(401, `action="/signin"`)
		b.Do("GET", "/sandbox/contacts", nil, "HX-Request", "true", "Kartei-Live", "1").Want(401)
		b.Get("/sandbox/contacts").Want(303)
	})
}

// TestLive checks that the event stream reports only the families of changed records. The stream
// ends with its session, and at once when the process ends.
func TestLive(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b := pagetest.Open(t, o, access.Member)
		server := httptest.NewServer(b.Handler)
		defer server.Close()
		s := listen(t, server, b.Cookie, "/sandbox/live")
		if s.line(t) != ":" {
			t.Error("the stream does not begin with a sign of life")
		}
		id := o.As(access.Member).Do("POST", "/contacts", `{"lastName":"Geheim"}`).Want(201).Text("id")
		told := s.line(t)
		if !strings.Contains(told, "data: contacts") || strings.Contains(told, id) || strings.Contains(told, "Geheim") {
			t.Errorf("the stream tells %q", told)
		}
		last := struct{ at int64 }{}
		seen := func() (at int64) {
			dbtest.Get(t, d, []any{&at}, `select max(last_seen_at) from sessions`)
			return at
		}
		last.at = seen()
		if line, open := s.wake(t, o.Clock); line != ":" || !open {
			t.Errorf("after 25 seconds the stream says %q", line)
		}
		if seen() != last.at {
			t.Error("the stream keeps its session alive")
		}
		dbtest.Run(t, d, `update sessions set ended_at = $1`, 1)
		o.Directory.Forget()
		for open := true; open; {
			_, open = s.wake(t, o.Clock)
		}
		if again := b.Get("/sandbox/live"); again.Status != 401 || again.Body != "" {
			t.Errorf("a stream of an ended session: %d %q", again.Status, again.Body)
		}
		b.Cookie = o.Session(o.As(access.Member).Principal)
		s = listen(t, server, b.Cookie, "/sandbox/live")
		s.line(t)
		o.API.EndWatches()
		s.ends(t)
	})
}

// TestLiveEnds checks that a stream which the server ends has its last chunk. This must hold even
// if the write deadline of the last line has passed. Without the chunk, browsers report a broken
// connection.
func TestLiveEnds(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1))
	b := pagetest.Open(t, o, access.Member)
	var control *http.ResponseController
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control = http.NewResponseController(w)
		b.Handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	line, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	fmt.Fprintf(line, "GET /sandbox/live HTTP/1.1\r\nHost: kartei.example\r\nCookie: __Host-kartei=%s\r\n\r\n", b.Cookie)
	answer, err := http.ReadResponse(bufio.NewReader(line), nil)
	if err != nil || answer.StatusCode != 200 || !slices.Equal(answer.TransferEncoding, []string{"chunked"}) {
		t.Fatalf("%v %v", answer, err)
	}
	begin := make([]byte, len(":\n\n"))
	if _, err := io.ReadFull(answer.Body, begin); err != nil {
		t.Fatal(err)
	}
	if err := control.SetWriteDeadline(time.Unix(1, 0)); err != nil { // as if the deadline of the last line had passed
		t.Fatal(err)
	}
	o.API.EndWatches()
	if rest, err := io.ReadAll(answer.Body); err != nil {
		t.Errorf("the stream breaks off after %q: %v", rest, err)
	}
}

// TestLiveLeavesNothing checks that 200 streams, opened and closed at the same time, leave no
// goroutine.
func TestLiveLeavesNothing(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1))
	b := pagetest.Open(t, o, access.Member)
	cookies := make([]string, 50)
	for i := range cookies {
		cookies[i] = o.Session(o.As(access.Member).Principal)
	}
	server := httptest.NewServer(b.Handler)
	defer server.Close()
	before := goleak.IgnoreCurrent()
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			s := listen(t, server, cookies[i%50], "/sandbox/live")
			s.line(t)
			s.kill()
		})
	}
	all.Wait()
	server.Client().CloseIdleConnections()
	leaktest.None(t, before)
	for _, cookie := range cookies { // each session can open four streams again
		s := listen(t, server, cookie, "/sandbox/live")
		s.line(t)
		s.kill()
	}
}

// stream is an open event stream. lines are its events, and kill closes the connection.
type stream struct {
	lines chan string
	kill  func()
}

// listen opens a stream. It fails the test if the response is not an event stream.
func listen(t testing.TB, server *httptest.Server, cookie, path string) *stream {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: "__Host-kartei", Value: cookie})
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Error(err)
		return &stream{lines: make(chan string), kill: func() {}}
	}
	if answer.StatusCode != 200 || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("the stream is answered with %d %v", answer.StatusCode, answer.Header)
	}
	s := &stream{lines: make(chan string, 100), kill: func() { answer.Body.Close() }}
	go func() {
		defer close(s.lines)
		buffer := make([]byte, 4096)
		for {
			n, err := answer.Body.Read(buffer)
			for _, line := range strings.Split(strings.TrimSpace(string(buffer[:n])), "\n\n") {
				if n > 0 {
					s.lines <- line
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

// line returns the next event of the stream. It fails the test if the stream ends or no event
// comes.
func (s *stream) line(t testing.TB) string {
	t.Helper()
	select {
	case line, open := <-s.lines:
		if !open {
			t.Error("the stream has ended")
		}
		return line
	case <-waittest.New().Stuck():
		t.Error("the stream says nothing")
	}
	return ""
}

// wake advances the clock until the stream has an event or ends. One step may not be enough: the
// stream may have read the clock before the step and begun to wait after it.
func (s *stream) wake(t testing.TB, c *clock.Fake) (line string, open bool) {
	t.Helper()
	stuck := waittest.New()
	for {
		waited := c.Waited()
		c.Advance(25 * time.Second)
		select {
		case line, open = <-s.lines:
			return line, open
		case <-stuck.Stuck():
			t.Fatal("the stream says nothing")
		case <-waited:
		}
	}
}

// ends waits for the end of the stream.
func (s *stream) ends(t testing.TB) {
	t.Helper()
	for {
		select {
		case _, open := <-s.lines:
			if !open {
				return
			}
		case <-waittest.New().Stuck():
			t.Fatal("the stream does not end")
		}
	}
}

// TestRefresh checks that a reload by a script gets status 304 if the content is unchanged.
func TestRefresh(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := apitest.New(t, d, apitest.Replicas(1))
		b, c := pagetest.Open(t, o, access.Member), o.As(access.Member)
		id := c.Do("POST", "/contacts", `{"lastName":"Berg"}`).Want(201).Text("id")
		for _, path := range []string{"/sandbox/contacts", "/sandbox/contacts/" + id, "/sandbox/"} {
			refresh := []string{"HX-Request", "true", "Kartei-Live", "1"}
			first := b.Do("GET", path, nil, refresh...).Want(200, "data-live")
			tag := first.Header.Get("ETag")
			same := b.Do("GET", path, nil, append(refresh, "If-None-Match", tag)...)
			if same.Status != 304 || same.Body != "" {
				t.Errorf("%s: unchanged, it answers %d with %d bytes", path, same.Status, len(same.Body))
			}
			c.Do("PATCH", "/contacts/"+id, map[string]any{"lastName": "Berg" + tag[1:6]}, "If-Match", "*").Want(200)
			b.Do("GET", path, nil, append(refresh, "If-None-Match", tag)...).Want(200, "Berg"+tag[1:6])
		}
		b.Get("/sandbox/contacts/new").Want(200)
		news := b.Get("/sandbox/news/"+id+"?since=2").Want(200, "Nachname geändert", `target="_blank"`)
		if strings.Contains(news.Body, "Berg") {
			t.Error("the line above a form names contents")
		}
		if got := b.Get("/sandbox/news/" + id + "?since=9"); got.Status != 204 {
			t.Errorf("without news: %d", got.Status)
		}
		c.Do("DELETE", "/contacts/"+id, nil, "If-Match", "*").Want(204)
		b.Do("GET", "/sandbox/contacts/"+id, nil, "HX-Request", "true", "Kartei-Live", "1").Want(404, "Nicht mehr da", `id="main"`)
		b.Get("/sandbox/news/"+id+"?since=1").Want(200, "gelöscht")
	})
}

// TestReadOnly checks that each page shows a notice while the database accepts no writes.
func TestReadOnly(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t))
	session, reads := o.Session(o.As(access.Member).Principal), false
	b := &pagetest.Browser{T: t, Handler: app.Handler(shell.Options{
		API: o.API, Uploads: o.Uploads(), Address: func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") }, Trace: serve.Trace(nil), BaseURL: "https://kartei.example",
		Clock: o.Clock, FormKey: make([]byte, 32), Public: http.NotFoundHandler(), Asset: web.Asset, Logger: slog.New(slog.DiscardHandler),
		ReadOnly: func() bool { return reads },
	}), Cookie: session}
	const said = "Zurzeit wird nichts gespeichert"
	for _, reads = range []bool{false, true} {
		for _, path := range []string{"/", "/contacts", "/settings/profile"} {
			if got := strings.Contains(b.Get(path).Want(200).Body, said); got != reads {
				t.Errorf("%s says it: %t, want %t", path, got, reads)
			}
		}
	}
}
