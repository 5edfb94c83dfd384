package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/web/reference"
)

// part is a page and how a list of members stands on it.
type part struct {
	page
	// prefix begins the ids of members. Without a prefix the members have no
	// ids.
	prefix string
	// isAnswer is true for members of an answer. Required members and lengths are
	// not shown there, since they are of no use to a reader.
	isAnswer bool
}

// part returns how members of a request stand on the page.
func (p page) part(prefix string) part { return part{page: p, prefix: prefix} }

// answer returns how members of an answer stand on the page.
func (p page) answer(prefix string) part { return part{page: p, prefix: prefix, isAnswer: true} }

// below returns how the objects within a member stand.
func (p part) below(m reference.Member) part {
	if p.prefix != "" {
		p.prefix += "." + m.Name
	}
	return p
}

// ID returns the id of a member, empty if it has none.
func (p part) ID(m reference.Member) string {
	if p.prefix == "" || m.Name == "*" {
		return ""
	}
	return p.prefix + "." + m.Name
}

// Count returns the number of members of an object in words.
func (p part) Count(n int) string {
	if n == 1 {
		return p.Say("1 member")
	}
	return p.Say("%s members", strconv.Itoa(n))
}

// TypeOf returns the type of a member in words.
func (p part) TypeOf(m reference.Member) string {
	kind := m.Type()
	if m.Format != "" && m.Format != "int32" && m.Format != "int64" && m.Format != "uri-reference" {
		kind += " (" + m.Format + ")"
	}
	switch {
	case kind == "":
		kind = "JSON"
	case m.List:
		kind = p.Say("list of %s", kind)
	}
	if m.Nullable {
		kind += p.Say(" or null")
	}
	return kind
}

// rule is a fact about a member: its name, values that stand as code, and what
// follows.
type rule struct {
	name   string
	values []string
	more   string
}

// Rules returns the other facts about a member: values, bounds, default,
// example.
func (p part) Rules(m reference.Member) []rule {
	var rules []rule
	if len(m.Values) > 0 && !(len(m.Values) == 1 && p.isAnswer && !m.Open) {
		values := rule{name: p.Say("Values: "), values: m.Values}
		if m.Open {
			values.more = p.Say(" (more may be added)")
		}
		rules = append(rules, values)
	}
	if !p.isAnswer {
		for _, bound := range p.bounds(m) {
			rules = append(rules, rule{name: bound})
		}
		if m.Default != "" {
			rules = append(rules, rule{name: p.Say("Default: "), values: []string{m.Default}})
		}
	}
	if m.Example != "" && len(m.Example) <= 60 && len(m.Values) == 0 && m.Example != "[]" && m.Example != m.Default {
		rules = append(rules, rule{name: p.Say("Example: "), values: []string{m.Example}})
	}
	return rules
}

// bounds returns the limits of length, value and count in words. A value with a
// fixed format gets no length.
func (p part) bounds(m reference.Member) []string {
	var said []string
	if m.Length.Any() && !(m.Length.Most != nil && *m.Length.Most < 10) && m.Format == "" &&
		!strings.HasSuffix(m.Name, "Id") && m.Name != "id" && len(m.Values) == 0 {
		said = append(said, p.Say("%s characters", p.between(m.Length)))
	}
	if m.Range.Any() && !(m.Range.Most != nil && *m.Range.Most > 1<<40) {
		said = append(said, p.between(m.Range))
	}
	if m.Count.Any() {
		said = append(said, p.Say("%s items", p.between(m.Count)))
	}
	return said
}

func (p part) between(b reference.Bounds) string {
	switch {
	case b.Least == nil || *b.Least == 0 && b.Most != nil:
		return p.Say("at most %s", p.Number(*b.Most))
	case b.Most == nil:
		return p.Say("at least %s", p.Number(*b.Least))
	}
	return p.Say("%s to %s", p.Number(*b.Least), p.Number(*b.Most))
}

// FirstCall returns the first call that a reader should try.
func (p page) FirstCall() string {
	return `curl -H "Authorization: Bearer $KARTEI_KEY" ` + p.BaseURL + "/v1/me"
}

// groupTitles are readable titles for the tags of the document.
var groupTitles = map[string]i18n.Text{
	"meta":              "Access and limits",
	"contacts":          "Contacts",
	"companies":         "Companies",
	"tasks":             "Tasks",
	"documents":         "Documents",
	"uploads":           "Uploads",
	"batch":             "Batches",
	"operations":        "Operations",
	"webhook_endpoints": "Webhook endpoints",
	"events":            "Events",
}

// GroupTitle returns the title of a group. A title in the document takes
// precedence over groupTitles.
func (p page) GroupTitle(g reference.Group) string {
	if g.Title != "" {
		return g.Title
	}
	if t, ok := groupTitles[g.Name]; ok {
		return p.Say(t)
	}
	return g.Name
}

// PlaceTitle returns the heading for the parameters of one kind: path, query or
// header.
func (p page) PlaceTitle(in string) string {
	switch in {
	case "path":
		return p.Say("Path parameters")
	case "query":
		return p.Say("Query parameters")
	}
	return p.Say("Headers of the request")
}

// Prefix returns the path that all operations share.
func (p page) Prefix() string {
	u, err := url.Parse(p.Doc.Server)
	if err != nil {
		return ""
	}
	return u.Path
}

// GroupLink returns the address of a group.
func (p page) GroupLink(g reference.Group) string { return p.Link(docsPath + g.Slug) }

// OperationLink returns the address of an operation.
func (p page) OperationLink(o reference.Operation) string { return p.Link(docsPath + o.Slug) }

// EventLink returns the address of an event type.
func (p page) EventLink(name string) string { return p.Link("/docs/webhooks#" + name) }

// DocumentLink returns the address of the OpenAPI document that the page shows.
func (p page) DocumentLink() string { return p.Link(pathJSON) }

// Inside reports whether the page belongs to a group.
func (p page) Inside(g reference.Group) bool { return p.Group.Slug == g.Slug }

// here marks the link to the page itself.
func (p page) here(path string) templ.Attributes {
	if p.Path == path {
		return templ.Attributes{"aria-current": "page"}
	}
	return nil
}

// current marks the link to the page, or to its section of the site.
func (p page) current(path string) templ.Attributes {
	if strings.HasPrefix(p.Path, path+"/") {
		return templ.Attributes{"aria-current": "true"}
	}
	return p.here(path)
}

// InVersion returns the address of a page of the reference in another version.
func (p page) InVersion(path, version string) string {
	if version != p.Versions[0] {
		path += "?version=" + version
	}
	return i18n.Link(path, p.Language)
}

// VersionLink returns the address of this page in another version. If that
// version lacks the page, it is the address of the introduction.
func (p page) VersionLink(version string) string {
	if p.Elsewhere != nil && p.Elsewhere(version, p.Path) {
		return p.InVersion(p.Path, version)
	}
	return p.InVersion("/docs", version)
}

// Status returns a status code and its name.
func (p page) Status(status string) string {
	n, _ := strconv.Atoi(status)
	return strings.TrimSpace(status + " " + http.StatusText(n))
}

// ProblemOf returns the address of a code's page.
func (p page) ProblemOf(code string) string { return p.Problem(fault.Code(code)) }

// ProblemTitle returns the title of a code.
func (p page) ProblemTitle(code string) string {
	if c := fault.Code(code); c.Known() {
		return p.Say(c.Entry().Title)
	}
	return ""
}

// hookPath is the path of a receiver in examples.
const hookPath = "/hooks/kartei"

// deliveryOf returns a complete webhook delivery, with headers and body.
func deliveryOf(hook reference.Operation) string {
	var b strings.Builder
	for _, place := range hook.Parameters {
		for _, h := range place.Parameters {
			fmt.Fprintf(&b, "%s: %s\n", h.Name, h.Example)
		}
	}
	return b.String() + "\n" + hook.Body.Example
}

// names returns the names of headers in one text.
func names(headers []reference.Header) string {
	all := make([]string, len(headers))
	for i, h := range headers {
		all[i] = h.Name
	}
	return strings.Join(all, ", ")
}

// Before returns the operation before o.
func (p page) Before(o reference.Operation) *reference.Operation { return p.neighbour(o, -1) }

// After returns the operation after o.
func (p page) After(o reference.Operation) *reference.Operation { return p.neighbour(o, 1) }

func (p page) neighbour(o reference.Operation, step int) *reference.Operation {
	var all []reference.Operation
	for _, g := range p.Doc.Groups {
		all = append(all, g.Operations...)
	}
	i := step + slices.IndexFunc(all, func(other reference.Operation) bool { return other.ID == o.ID })
	if i < 0 || i >= len(all) {
		return nil
	}
	return &all[i]
}

// docsPath is the start of the paths of the reference.
const docsPath = "/docs/"

// reference returns the pages of the reference, as copies of p.
func (p page) reference() []page {
	at := func(path, title string, draw func(page) templ.Component) page {
		one := p
		one.Path, one.Title, one.draw = path, title, draw
		return one
	}
	pages := []page{at("/docs", p.Say("API reference"), introductionPage)}
	if len(p.Doc.Webhooks) > 0 {
		pages = append(pages, at(docsPath+"webhooks", p.Say("Webhooks"), webhooksPage))
	}
	for _, g := range p.Doc.Groups {
		p.Group = g
		pages = append(pages, at(docsPath+g.Slug, p.GroupTitle(g), groupPage))
		for _, o := range g.Operations {
			pages = append(pages, at(docsPath+o.Slug, o.Summary, func(p page) templ.Component { return operationPage(p, o) }))
		}
	}
	return pages
}
