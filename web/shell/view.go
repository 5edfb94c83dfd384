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

// View is a response to a request for a page. This file has the types that implement it.
type View interface {
	// answer writes the status, the headers and the body.
	answer(v *Request)
}

// HTML is a page, or a part of a page for a script. The status is 200 unless WithStatus sets
// another.
type HTML struct {
	Body   templ.Component
	status int
	// secret says that the body contains a secret.
	secret bool
	// message says that the body is a message, which a script shows above the page.
	message bool
}

// WithStatus returns a copy of the page with another status.
func (p HTML) WithStatus(status int) HTML {
	p.status = status
	return p
}

// WithSecret returns a copy of the page that is marked as containing a secret. Such a page is not
// compressed, so that its size reveals nothing about the secret.
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

// pack returns a render function that compresses the output of draw.
func pack(draw func(context.Context, io.Writer) error) func(context.Context, io.Writer) error {
	return func(ctx context.Context, w io.Writer) error {
		packer := packers.Get().(*gzip.Writer)
		defer packers.Put(packer)
		packer.Reset(w)
		return errors.Join(draw(ctx, packer), packer.Close())
	}
}

// packers pools gzip writers. Compressed pages are safe from attacks by size (BREACH): none has a
// secret beside a text that an attacker can choose. Form tokens differ in each response.
var packers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, packing)
	if err != nil {
		panic(err) // packing is not a valid level
	}
	return w
}}

// packing is the gzip level. A list with fifty rows gets 1 % larger than at level 5 of
// compress/gzip, which takes 2.5 times as long.
const packing = 6

// Redirect is a redirect to an address, which the browser then reads by GET (303).
type Redirect struct{ To string }

func (r Redirect) answer(v *Request) {
	http.Redirect(v.Writer, v.Request, r.To, http.StatusSeeOther)
}

// Forward serves another request in place of the current one, without a redirect.
type Forward struct{ To *http.Request }

func (f Forward) answer(v *Request) { v.Site.pages.ServeHTTP(v.Writer, f.To) }

// PlainText is a plain text response for a script. If Text is empty, there is no body.
type PlainText struct {
	Status int
	Text   string
}

func (t PlainText) answer(v *Request) {
	if t.Text != "" {
		v.Writer.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	v.Writer.WriteHeader(t.Status)
	_, _ = io.WriteString(v.Writer, t.Text) // an error means that the client has disconnected
}

// JSON is a JSON response for a script.
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

// Status is a response without a body.
type Status int

func (s Status) answer(v *Request) { v.Writer.WriteHeader(int(s)) }

// stream is the View of a page that has already sent its response. Its answer
// method does nothing.
type stream struct{}

func (stream) answer(*Request) {}

// Picture is the image of one page of a document.
type Picture struct{ Page *document.Page }

func (p Picture) answer(v *Request) {
	v.Writer.Header().Set("Content-Type", p.Page.ContentType)
	v.Writer.Header().Set("Content-Length", strconv.Itoa(len(p.Page.Image)))
	_, _ = v.Writer.Write(p.Page.Image) // an error means that the client has disconnected
}

// File is a file from the API, with the headers of a download. It leaves out Cache-Control: API
// clients may cache a file and revalidate it, but a browser must store nothing.
type File struct{ Response *api.Response }

func (f File) answer(v *Request) {
	for name, values := range f.Response.Header {
		if name != "Cache-Control" {
			v.Writer.Header()[name] = values
		}
	}
	if f.Response.File == nil { // the browser has the file already (304)
		v.Writer.WriteHeader(f.Response.Status)
		return
	}
	transfer.Send(v.Writer, v.Request, f.Response.File)
}

// Download is a file that the page generates. If Write fails, the connection is aborted. The
// browser then does not take a part for the whole file.
type Download struct {
	Name, MediaType string
	Write           func(http.ResponseWriter) error
}

// answer writes the file. The Content Security Policy applies if a browser shows the file instead
// of storing it. A connection that the client closed is not an error.
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

// NameOfFile returns a file name made from a text and an extension. Characters with a meaning for
// file systems, and invisible characters that reorder text, become spaces. The name has at most 80
// characters before the extension.
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
