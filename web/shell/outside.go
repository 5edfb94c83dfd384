package shell

import (
	"maps"
	"net/http"
	"strings"

	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// outside serves requests whose path has no page. If Public does not serve the path either, a
// person who is signed in sees the error page within the application. A path below /sandbox shows
// the error page in the sandbox.
func (h *Site) outside(w http.ResponseWriter, r *http.Request) {
	if _, err := r.Cookie(h.Cookie); err != nil || r.Method == http.MethodHead {
		h.Public.ServeHTTP(w, r)
		return
	}
	if r.Method == http.MethodGet {
		found := &foundOnly{ResponseWriter: w, header: http.Header{}}
		h.Public.ServeHTTP(found, r)
		if !found.missed {
			return
		}
	}
	v := &Request{
		Request: r, Site: h, Writer: w, Page: &Page{Path: r.URL.Path}, nonce: newNonce(),
		Sandbox: r.URL.Path == SandboxPath || strings.HasPrefix(r.URL.Path, SandboxPath+"/"),
		Words:   i18n.Words{Language: i18n.OfPage(r), Now: h.Clock.Now()},
	}
	if v.Token = v.cookie(); v.Identify() != nil {
		h.Public.ServeHTTP(w, r)
		return
	}
	setHeaders(w.Header(), v.nonce)
	if r.Method != http.MethodGet && h.reads(r) {
		w.Header().Set("Allow", "GET, HEAD")
		v.show(v.Problem(http.StatusMethodNotAllowed, ProblemPage{
			Title: v.Words.Say("Not possible here"),
			Text:  v.Words.Say("This page can only be read. Nothing was changed."),
		}))
		return
	}
	v.show(v.Failed(fault.New(fault.NotFound)))
}

// reads reports whether a GET request for the same path would find a page.
func (h *Site) reads(r *http.Request) bool {
	get := r.Clone(r.Context())
	get.Method, get.Body = http.MethodHead, http.NoBody
	if _, pattern := h.pages.Handler(get); pattern != "/" {
		return true
	}
	found := &foundOnly{ResponseWriter: nowhere{}, header: http.Header{}}
	h.Public.ServeHTTP(found, get)
	return !found.missed
}

// foundOnly passes a response on to its ResponseWriter, unless the status is 404.
type foundOnly struct {
	http.ResponseWriter
	header         http.Header
	missed, passed bool
}

func (f *foundOnly) Header() http.Header { return f.header }

func (f *foundOnly) WriteHeader(status int) {
	if f.missed = status == http.StatusNotFound; f.missed {
		return
	}
	f.passed = true
	maps.Copy(f.ResponseWriter.Header(), f.header)
	f.ResponseWriter.WriteHeader(status)
}

func (f *foundOnly) Write(b []byte) (int, error) {
	switch {
	case f.missed:
		return len(b), nil
	case !f.passed:
		f.WriteHeader(http.StatusOK)
	}
	return f.ResponseWriter.Write(b)
}

// nowhere is a ResponseWriter that discards the response.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}
