package shell

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"kartei/api"
	"kartei/record/document"
)

// answerOf returns the response of a view to a request with these headers.
func answerOf(view View, method string, header http.Header) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "/", nil)
	r.Header = header
	v := &Request{Request: r, Writer: w, Page: &Page{Path: "/"}, Site: &Site{Options: Options{Logger: slog.New(slog.DiscardHandler)}}}
	v.Site.pages = http.NewServeMux()
	v.Site.pages.HandleFunc("/there", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "there") })
	v.show(view)
	return w
}

func TestEachKindOfViewAnswers(t *testing.T) {
	body := templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "<main>text</main>")
		return err
	})
	gzipped := http.Header{"Accept-Encoding": {"gzip"}}
	write := func(w http.ResponseWriter) error {
		_, err := io.WriteString(w, "a;b")
		return err
	}
	for name, c := range map[string]struct {
		view   View
		method string
		header http.Header
		status int
		want   map[string]string
		absent []string
		body   string
	}{
		"page":        {view: HTML{Body: body}, status: 200, want: map[string]string{"Content-Type": "text/html; charset=utf-8"}, absent: []string{"ETag", "HX-Retarget", "Content-Encoding"}, body: "<main>text</main>"},
		"status":      {view: HTML{Body: body}.WithStatus(422), status: 422, body: "<main>text</main>"},
		"packed":      {view: HTML{Body: body}, header: gzipped, status: 200, want: map[string]string{"Content-Encoding": "gzip"}},
		"secret":      {view: HTML{Body: body}.WithSecret(), header: gzipped, status: 200, absent: []string{"Content-Encoding"}, body: "<main>text</main>"},
		"message":     {view: HTML{Body: body, message: true}.WithStatus(409), status: 409, want: map[string]string{"HX-Retarget": "#faults"}, body: "<main>text</main>"},
		"head":        {view: HTML{Body: body}, method: http.MethodHead, status: 200},
		"redirect":    {view: Redirect{To: "/there"}, method: http.MethodPost, status: 303, want: map[string]string{"Location": "/there"}},
		"forward":     {view: Forward{To: httptest.NewRequest(http.MethodGet, "/there", nil)}, status: 200, body: "there"},
		"plain text":  {view: PlainText{Status: 422, Text: "why"}, status: 422, want: map[string]string{"Content-Type": "text/plain; charset=utf-8"}, body: "why"},
		"no text":     {view: PlainText{Status: 401}, status: 401, absent: []string{"Content-Type"}},
		"data":        {view: JSON{Status: 403, Value: map[string]bool{"confirm": true}}, status: 403, want: map[string]string{"Content-Type": "application/json"}, body: `{"confirm":true}` + "\n"},
		"no content":  {view: Status(204), status: 204},
		"picture":     {view: Picture{&document.Page{ContentType: "image/png", Image: []byte("png")}}, status: 200, want: map[string]string{"Content-Type": "image/png", "Content-Length": "3"}, body: "png"},
		"file":        {view: File{&api.Response{Status: 304, Header: http.Header{"Etag": {`"a"`}, "Cache-Control": {"private"}}}}, status: 304, want: map[string]string{"ETag": `"a"`}, absent: []string{"Cache-Control"}},
		"download":    {view: Download{Name: "Büro.csv", MediaType: "text/csv", Write: write}, status: 200, want: map[string]string{"Content-Type": "text/csv", "Content-Security-Policy": "default-src 'none'; sandbox", "Content-Disposition": "attachment; filename*=utf-8''B%C3%BCro.csv"}, body: "a;b"},
		"sent stream": {view: stream{}, status: 200},
	} {
		if c.method == "" {
			c.method = http.MethodGet
		}
		if c.header == nil {
			c.header = http.Header{}
		}
		w := answerOf(c.view, c.method, c.header)
		if w.Code != c.status || w.Body.String() != c.body && c.want["Content-Encoding"] == "" {
			t.Errorf("%s: %d %q", name, w.Code, w.Body)
		}
		for header, want := range c.want {
			if got := w.Header().Get(header); got != want {
				t.Errorf("%s: %s is %q, not %q", name, header, got, want)
			}
		}
		for _, header := range c.absent {
			if got := w.Header().Get(header); got != "" {
				t.Errorf("%s: %s is %q", name, header, got)
			}
		}
	}
}

// TestRefreshedPageHasATag checks that a script with a matching ETag gets no body. A page with
// another status than 200 has no ETag.
func TestRefreshedPageHasATag(t *testing.T) {
	page := func(text string) HTML {
		return HTML{Body: templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, "<h1>now</h1><main>"+text+"</main>")
			return err
		})}
	}
	header := http.Header{"Kartei-Live": {"1"}}
	w := answerOf(page("one").WithSecret(), http.MethodGet, header)
	tag := w.Header().Get("ETag")
	if tag == "" || w.Code != 200 || !strings.Contains(w.Body.String(), "one") {
		t.Fatalf("%d %q %s", w.Code, tag, w.Body)
	}
	header.Set("If-None-Match", tag)
	header.Set("Accept-Encoding", "gzip")
	if w := answerOf(page("one"), http.MethodGet, header); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("the same content: %d with %d bytes", w.Code, w.Body.Len())
	}
	if w := answerOf(page("two").WithSecret(), http.MethodGet, header); w.Code != 200 || w.Header().Get("Content-Encoding") != "" || !strings.Contains(w.Body.String(), "two") {
		t.Errorf("other content with a secret: %d %q", w.Code, w.Body)
	}
	if w := answerOf(page("one").WithStatus(422), http.MethodGet, header); w.Code != 422 || w.Header().Get("ETag") != "" {
		t.Errorf("a refused form: %d %q", w.Code, w.Header().Get("ETag"))
	}
}

func TestUnfinishedDownloadIsCut(t *testing.T) {
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("the connection goes on: %v", got)
		}
	}()
	answerOf(Download{Name: "a.csv", MediaType: "text/csv", Write: func(http.ResponseWriter) error { return errors.New("broken") }}, http.MethodGet, http.Header{})
}
