package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"kartei"
	"kartei/door/web/reference"
	"kartei/kit/fault"
)

//go:embed templates/*.html
var templateFiles embed.FS

// The pages without an address of their own.
const (
	pathMissing = "!404"
	pathMethod  = "!405"
)

// exampleRequestID is the request id of all examples.
const exampleRequestID = "req_01m7q5p4xjf0r8yq3v6w2t9m7c"

// page is the data of a template.
type page struct {
	Options
	Language fault.Language
	// Path is the page's own address, without a language.
	Path  string
	Title string
	// Entry is the problem of a problem page.
	Entry fault.Entry
	// Template is the name of the template that renders the page.
	Template string
	// Article is the content of a page written in Markdown.
	Article article
	// Version is the API version of a page of the reference. Doc is the
	// document of the version; Group and Op are the subject of the page.
	Version string
	Doc     *reference.Document
	Group   reference.Group
	Op      reference.Operation
	// Elsewhere reports whether another version has a page with this path.
	Elsewhere func(version, path string) bool
	assets    *assets
}

// Say returns the sentence in the page's language.
func (p page) Say(de, en string) string { return fault.Text{DE: de, EN: en}.In(p.Language) }

// In returns the text in the page's language.
func (p page) In(t fault.Text) string { return t.In(p.Language) }

// Prose returns the text in the page's language, with words in backticks as
// code.
func (p page) Prose(t fault.Text) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(t.In(p.Language), "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

// Marked is Prose for a text in a template.
func (p page) Marked(de, en string) template.HTML { return p.Prose(fault.Text{DE: de, EN: en}) }

// Link returns an address of this site and keeps the page's language. Links
// within the reference keep its version.
func (p page) Link(path string) string {
	if p.Version != "" && p.Version != p.Versions[0] && (path == "/docs" || strings.HasPrefix(path, docsPath)) {
		path, fragment, _ := strings.Cut(path, "#")
		if fragment != "" {
			fragment = "#" + fragment
		}
		path += "?version=" + p.Version + fragment
		return withLanguage(path, p.Language)
	}
	return withLanguage(path, p.Language)
}

// Stands returns the announcement about the version of the page, if there is
// one.
func (p page) Stands() string { return p.In(p.Standing[p.Version]) }

// Other returns the other language.
func (p page) Other() fault.Language {
	if p.Language == fault.English {
		return fault.German
	}
	return fault.English
}

// OtherLink returns this page's address in the other language.
func (p page) OtherLink() string {
	target := p.Path
	if strings.HasPrefix(target, "!") {
		target = "/"
	}
	if p.Version != "" && p.Version != p.Versions[0] {
		target += "?version=" + p.Version
	}
	return withLanguage(target, p.Other())
}

func withLanguage(path string, l fault.Language) string {
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	path, fragment, found := strings.Cut(path, "#")
	path += sep + "lang=" + string(l)
	if found {
		path += "#" + fragment
	}
	return path
}

// Problem returns the address of a code's page.
func (p page) Problem(c fault.Code) string { return p.Link(problemPath(c)) }

// Asset returns the address of a static file.
func (p page) Asset(name string) (string, error) { return p.assets.url(name) }

// Problems returns the catalogue.
func (p page) Problems() []fault.Entry {
	var entries []fault.Entry
	for _, c := range fault.Codes() {
		entries = append(entries, c.Entry())
	}
	return entries
}

// Fields returns the catalogue of field codes.
func (p page) Fields() []fault.FieldEntry {
	var entries []fault.FieldEntry
	for _, c := range fault.FieldCodes() {
		entries = append(entries, c.Entry())
	}
	return entries
}

// StatusText returns the name of the problem's status.
func (p page) StatusText() string { return http.StatusText(p.Entry.Status) }

// TypeURI returns the type member of the problem.
func (p page) TypeURI() string { return p.Entry.Code.TypeURI(p.BaseURL) }

// Answer returns the complete response to the entry's example, with an indented
// body.
func (p page) Answer() (string, error) {
	e := p.Entry
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

// lazy is a page that is rendered on its first request. An instance has several
// hundred pages, and most are never read.
type lazy = func() (*content, error)

// pageRenderer renders pages.
type pageRenderer struct {
	options   Options
	assets    *assets
	templates map[string]*template.Template
}

func newRenderer(o Options, a *assets) (pageRenderer, error) {
	r := pageRenderer{options: o, assets: a, templates: map[string]*template.Template{}}
	for _, name := range []string{"start", "article", "problems", "problem", "message", "reference", "group", "operation", "webhooks"} {
		t, err := template.ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/"+name+".html")
		if err != nil {
			return r, fmt.Errorf("web: %w", err)
		}
		r.templates[name] = t
	}
	return r, nil
}

// pages returns the given pages by path.
func (r pageRenderer) pages(list []page) map[string]lazy {
	pages := map[string]lazy{}
	for _, p := range list {
		pages[p.Path] = sync.OnceValues(func() (*content, error) {
			var b bytes.Buffer
			if err := r.templates[p.Template].ExecuteTemplate(&b, "layout", p); err != nil {
				return nil, fmt.Errorf("web: %s: %w", p.Path, err)
			}
			return newContent("text/html; charset=utf-8", cachePage, b.Bytes()), nil
		})
	}
	return pages
}

// plain returns the pages outside the reference, in one language.
func (r pageRenderer) plain(l fault.Language) (map[string]lazy, error) {
	base := page{Options: r.options, Language: l, assets: r.assets}
	list := base.list()
	for path, text := range map[string][]byte{"/guide": guide(r.options.BaseURL), "/changelog": kartei.Changelog} {
		drawn, err := newArticle(text)
		if err != nil {
			return nil, err
		}
		p := base
		p.Template, p.Path, p.Title, p.Article = "article", path, p.Say("Leitfaden", "Guide"), drawn
		if path == "/changelog" {
			p.Title = p.Say("Änderungen", "Changes")
		}
		list = append(list, p)
	}
	return r.pages(list), nil
}

// reference returns the pages of the reference in one language and one version.
func (r pageRenderer) reference(l fault.Language, version string, document []byte, elsewhere func(version, path string) bool) (map[string]lazy, error) {
	doc, err := reference.Read(document)
	if err != nil {
		return nil, err
	}
	base := page{Options: r.options, Language: l, Version: version, Doc: doc, Elsewhere: elsewhere, assets: r.assets}
	return r.pages(base.reference()), nil
}

// list returns the pages that need nothing but a template.
func (p page) list() []page {
	at := func(template, path, title string) page {
		p.Template, p.Path, p.Title = template, path, title
		return p
	}
	pages := []page{
		at("start", PathAbout, p.Say("Übersicht", "Overview")),
		at("problems", "/problems", p.Say("Problemcodes", "Problem codes")),
		at("message", pathMissing, p.Say("Seite nicht gefunden", "Page not found")),
		at("message", pathMethod, p.Say("Methode nicht erlaubt", "Method not allowed")),
	}
	for _, e := range p.Problems() {
		one := at("problem", problemPath(e.Code), p.In(e.Title))
		one.Entry = e
		pages = append(pages, one)
	}
	return pages
}
