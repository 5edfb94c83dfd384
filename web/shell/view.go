package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/a-h/templ"
	"github.com/klauspost/compress/gzip"

	"kartei/api"
	"kartei/door/transfer"
	"kartei/kit/accept"
	"kartei/record/document"
)

// View is the answer of a page. Its kinds are the types of this file.
type View interface {
	// answer writes the status, the headers and the body.
	answer(v *Request)
}

// HTML is a page, or a part of one for a script. Its status is 200 if WithStatus sets no
// other.
type HTML struct {
	Body   templ.Component
	status int
	// secret says that the body shows a secret.
	secret bool
	// message says that the body is a message, which a script shows above the page.
	message bool
}

// WithStatus returns the page with another status.
func (p HTML) WithStatus(status int) HTML {
	p.status = status
	return p
}

// WithSecret returns the page as one that shows a secret. It is not compressed then, so that its
// size tells nothing about the secret.
func (p HTML) WithSecret() HTML {
	p.secret = true
	return p
}

func (p HTML) answer(v *Request) {
	p.status = cmp.Or(p.status, http.StatusOK)
	if v.refreshing() && p.status == http.StatusOK {
		v.refresh(p)
		return
	}
	p.send(v)
}

// send writes the page.
func (p HTML) send(v *Request) {
	h := v.Writer.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", string(v.Words.Language))
	if p.message {
		h.Set("HX-Retarget", "#faults")
		h.Set("HX-Reswap", "innerHTML")
		h.Set("HX-Reselect", ".banner")
	}
	packed := accept.Gzip(v.Header.Get("Accept-Encoding")) && !p.secret
	if packed {
		h.Set("Content-Encoding", "gzip")
	}
	v.Writer.WriteHeader(p.status)
	if v.Method == http.MethodHead {
		return
	}
	draw := p.Body.Render
	if packed {
		draw = pack(draw)
	}
	if err := draw(v.Context(), v.Writer); err != nil && v.Context().Err() == nil {
		v.Site.Logger.Error("a page could not be drawn", slog.String("page", v.Page.Path), slog.Any("error", err))
	}
}

// pack returns a drawing whose bytes are compressed.
func pack(draw func(context.Context, io.Writer) error) func(context.Context, io.Writer) error {
	return func(ctx context.Context, w io.Writer) error {
		packer := packers.Get().(*gzip.Writer)
		defer packers.Put(packer)
		packer.Reset(w)
		return errors.Join(draw(ctx, packer), packer.Close())
	}
}

// packers pools the writers of compressed pages. No compressed page has a secret
// beside a text that somebody else can choose: tokens of forms differ in every
// answer.
var packers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, packing)
	if err != nil {
		panic(err) // packing is no level
	}
	return w
}}

// packing is the level of compression. A list with fifty rows has 1 % more bytes than by
// level 5 of the standard library, which takes 2.5 times as long.
const packing = 6

// Redirect sends the browser to an address, which it reads by GET (303).
type Redirect struct{ To string }

func (r Redirect) answer(v *Request) {
	http.Redirect(v.Writer, v.Request, r.To, http.StatusSeeOther)
}

// Forward answers another request in the place of this one, without a redirect.
type Forward struct{ To *http.Request }

func (f Forward) answer(v *Request) { v.Site.pages.ServeHTTP(v.Writer, f.To) }

// PlainText is a text for a script.
type PlainText struct {
	Status int
	Text   string
}

func (t PlainText) answer(v *Request) {
	if t.Text != "" {
		v.Writer.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	v.Writer.WriteHeader(t.Status)
	_, _ = io.WriteString(v.Writer, t.Text) // a client that went away needs no error
}

// JSON is data for a script.
type JSON struct {
	Status int
	Value  any
}

func (j JSON) answer(v *Request) {
	v.Writer.Header().Set("Content-Type", "application/json")
	v.Writer.WriteHeader(j.Status)
	if err := json.NewEncoder(v.Writer).Encode(j.Value); err != nil && v.Context().Err() == nil {
		v.Site.Logger.Error("an answer could not be sent", slog.String("page", v.Page.Path), slog.Any("error", err))
	}
}

// Status is an answer without content.
type Status int

func (s Status) answer(v *Request) { v.Writer.WriteHeader(int(s)) }

// stream is the View of a page that has already sent its response. Its answer
// method does nothing.
type stream struct{}

func (stream) answer(*Request) {}

// Picture is the picture of a page of a document.
type Picture struct{ Page *document.Page }

func (p Picture) answer(v *Request) {
	v.Writer.Header().Set("Content-Type", p.Page.ContentType)
	v.Writer.Header().Set("Content-Length", strconv.Itoa(len(p.Page.Image)))
	_, _ = v.Writer.Write(p.Page.Image) // a client that went away needs no error
}

// File is a file of the API, with the headers that make it a download. The API lets programs
// keep a file and ask whether it is the same; a browser keeps nothing.
type File struct{ Response *api.Response }

func (f File) answer(v *Request) {
	for name, values := range f.Response.Header {
		if name != "Cache-Control" {
			v.Writer.Header()[name] = values
		}
	}
	if f.Response.File == nil { // the browser has it already
		v.Writer.WriteHeader(f.Response.Status)
		return
	}
	transfer.Send(v.Writer, v.Request, f.Response.File)
}

// Download is a file that a page writes for the browser to store. If it cannot be finished the
// connection is cut, so that no browser takes a part for the whole.
type Download struct {
	Name, MediaType string
	Write           func(http.ResponseWriter) error
}

// answer writes the file. The policy holds if a browser shows it instead of storing it. A
// connection that the client closed is no fault.
func (d Download) answer(v *Request) {
	h := v.Writer.Header()
	h.Set("Content-Type", d.MediaType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": d.Name}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	v.Writer.WriteHeader(http.StatusOK)
	if err := d.Write(v.Writer); err != nil && v.Context().Err() == nil {
		v.Site.Logger.Warn("a file could not be sent", slog.String("page", v.Page.Path), slog.Any("error", err))
		panic(http.ErrAbortHandler)
	}
}

// NameOfFile returns the name of a file from a text: without what file systems and
// mail programs take for something else.
func NameOfFile(text, ending string) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`<>:"/\|?*`, r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f {
			return ' '
		}
		return r
	}, text)
	name = strings.Trim(strings.Join(strings.Fields(name), " "), ". ")
	if runes := []rune(name); len(runes) > 80 {
		name = string(runes[:80])
	}
	return cmp.Or(name, "kartei") + "." + ending
}
