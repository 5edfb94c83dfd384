// Package web owns the pages that people read in a browser: the start page, the API reference and the problem pages.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"kartei/api/openapi"
	"kartei/examples"
	"kartei/fault"
)

// Options is what the pages need to know of the instance.
type Options struct {
	// BaseURL is the public address of the instance, without /v1 and without
	// a slash at the end; the type of every problem begins with it.
	BaseURL string
	// Versions are the API versions served, the current one first.
	Versions []string
	// Standing says what is to be known of a version besides: that it is not
	// released yet, is deprecated, or ends. Others are not there.
	Standing map[string]fault.Text
}

// Content security policies. Pages bring one style sheet and no script.
const (
	pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// The reference is drawn by a script of ours, never inline and never by
	// eval. Redoc writes style elements while it draws: each answer has a nonce
	// of its own for them. Its search runs in a worker that it builds from a
	// blob, and its arrows are data: images.
	docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self' data:; connect-src 'self'; " +
		"worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// How long a browser may keep an answer without asking again: pages and
// documents not at all, since a 304 is cheap and an upgrade must not show old
// words beside new ones; files whose name holds their hash for a year.
const (
	cachePage   = "no-cache"
	cacheHashed = "public, max-age=31536000, immutable"
)

// content is an answer that is made once, at start.
type content struct {
	contentType string
	cache       string
	etag        string
	body        []byte
	gzipped     []byte
}

// compressors are kept because each has 800 KB of tables, and a start makes a
// hundred pages.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// newContent makes an answer and its compressed form.
func newContent(contentType, cache string, body []byte) *content {
	var packed bytes.Buffer
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	w.Reset(&packed)
	_, _ = w.Write(body)
	_ = w.Close()
	return packedContent(contentType, cache, body, packed.Bytes())
}

// packedContent makes an answer whose compressed form is there already.
func packedContent(contentType, cache string, body, gzipped []byte) *content {
	sum := sha256.Sum256(body)
	return &content{contentType: contentType, cache: cache, etag: hex.EncodeToString(sum[:8]), body: body, gzipped: gzipped}
}

type handler struct {
	options Options
	files   map[string]*content
	// pages, in each language, by path.
	pages     map[fault.Language]map[string]*content
	documents *documents
	// docs is the reference's page, by language and version, with room for
	// the nonce.
	docs map[fault.Language]map[string]string
}

// Handler returns the handler of the pages: /, /guide, /docs and its documents,
// /problems, /problems/{CODE} and /static/. Anything else is a 404 page. It
// fails where a version has no document.
func Handler(o Options) (http.Handler, error) {
	if len(o.Versions) == 0 {
		return nil, fmt.Errorf("web: no API version given")
	}
	h := &handler{options: o, documents: newDocuments(o)}
	for _, version := range o.Versions {
		if _, found := openapi.Document(version); !found {
			return nil, fmt.Errorf("web: version %s has no OpenAPI document", version)
		}
	}
	assets, err := loadAssets()
	if err != nil {
		return nil, err
	}
	h.files = assets.files
	h.files[pathMirror] = newContent("text/plain; charset=utf-8", cachePage, examples.Mirror)
	r := renderer{options: o, assets: assets}
	if h.pages, h.docs, err = r.all(); err != nil {
		return nil, err
	}
	return h, nil
}

// ServeHTTP answers GET and HEAD; every other method is 405.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setSecurity(w.Header())
	l := language(r)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		h.page(w, r, l, pathMethod, http.StatusMethodNotAllowed)
		return
	}
	path := r.URL.Path
	if file, ok := h.files[path]; ok {
		file.serve(w, r, http.StatusOK)
		return
	}
	switch path {
	case "/docs":
		h.serveDocs(w, r, l)
		return
	case "/favicon.ico": // pages name their icon; some browsers ask here all the same
		w.WriteHeader(http.StatusNoContent)
		return
	case pathJSON, pathYAML, pathReference:
		h.documents.serve(w, r)
		return
	}
	if h.pages[l][path] != nil && strings.HasPrefix(path, "/") {
		h.page(w, r, l, path, http.StatusOK)
		return
	}
	if short := strings.TrimSuffix(path, "/"); short == "/docs" || short != path && h.pages[l][short] != nil {
		if r.URL.RawQuery != "" {
			short += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, short, http.StatusPermanentRedirect)
		return
	}
	h.page(w, r, l, pathMissing, http.StatusNotFound)
}

// setSecurity sets what every answer carries. No page sets a cookie.
func setSecurity(header http.Header) {
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

func (h *handler) page(w http.ResponseWriter, r *http.Request, l fault.Language, path string, status int) {
	setLanguage(w.Header(), l)
	h.pages[l][path].serve(w, r, status)
}

func setLanguage(header http.Header, l fault.Language) {
	header.Set("Content-Language", string(l))
	header.Add("Vary", "Accept-Language")
}

// version returns the version that a page of the reference is asked for.
func (h *handler) version(r *http.Request) (string, bool) {
	v := r.URL.Query().Get("version")
	if v == "" {
		return h.options.Versions[0], true
	}
	return v, slices.Contains(h.options.Versions, v)
}

func (h *handler) serveDocs(w http.ResponseWriter, r *http.Request, l fault.Language) {
	version, ok := h.version(r)
	if !ok {
		h.page(w, r, l, pathMissing, http.StatusNotFound)
		return
	}
	nonce := rand.Text()
	header := w.Header()
	header.Set("Content-Security-Policy", fmt.Sprintf(docsPolicy, nonce))
	header.Set("Cache-Control", "no-store") // a nonce is used once
	header.Set("Content-Type", "text/html; charset=utf-8")
	setLanguage(header, l)
	body := strings.ReplaceAll(h.docs[l][version], nonceMark, nonce)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(body))
	}
}

// serve writes c, compressed where the client takes gzip, or 304 where it has
// it already.
func (c *content) serve(w http.ResponseWriter, r *http.Request, status int) {
	header := w.Header()
	header.Add("Vary", "Accept-Encoding")
	body, etag := c.body, `"`+c.etag+`"`
	if acceptsGzip(r.Header.Get("Accept-Encoding")) && len(c.gzipped) < len(c.body) {
		body, etag = c.gzipped, `"`+c.etag+`-gz"`
		header.Set("Content-Encoding", "gzip")
	}
	if status == http.StatusOK {
		header.Set("ETag", etag)
		header.Set("Cache-Control", c.cache)
		if matches(r.Header.Get("If-None-Match"), etag) {
			header.Del("Content-Encoding")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	} else {
		header.Set("Cache-Control", "no-cache")
	}
	header.Set("Content-Type", c.contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// matches reports whether an If-None-Match names etag, by weak comparison
// (RFC 9110 section 13.1.2).
func matches(header, etag string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if tag == etag || tag == "*" {
			return true
		}
	}
	return false
}

// acceptsGzip reports whether an Accept-Encoding allows gzip by name.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return quality(params) > 0
		}
	}
	return false
}

// problemPath returns the path of a code's page.
func problemPath(c fault.Code) string { return "/problems/" + url.PathEscape(string(c)) }
