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

// part is a page with the settings for a list of members.
type part struct {
	page
	// prefix is the prefix of the element ids of members. If it is empty, members have no ids.
	prefix string
	// isAnswer is true for members of a response. For these, the page leaves out lengths and
	// whether a member is required, since both are of no use to a reader.
	isAnswer bool
}

// part returns the settings for members of a request.
func (p page) part(prefix string) part { return part{page: p, prefix: prefix} }

// answer returns the settings for members of a response.
func (p page) answer(prefix string) part { return part{page: p, prefix: prefix, isAnswer: true} }

// below returns the settings for the objects within a member.
func (p part) below(m reference.Member) part {
	if p.prefix != "" {
		p.prefix += "." + m.Name
	}
	return p
}

// ID returns the element id of a member. It is empty if the member has none.
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

// rule is a fact about a member: its name, values that are shown as code, and text after the
// values.
type rule struct {
	name   string
	values []string
	more   string
}

// Rules returns further facts about a member: values, bounds, default and example.
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

// bounds returns the limits of length, value and number of items in words. A value with a fixed
// format has no length.
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

// FirstCall returns a curl command for the first call that a reader should try.
func (p page) FirstCall() string {
	return `curl -H "Authorization: Bearer $KARTEI_KEY" ` + p.BaseURL + "/v1/me"
}

// groupTitles maps the tags of the document to readable titles.
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

// GroupTitle returns the title of a group. A title in the document takes precedence over
// groupTitles.
func (p page) GroupTitle(g reference.Group) string {
	if g.Title != "" {
		return g.Title
	}
	if t, ok := groupTitles[g.Name]; ok {
		return p.Say(t)
	}
	return g.Name
}

// PlaceTitle returns the heading for the parameters in a place: path, query or header.
func (p page) PlaceTitle(in string) string {
	switch in {
	case "path":
		return p.Say("Path parameters")
	case "query":
		return p.Say("Query parameters")
	}
	return p.Say("Headers of the request")
}

// Prefix returns the path prefix of all operations.
func (p page) Prefix() string {
	u, err := url.Parse(p.Doc.Server)
	if err != nil {
		return ""
	}
	return u.Path
}

// GroupLink returns the address of a group's page.
func (p page) GroupLink(g reference.Group) string { return p.Link(docsPath + g.Slug) }

// OperationLink returns the address of an operation's page.
func (p page) OperationLink(o reference.Operation) string { return p.Link(docsPath + o.Slug) }

// EventLink returns the address of an event type in the reference.
func (p page) EventLink(name string) string { return p.Link("/docs/webhooks#" + name) }

// DocumentLink returns the address of the OpenAPI document that the page describes.
func (p page) DocumentLink() string { return p.Link(pathJSON) }

// Inside reports whether the page belongs to a group.
func (p page) Inside(g reference.Group) bool { return p.Group.Slug == g.Slug }

// here returns the attributes of a link. aria-current marks a link to the page itself.
func (p page) here(path string) templ.Attributes {
	if p.Path == path {
		return templ.Attributes{"aria-current": "page"}
	}
	return nil
}

// current returns the attributes of a link. aria-current marks a link to the page, or to its
// section of the site.
func (p page) current(path string) templ.Attributes {
	if strings.HasPrefix(p.Path, path+"/") {
		return templ.Attributes{"aria-current": "true"}
	}
	return p.here(path)
}

// InVersion returns the address of a reference page in another version.
func (p page) InVersion(path, version string) string {
	if version != p.Versions[0] {
		path += "?version=" + version
	}
	return i18n.Link(path, p.Language)
}

// VersionLink returns the address of this page in another version. If that version lacks the page,
// it is the address of the introduction.
func (p page) VersionLink(version string) string {
	if p.Elsewhere != nil && p.Elsewhere(version, p.Path) {
		return p.InVersion(p.Path, version)
	}
	return p.InVersion("/docs", version)
}

// Status returns a status code with its name, such as "404 Not Found".
func (p page) Status(status string) string {
	n, _ := strconv.Atoi(status)
	return strings.TrimSpace(status + " " + http.StatusText(n))
}

// ProblemOf returns the address of the page about a problem code.
func (p page) ProblemOf(code string) string { return p.Problem(fault.Code(code)) }

// ProblemTitle returns the title of a problem code. It is empty for an unknown code.
func (p page) ProblemTitle(code string) string {
	if c := fault.Code(code); c.Known() {
		return p.Say(c.Entry().Title)
	}
	return ""
}

// hookPath is the path of a webhook receiver in examples.
const hookPath = "/hooks/kartei"

// deliveryOf returns a complete webhook delivery with headers and body.
func deliveryOf(hook reference.Operation) string {
	var b strings.Builder
	for _, place := range hook.Parameters {
		for _, h := range place.Parameters {
			fmt.Fprintf(&b, "%s: %s\n", h.Name, h.Example)
		}
	}
	return b.String() + "\n" + hook.Body.Example
}

// names returns the names of headers, separated by commas.
func names(headers []reference.Header) string {
	all := make([]string, len(headers))
	for i, h := range headers {
		all[i] = h.Name
	}
	return strings.Join(all, ", ")
}

// Before returns the operation before o in the reference, or nil.
func (p page) Before(o reference.Operation) *reference.Operation { return p.neighbour(o, -1) }

// After returns the operation after o in the reference, or nil.
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

// docsPath is the prefix of the paths of reference pages.
const docsPath = "/docs/"

// reference returns the pages of the reference. Each is a copy of p with its own path and title.
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
