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
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"kartei/fault"
)

//go:embed templates/*.html
var templateFiles embed.FS

// Pages that have no address of their own.
const (
	pathMissing = "!404"
	pathMethod  = "!405"
)

// nonceMark stands where each answer has its own nonce.
const nonceMark = "nonce-goes-here"

// exampleRequestID is the id in every example.
const exampleRequestID = "req_01m7q5p4xjf0r8yq3v6w2t9m7c"

// page is what a template sees.
type page struct {
	Options
	Language fault.Language
	// Path is the page's own address, without a language.
	Path  string
	Title string
	// Entry is the problem of a problem page.
	Entry fault.Entry
	// Version is the API version of the reference.
	Version string
	Nonce   string
	// Guide is the guide's text, drawn.
	Guide  template.HTML
	assets *assets
}

// Say returns the sentence in the page's language.
func (p page) Say(de, en string) string { return fault.Text{DE: de, EN: en}.In(p.Language) }

// In returns the text in the page's language.
func (p page) In(t fault.Text) string { return t.In(p.Language) }

// Prose returns the text in the page's language, with what stands between
// backticks as code.
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

// Marked is Prose of a text that stands in a template.
func (p page) Marked(de, en string) template.HTML { return p.Prose(fault.Text{DE: de, EN: en}) }

// Link returns an address of this site that keeps the page's language.
func (p page) Link(path string) string { return withLanguage(path, p.Language) }

// Stands returns what is to be known of the version that the page shows, or
// nothing.
func (p page) Stands() string { return p.In(p.Standing[p.Version]) }

// Other returns the language that the page is not in.
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

// Answer returns the answer to the entry's example, as it is sent, its body
// indented.
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

// renderer draws every page once.
type renderer struct {
	options Options
	assets  *assets
}

// all returns the pages by language and path, and the reference's pages by
// language and version.
func (r renderer) all() (pages map[fault.Language]map[string]*content, docs map[fault.Language]map[string]string, err error) {
	templates := map[string]*template.Template{}
	for _, name := range []string{"start", "guide", "problems", "problem", "message", "docs"} {
		t, err := template.ParseFS(templateFiles, "templates/layout.html", "templates/"+name+".html")
		if err != nil {
			return nil, nil, fmt.Errorf("web: %w", err)
		}
		templates[name] = t
	}
	draw := func(name string, p page) []byte {
		var b bytes.Buffer
		if e := templates[name].ExecuteTemplate(&b, "layout", p); e != nil && err == nil {
			err = fmt.Errorf("web: %s: %w", p.Path, e)
		}
		return b.Bytes()
	}
	text, err := guide(r.options.BaseURL)
	if err != nil {
		return nil, nil, err
	}
	pages, docs = map[fault.Language]map[string]*content{}, map[fault.Language]map[string]string{}
	for _, l := range []fault.Language{fault.German, fault.English} {
		pages[l], docs[l] = map[string]*content{}, map[string]string{}
		base := page{Options: r.options, Language: l, Guide: text, assets: r.assets}
		for _, p := range base.list() {
			pages[l][p.Path] = newContent("text/html; charset=utf-8", cachePage, draw(p.template(), p))
		}
		for _, version := range r.options.Versions {
			p := base
			p.Path, p.Title, p.Version, p.Nonce = "/docs", p.Say("API-Referenz", "API reference"), version, nonceMark
			docs[l][version] = string(draw("docs", p))
		}
	}
	return pages, docs, err
}

// list returns the pages that are drawn from base.
func (p page) list() []page {
	at := func(path, title string) page {
		p.Path, p.Title = path, title
		return p
	}
	pages := []page{
		at("/", p.Say("Übersicht", "Overview")),
		at("/guide", p.Say("Leitfaden", "Guide")),
		at("/problems", p.Say("Problemcodes", "Problem codes")),
		at(pathMissing, p.Say("Seite nicht gefunden", "Page not found")),
		at(pathMethod, p.Say("Methode nicht erlaubt", "Method not allowed")),
	}
	for _, e := range p.Problems() {
		one := at(problemPath(e.Code), p.In(e.Title))
		one.Entry = e
		pages = append(pages, one)
	}
	return pages
}

// template returns the name of the template that draws the page.
func (p page) template() string {
	switch {
	case p.Entry.Code != "":
		return "problem"
	case p.Path == "/":
		return "start"
	case p.Path == "/guide", p.Path == "/problems":
		return p.Path[1:]
	}
	return "message"
}
