// Package web owns the public pages of an instance: start page, guide, API reference and problem pages.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"kartei/api/openapi"
	"kartei/docs/examples"
	"kartei/kit/accept"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/web/reference"
)

// Options describe the instance.
type Options struct {
	// BaseURL is the public address of the instance, without /v1 and without a slash at the end.
	// The type of every problem begins with it.
	BaseURL string
	// Versions are the supported API versions, the current one first.
	Versions []string
	// Announcements maps a version to a notice for integrators: not released yet, deprecated, or
	// the date of its end. Most versions have no entry.
	Announcements map[string]i18n.Text
	// Styleguide enables /styleguide, for developers.
	Styleguide bool
}

// policy is the Content Security Policy. Pages load one style sheet and one script, and have no
// inline code. The script never turns text into markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// cachePage and cacheHashed are values of Cache-Control. Pages and documents are revalidated each
// time: a 304 is cheap, and an upgrade must not mix old and new texts. Files with a hash in their
// name are cached for a year.
const (
	cachePage   = "no-cache"
	cacheHashed = "public, max-age=31536000, immutable"
)

// content is a response that is generated once.
type content struct {
	contentType string
	cache       string
	etag        string
	body        []byte
	gzipped     []byte
}

// compressors pools gzip writers. Each has 800 KB of tables, and a hundred pages may be generated
// in sequence.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// newContent returns a response with its compressed body and its ETag.
func newContent(contentType, cache string, body []byte) *content {
	var packed bytes.Buffer
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	w.Reset(&packed)
	_, _ = w.Write(body)
	_ = w.Close()
	sum := sha256.Sum256(body)
	return &content{
		contentType: contentType, cache: cache, etag: hex.EncodeToString(sum[:8]), body: body,
		gzipped: packed.Bytes(),
	}
}

type handler struct {
	options Options
	files   map[string]*content
	assets  *assets
	// pages has the pages outside the reference by language and path.
	pages     map[i18n.Language]map[string]lazy
	documents *documents
	// references has the pages of the reference by language and version, then by path.
	references map[i18n.Language]map[string]func() (map[string]lazy, error)
	llmsFull   lazy
}

// PathAbout is the path of the overview page. The path / belongs to the web application.
const PathAbout = "/about"

// Handler returns the handler of the public pages: /about, /guide, /changelog, /docs and everything
// below it, /problems, /problems/{CODE}, /llms.txt and /static/. All other paths get a 404 page.
// Handler fails if o has no versions, or a version without a document.
func Handler(o Options) (http.Handler, error) {
	if len(o.Versions) == 0 {
		return nil, fmt.Errorf("web: no API version given")
	}
	h := &handler{
		options: o, documents: newDocuments(o),
		pages:      map[i18n.Language]map[string]lazy{},
		references: map[i18n.Language]map[string]func() (map[string]lazy, error){},
	}
	for _, version := range o.Versions {
		if _, found := openapi.Document(version); !found {
			return nil, fmt.Errorf("web: version %s has no OpenAPI document", version)
		}
	}
	h.llmsFull = sync.OnceValues(h.full)
	assets, err := loaded()
	if err != nil {
		return nil, err
	}
	h.assets, h.files = assets, maps.Clone(assets.files)
	h.files[pathMirror] = newContent("text/plain; charset=utf-8", cachePage, examples.Mirror)
	h.files[pathGuideMarkdown] = newContent("text/markdown; charset=utf-8", cachePage, guide(o.BaseURL, i18n.English))
	h.files["/llms.txt"] = newContent("text/plain; charset=utf-8", cachePage, llms(o))
	r := pageRenderer{options: o, assets: assets}
	for _, l := range i18n.Languages {
		h.pages[l] = r.plain(l)
		h.references[l] = map[string]func() (map[string]lazy, error){}
		for _, version := range o.Versions {
			h.references[l][version] = sync.OnceValues(func() (map[string]lazy, error) {
				document, err := h.documents.made[form{pathReference, version, l}]()
				if err != nil {
					return nil, err
				}
				return r.reference(l, version, document.body, h.hasReference)
			})
		}
	}
	return h, nil
}

// full generates /llms-full.txt on its first request.
func (h *handler) full() (*content, error) {
	document, err := h.documents.made[form{pathReference, h.options.Versions[0], i18n.English}]()
	if err != nil {
		return nil, err
	}
	d, err := reference.Read(document.body)
	if err != nil {
		return nil, err
	}
	return newContent("text/plain; charset=utf-8", cachePage, llmsFull(h.options, d)), nil
}

// hasReference reports whether the reference of a version has a page with this path.
func (h *handler) hasReference(version, path string) bool {
	pages, err := h.references[i18n.German][version]()
	return err == nil && pages[path] != nil
}

// ServeHTTP serves GET and HEAD requests. The response to any other method is 405.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setSecurity(w.Header())
	l := i18n.OfPage(r)
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
	if h.options.Styleguide && (path == pathStyleguide || strings.HasPrefix(path, pathStyleguide+"/")) {
		h.styleguide(w, r)
		return
	}
	switch path {
	case "/favicon.ico": // pages link their icon, but some browsers request this path anyway
		w.WriteHeader(http.StatusNoContent)
		return
	case "/llms-full.txt":
		h.draw(w, r, i18n.English, h.llmsFull, http.StatusOK)
		return
	case pathJSON, pathYAML, pathReference:
		h.documents.serve(w, r)
		return
	}
	pages, err := h.pagesFor(r, l)
	if err != nil {
		h.fail(w, err)
		return
	}
	if pages[path] != nil && strings.HasPrefix(path, "/") {
		h.draw(w, r, l, pages[path], http.StatusOK)
		return
	}
	if short := strings.TrimSuffix(path, "/"); short != path && pages[short] != nil {
		if r.URL.RawQuery != "" {
			short += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, short, http.StatusPermanentRedirect)
		return
	}
	h.page(w, r, l, pathMissing, http.StatusNotFound)
}

// pagesFor returns the pages among which the requested page must be: the reference in one version,
// or all other pages. It returns nil for an unknown version.
func (h *handler) pagesFor(r *http.Request, l i18n.Language) (map[string]lazy, error) {
	if r.URL.Path != "/docs" && !strings.HasPrefix(r.URL.Path, docsPath) {
		return h.pages[l], nil
	}
	version, ok := h.version(r)
	if !ok {
		return nil, nil
	}
	return h.references[l][version]()
}

// setSecurity sets the security headers of every response. No page sets a cookie.
func setSecurity(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

func (h *handler) page(w http.ResponseWriter, r *http.Request, l i18n.Language, path string, status int) {
	h.draw(w, r, l, h.pages[l][path], status)
}

// draw renders a page and sends it.
func (h *handler) draw(w http.ResponseWriter, r *http.Request, l i18n.Language, page lazy, status int) {
	c, err := page()
	if err != nil {
		h.fail(w, err)
		return
	}
	setLanguage(w.Header(), l)
	c.serve(w, r, status)
}

// fail sends a 500 response if a page cannot be rendered. This is always an error in the program.
func (h *handler) fail(w http.ResponseWriter, err error) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, "This page cannot be shown: "+err.Error(), http.StatusInternalServerError)
}

func setLanguage(header http.Header, l i18n.Language) {
	header.Set("Content-Language", string(l))
	header.Add("Vary", "Accept-Language")
}

// version returns the requested version of the reference, and whether the version exists.
func (h *handler) version(r *http.Request) (string, bool) {
	v := r.URL.Query().Get("version")
	if v == "" {
		return h.options.Versions[0], true
	}
	return v, slices.Contains(h.options.Versions, v)
}

// serve sends c, compressed if the client accepts gzip. If the client has the current content, the
// response is 304.
func (c *content) serve(w http.ResponseWriter, r *http.Request, status int) {
	header := w.Header()
	header.Add("Vary", "Accept-Encoding")
	body, etag := c.body, `"`+c.etag+`"`
	if accept.Gzip(r.Header.Get("Accept-Encoding")) && len(c.gzipped) < len(c.body) {
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

// matches reports whether an If-None-Match header contains etag, by weak comparison (RFC 9110,
// section 13.1.2).
func matches(header, etag string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if tag == etag || tag == "*" {
			return true
		}
	}
	return false
}

// problemPath returns the path of the page about a problem code.
func problemPath(c fault.Code) string { return "/problems/" + url.PathEscape(string(c)) }
