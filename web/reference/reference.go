// Package reference owns the content of the API reference: operations, members, responses and samples.
package reference

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Document is an OpenAPI document, converted for the pages of the reference.
type Document struct {
	Title, Summary, Version string
	// Server is the base URL of all paths.
	Server string
	// Sections are the parts of the description with a heading. Text is the part before the first
	// heading.
	Text     string
	Sections []Section
	Groups   []Group
	// Parameters are the header parameters of every operation. The parameters of an operation
	// contain such a parameter only if the operation requires it.
	Parameters []Member
	// Headers are the headers of every response. ProblemHeaders are the additional headers of every
	// error response.
	Headers, ProblemHeaders []Header
	// Webhooks are the deliveries of all event types.
	Webhooks []Operation
}

// Section is a part of the description. ID is the anchor of the heading.
type Section struct{ ID, Heading, Text string }

// Group is the part of the document with one tag.
type Group struct {
	Name, Slug, Title, Text string
	Operations              []Operation
	// Object is the object that the group's operations handle, or nil if there is none.
	Object *Object
	// Example is the object as a response contains it.
	Example string
}

// Operation is one call, or one delivery of a webhook.
type Operation struct {
	ID, Slug, Method, Path string
	Summary, Text          string
	// Facts are the entries in the last line of the description, such as the cost and the scope.
	Facts      []Fact
	Preview    bool
	Events     []string
	Parameters []Place
	Body       *Body
	Answers    []Answer
	Problems   []Problem
	Samples    []Sample
}

// Fact is a name and its value.
type Fact struct{ Name, Value string }

// Place has the parameters of an operation in one place. In is path, query or header.
type Place struct {
	In         string
	Parameters []Member
}

// Body is the content of a request or a response.
type Body struct {
	Text, Type string
	Objects    []Object
	Example    string
}

// Answer is a response that is not an error.
type Answer struct {
	Status, Text string
	Headers      []Header
	Body         *Body
}

// Problem has the error codes of one status.
type Problem struct {
	Status  string
	Codes   []string
	Headers []Header
}

// Header is a header of a response.
type Header struct{ Name, Text, Example string }

// Sample is the code of a call in one programming language.
type Sample struct {
	Lang   string `json:"lang"`
	Label  string `json:"label"`
	Source string `json:"source"`
}

// Name returns the label of the sample, or else its language.
func (s Sample) Name() string {
	if s.Label != "" {
		return s.Label
	}
	return s.Lang
}

// Read converts an OpenAPI document in JSON. It fails if the JSON is not valid or not an OpenAPI
// document.
func Read(data []byte) (*Document, error) {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	r := reader{document: &d}
	return r.read()
}

// reader converts an OpenAPI document into a Document.
type reader struct {
	*document
	// everywhere are the names of parameters that every operation has. common are the names of
	// headers that every response has. problem are the names of further headers that every error
	// response has.
	everywhere, common, problem []string
}

func (r *reader) read() (*Document, error) {
	shown := &Document{Title: r.Info.Title, Summary: r.Info.Summary, Version: r.Info.Version}
	if len(r.Servers) > 0 {
		shown.Server = r.Servers[0].URL
	}
	shown.Text, shown.Sections = sections(r.Info.Description)
	found, err := r.operations()
	if err != nil {
		return nil, err
	}
	r.findCommon(found, shown)
	for _, t := range r.Tags {
		g := Group{Name: t.Name, Slug: kebab(t.Name), Title: t.Title, Text: t.Description}
		for _, f := range found {
			if slices.Contains(f.operation.Tags, t.Name) {
				g.Operations = append(g.Operations, r.operation(f))
			}
		}
		if len(g.Operations) > 0 {
			g.Object, g.Example = object(g.Operations)
			shown.Groups = append(shown.Groups, g)
		}
	}
	for _, hook := range r.Webhooks {
		for _, o := range hook.value {
			shown.Webhooks = append(shown.Webhooks, r.operation(route{method: o.name, operation: o.value}))
		}
	}
	return shown, nil
}

// route is an operation with its method and path.
type route struct {
	method, path string
	operation    operation
}

// operations returns the operations in the order of the document. It fails if the JSON of an
// operation is not valid.
func (r *reader) operations() ([]route, error) {
	var all []route
	for _, path := range r.Paths {
		var shared []parameter
		if raw, ok := path.value.get("parameters"); ok {
			if err := json.Unmarshal(raw, &shared); err != nil {
				return nil, fmt.Errorf("reference: %s: %w", path.name, err)
			}
		}
		for _, method := range path.value {
			if !slices.Contains([]string{"get", "post", "put", "patch", "delete"}, method.name) {
				continue
			}
			f := route{method: method.name, path: path.name}
			if err := json.Unmarshal(method.value, &f.operation); err != nil {
				return nil, fmt.Errorf("reference: %s %s: %w", method.name, path.name, err)
			}
			f.operation.Parameters = append(slices.Clone(shared), f.operation.Parameters...)
			all = append(all, f)
		}
	}
	return all, nil
}

// findCommon finds the parameters of every operation and the headers of every response, and adds
// them to shown. The pages show these only once.
func (r *reader) findCommon(all []route, shown *Document) {
	parameters, answers, problems := counter{}, counter{}, counter{}
	for _, f := range all {
		var names []string
		for _, p := range f.operation.Parameters {
			if p = follow(p.Ref, r.Components.Parameters, p); p.In == "header" {
				names = append(names, p.Name)
			}
		}
		parameters.add(names)
		for _, one := range f.operation.Responses {
			answer := follow(one.value.Ref, r.Components.Responses, one.value)
			answers.add(namesOf(answer.Headers))
			if isProblem(answer) {
				problems.add(namesOf(answer.Headers))
			}
		}
	}
	r.everywhere, r.common = parameters.inAll(), answers.inAll()
	r.problem = slices.DeleteFunc(problems.inAll(), func(name string) bool { return slices.Contains(r.common, name) })
	shown.Parameters, shown.Headers, shown.ProblemHeaders = r.once(all)
}

// once returns the parameters and headers that the pages show once. Each description is from the
// first operation or response that has the parameter or header.
func (r *reader) once(all []route) (parameters []Member, headers, problemHeaders []Header) {
	for _, name := range r.everywhere {
		for _, f := range all {
			if i := slices.IndexFunc(f.operation.Parameters, func(p parameter) bool {
				p = follow(p.Ref, r.Components.Parameters, p)
				return p.Name == name && !p.Required
			}); i >= 0 {
				parameters = append(parameters, r.parameter(f.operation.Parameters[i]))
				break
			}
		}
	}
	seen := map[string]bool{}
	for _, f := range all {
		for _, one := range f.operation.Responses {
			answer := follow(one.value.Ref, r.Components.Responses, one.value)
			for _, h := range answer.Headers {
				switch {
				case seen[h.name]:
					continue
				case slices.Contains(r.common, h.name):
					headers = append(headers, r.header(h))
				case isProblem(answer) && slices.Contains(r.problem, h.name):
					problemHeaders = append(problemHeaders, r.header(h))
				default:
					continue
				}
				seen[h.name] = true
			}
		}
	}
	return parameters, headers, problemHeaders
}

// counter maps each name to the number of sets that contain it. The empty name
// maps to the number of all sets.
type counter map[string]int

func (c counter) add(names []string) {
	c[""]++
	for _, name := range names {
		c[name]++
	}
}

// inAll returns the names that are in every set.
func (c counter) inAll() []string {
	var names []string
	for name, n := range c {
		if name != "" && n == c[""] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func namesOf(headers orderedMap[header]) []string {
	var names []string
	for _, h := range headers {
		names = append(names, h.name)
	}
	return names
}

func isProblem(answer response) bool {
	_, ok := answer.Content.get("application/problem+json")
	return ok
}

// operation converts an operation for display.
func (r *reader) operation(f route) Operation {
	o := f.operation
	shown := Operation{
		ID: o.ID, Slug: slug(o.ID), Method: strings.ToUpper(f.method), Path: f.path, Summary: o.Summary,
		Preview: o.Channel == "preview", Events: o.Events, Samples: o.Samples,
	}
	shown.Text, shown.Facts = facts(o.Description)
	for _, in := range []string{"path", "query", "header"} {
		place := Place{In: in}
		for _, p := range o.Parameters {
			p = follow(p.Ref, r.Components.Parameters, p)
			if p.In == in && (p.Required || !slices.Contains(r.everywhere, p.Name)) {
				place.Parameters = append(place.Parameters, r.parameter(p))
			}
		}
		if len(place.Parameters) > 0 {
			shown.Parameters = append(shown.Parameters, place)
		}
	}
	if o.Body != nil {
		shown.Body = r.body(o.Body.Content)
		if shown.Body != nil {
			shown.Body.Text = o.Body.Description
		}
	}
	r.answers(o.Responses, &shown)
	return shown
}

// answers adds the responses to shown, as answers or as problems. It leaves out an error response
// without codes.
func (r *reader) answers(all orderedMap[response], shown *Operation) {
	for _, one := range all {
		answer := follow(one.value.Ref, r.Components.Responses, one.value)
		var headers []Header
		for _, h := range answer.Headers {
			if !slices.Contains(r.common, h.name) && (!isProblem(answer) || !slices.Contains(r.problem, h.name)) {
				headers = append(headers, r.header(h))
			}
		}
		switch {
		case !isProblem(answer):
			shown.Answers = append(shown.Answers, Answer{
				Status: one.name, Text: answer.Description, Headers: headers, Body: r.body(answer.Content),
			})
		case len(answer.Codes) > 0:
			shown.Problems = append(shown.Problems, Problem{Status: one.name, Codes: answer.Codes, Headers: headers})
		}
	}
}

func (r *reader) header(h member[header]) Header {
	value := follow(h.value.Ref, r.Components.Headers, h.value)
	return Header{Name: h.name, Text: value.Description, Example: plain(value.Example)}
}

func (r *reader) body(content orderedMap[media]) *Body {
	if len(content) == 0 {
		return nil
	}
	m := content[0].value
	b := &Body{Type: content[0].name}
	if m.Schema != nil {
		one := r.member("", m.Schema, nil)
		b.Objects = one.Objects
	}
	if len(m.Examples) > 0 {
		b.Example = indented(follow(m.Examples[0].value.Ref, r.Components.Examples, m.Examples[0].value).Value)
	}
	return b
}

// object returns the object of a group, with an example. It is the object in the response of the
// group's get operation.
func object(operations []Operation) (*Object, string) {
	for _, o := range operations {
		if !strings.HasSuffix(o.ID, ".get") {
			continue
		}
		for _, a := range o.Answers {
			if a.Status == "200" && a.Body != nil && len(a.Body.Objects) == 1 && strings.HasSuffix(o.Path, "}") {
				return &a.Body.Objects[0], a.Body.Example
			}
		}
	}
	return nil, ""
}

var heading = regexp.MustCompile(`^\*\*([^*]+)\*\*\s*`)

// sections returns the parts of a description, which begin at the paragraphs that begin with words
// in bold. These words are the heading. If the words end with a dot, they are removed from the text
// of the part. text is everything before the first heading.
func sections(description string) (text string, found []Section) {
	for paragraph := range strings.SplitSeq(description, "\n\n") {
		m := heading.FindStringSubmatch(paragraph)
		switch {
		case m != nil:
			body := strings.TrimPrefix(paragraph, m[0])
			if !strings.HasSuffix(m[1], ".") {
				body = m[1] + " " + body
			}
			title := strings.TrimSuffix(m[1], ".")
			found = append(found, Section{ID: "about-" + kebab(title), Heading: title, Text: body})
		case len(found) > 0:
			found[len(found)-1].Text += "\n\n" + paragraph
		default:
			text += "\n\n" + paragraph
		}
	}
	return strings.TrimSpace(text), found
}

// facts returns a description without its last paragraph, and the entries of that paragraph. The
// last paragraph must be a list such as 'Kosten: 2 Punkte · Recht: `contacts:read`'. Otherwise,
// facts returns the whole description.
func facts(description string) (text string, row []Fact) {
	i := strings.LastIndex(description, "\n\n")
	last := description[i+1:]
	if i >= 0 {
		last = description[i+2:]
	}
	for part := range strings.SplitSeq(last, " · ") {
		name, value, ok := strings.Cut(part, ": ")
		if !ok || strings.ContainsAny(name, " .,`") || i < 0 {
			return description, nil
		}
		row = append(row, Fact{name, value})
	}
	return description[:i], row
}

// slug returns the path of the page of an operation: rate-limit/get for rateLimit.get.
func slug(id string) string {
	parts := strings.Split(id, ".")
	for i, part := range parts {
		parts[i] = kebab(part)
	}
	return strings.Join(parts, "/")
}

// kebab returns a name in lower case, with hyphens between words.
func kebab(name string) string {
	var b strings.Builder
	for i, c := range name {
		switch {
		case c >= 'A' && c <= 'Z':
			if i > 0 && b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
				b.WriteByte('-')
			}
			b.WriteRune(c + 'a' - 'A')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteRune(c)
		case c == 'ä' || c == 'ö' || c == 'ü' || c == 'Ä' || c == 'Ö' || c == 'Ü':
			b.WriteString(map[rune]string{'ä': "ae", 'ö': "oe", 'ü': "ue", 'Ä': "ae", 'Ö': "oe", 'Ü': "ue"}[c])
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

// indented returns a JSON value over several lines. It returns an empty string if the JSON is not
// valid.
func indented(value jsontext.Value) string {
	value = value.Clone()
	if len(value) == 0 || value.Indent(jsontext.WithIndent("  ")) != nil {
		return ""
	}
	return string(value)
}

// plain returns a JSON value for display. Strings have no quotes.
func plain(value jsontext.Value) string {
	if value.Kind() != '"' {
		v := value.Clone()
		_ = v.Compact()
		return string(v)
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}
