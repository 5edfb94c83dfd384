package web

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/go-json-experiment/json/jsontext"

	"kartei"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/web/reference"
)

// These are the keys of pages without a path of their own.
const (
	pathMissing = "!404"
	pathMethod  = "!405"
)

// exampleRequestID is the request id in all examples.
const exampleRequestID = "req_01m7q5p4xjf0r8yq3v6w2t9m7c"

// page is the data of a public page.
type page struct {
	Options
	Language i18n.Language
	// Path is the path of the page, without the language.
	Path  string
	Title string
	// draw returns the component that renders the page.
	draw func(page) templ.Component
	// Version is the API version of a reference page. Doc is the document of that version. Group is
	// the group of operations to which the page belongs.
	Version string
	Doc     *reference.Document
	Group   reference.Group
	// Elsewhere reports whether the reference of another version has a page with this path.
	Elsewhere func(version, path string) bool
	assets    *assets
}

// Say returns a text in the page's language, with values for its formatting verbs.
func (p page) Say(t i18n.Text, values ...any) string {
	return p.Language.Say(t, values...)
}

// Link returns an address on this site in the page's language. Links within the reference keep the
// version.
func (p page) Link(path string) string {
	if p.Version != "" && p.Version != p.Versions[0] && (path == "/docs" || strings.HasPrefix(path, docsPath)) {
		path, fragment, _ := strings.Cut(path, "#")
		if fragment != "" {
			fragment = "#" + fragment
		}
		path += "?version=" + p.Version + fragment
		return i18n.Link(path, p.Language)
	}
	return i18n.Link(path, p.Language)
}

// Announcement returns the announcement about the page's version. It is empty if there is none.
func (p page) Announcement() string { return p.Say(p.Announcements[p.Version]) }

// Number returns a number with the separators of the language, such as 10.000 or 10,000.
func (p page) Number(n int64) string { return i18n.Words{Language: p.Language}.Number(int(n)) }

// OtherLink returns the address of this page in another language.
func (p page) OtherLink(l i18n.Language) string {
	target := p.Path
	if strings.HasPrefix(target, "!") {
		target = "/"
	}
	if p.Version != "" && p.Version != p.Versions[0] {
		target += "?version=" + p.Version
	}
	return i18n.Link(target, l)
}

// Problem returns the address of the page about a problem code.
func (p page) Problem(c fault.Code) string { return p.Link(problemPath(c)) }

// Asset returns the path of a static file. It fails for an unknown name.
func (p page) Asset(name string) (string, error) { return p.assets.url(inLanguage(name, p.Language)) }

// problems returns all problem codes with their texts.
func problems() []fault.Entry {
	var entries []fault.Entry
	for _, c := range fault.Codes() {
		entries = append(entries, c.Entry())
	}
	return entries
}

// exampleOf returns the complete HTTP response in the example of a problem code. The body is
// indented.
func (p page) exampleOf(e fault.Entry) (string, error) {
	f := e.Example.Fault
	body := f.AppendProblem(nil, fault.Problem{
		TypeBase: p.BaseURL, Instance: e.Example.Instance, RequestID: exampleRequestID, Language: p.Language,
	})
	status, head := e.Status, "Content-Type: application/problem+json\nContent-Language: "+string(p.Language)
	if e.Example.InOperation {
		status, head = http.StatusOK, "Content-Type: application/json"
		body = fmt.Appendf(nil, `{"object":"operation","id":%q,"type":"documents.create","status":"failed","progress":100,"result":null,"error":%s,`+
			`"createdAt":"2026-11-01T09:30:00.000000Z","startedAt":"2026-11-01T09:30:00.200000Z","finishedAt":"2026-11-01T09:30:01.500000Z"}`,
			path.Base(e.Example.Instance), body)
	}
	value := jsontext.Value(body)
	if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\n", status, http.StatusText(status))
	fmt.Fprintf(&b, "%s\nRequest-Id: %s\n", head, exampleRequestID)
	if wait := f.Wait(); wait > 0 {
		fmt.Fprintf(&b, "Retry-After: %d\n", (wait+time.Second-1)/time.Second)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, f.Header[name])
	}
	return b.String() + "\n" + string(value), nil
}

// lazy is a page that is rendered on its first request. An instance has several hundred pages, and
// most of them are never requested.
type lazy = func() (*content, error)

// pageRenderer renders pages.
type pageRenderer struct {
	options Options
	assets  *assets
}

// pages returns pages by path, each rendered on its first request.
func (r pageRenderer) pages(list []page) map[string]lazy {
	pages := map[string]lazy{}
	for _, p := range list {
		pages[p.Path] = sync.OnceValues(func() (*content, error) {
			var b bytes.Buffer
			if err := p.draw(p).Render(context.Background(), &b); err != nil {
				return nil, fmt.Errorf("web: %s: %w", p.Path, err)
			}
			return newContent("text/html; charset=utf-8", cachePage, b.Bytes()), nil
		})
	}
	return pages
}

// plain returns the pages outside the reference, in one language.
func (r pageRenderer) plain(l i18n.Language) map[string]lazy {
	return r.pages(page{Options: r.options, Language: l, assets: r.assets}.list())
}

// reference returns the pages of the reference in one language and one version. It fails if the
// document cannot be parsed.
func (r pageRenderer) reference(
	l i18n.Language, version string, document []byte, elsewhere func(version, path string) bool,
) (map[string]lazy, error) {
	doc, err := reference.Read(document)
	if err != nil {
		return nil, err
	}
	base := page{Options: r.options, Language: l, Version: version, Doc: doc, Elsewhere: elsewhere, assets: r.assets}
	return r.pages(base.reference()), nil
}

// list returns the pages outside the reference. Each is a copy of p with its own path and title.
func (p page) list() []page {
	at := func(path, title string, draw func(page) templ.Component) page {
		one := p
		one.Path, one.Title, one.draw = path, title, draw
		return one
	}
	written := func(path, title string, read func(page) article) page {
		return at(path, title, func(p page) templ.Component { return articlePage(p, read(p)) })
	}
	pages := []page{
		at(PathAbout, p.Say("Overview"), startPage),
		written("/guide", p.Say("Guide"), func(p page) article { return guideArticle(p.BaseURL, p.Language) }),
		written("/changelog", p.Say("Changes"),
			func(page) article { return newArticle(kartei.Changelog, i18n.English) }),
		at("/problems", p.Say("Problem codes"), problemsPage),
		at(pathMissing, p.Say("Page not found"), missingPage),
		at(pathMethod, p.Say("Method not allowed"), methodPage),
	}
	for _, e := range problems() {
		pages = append(pages, at(problemPath(e.Code), p.Say(e.Title),
			func(p page) templ.Component { return problemPage(p, e) }))
	}
	return pages
}
