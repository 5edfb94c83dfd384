package office

import (
	"maps"
	"net/http"
	"strings"

	"kartei/kit/fault"
	"kartei/web/i18n"
)

// outside serves unknown addresses. A person who is signed in sees the refusal within
// the application, in the environment that the address names.
func (h *handler) outside(w http.ResponseWriter, r *http.Request) {
	if _, err := r.Cookie(h.cookie); err != nil || r.Method == http.MethodHead {
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
	v := &request{
		Request: r, office: h, w: w, page: &Page{Path: r.URL.Path}, nonce: newNonce(),
		sandbox: r.URL.Path == sandboxPath || strings.HasPrefix(r.URL.Path, sandboxPath+"/"),
		words:   i18n.Words{Language: languageOf(r), Now: h.Clock.Now()},
	}
	if v.token = v.cookie(); v.identify() != nil {
		h.Public.ServeHTTP(w, r)
		return
	}
	setHeaders(w.Header(), v.nonce)
	if r.Method != http.MethodGet && h.reads(r) {
		w.Header().Set("Allow", "GET, HEAD")
		v.show(v.problem(http.StatusMethodNotAllowed, problemPage{
			Title: v.words.Say("Das geht hier nicht", "Not possible here"),
			Text:  v.words.Say("Diese Seite lässt sich nur lesen. Es wurde nichts geändert.", "This page can only be read. Nothing was changed."),
		}))
		return
	}
	v.show(v.failed(fault.New(fault.NotFound)))
}

// reads reports whether the address of a request has a page to read.
func (h *handler) reads(r *http.Request) bool {
	get := r.Clone(r.Context())
	get.Method, get.Body = http.MethodHead, http.NoBody
	if _, pattern := h.pages.Handler(get); pattern != "/" {
		return true
	}
	found := &foundOnly{ResponseWriter: nowhere{}, header: http.Header{}}
	h.Public.ServeHTTP(found, get)
	return !found.missed
}

// foundOnly passes an answer on, unless its status is 404.
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

// nowhere takes an answer that nobody reads.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}
