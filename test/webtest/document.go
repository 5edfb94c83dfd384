package webtest

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Form is a form of a page that changes something.
type Form struct {
	// Action is the address that it is sent to.
	Action string
	// Fields are the values that a browser sends if nobody changes the form.
	Fields url.Values
}

// Forms returns the forms of a page that change something, filled as they are.
func Forms(body string) (list []Form) {
	for n := range Elements(body) {
		if n.Data != "form" || !strings.EqualFold(Attribute(n, "method"), "post") {
			continue
		}
		f := Form{Action: Attribute(n, "action"), Fields: url.Values{}}
		for field := range n.Descendants() {
			f.fill(field)
		}
		list = append(list, f)
	}
	return list
}

// fill adds what a browser sends of an element.
func (f *Form) fill(n *html.Node) {
	name, value := Attribute(n, "name"), Attribute(n, "value")
	if name == "" || n.Type != html.ElementNode {
		return
	}
	switch kind := Attribute(n, "type"); {
	case n.Data == "input" && (kind == "checkbox" || kind == "radio") &&
		!Has(n, "checked"), n.Data == "input" && kind == "file":
	case n.Data == "input":
		f.Fields.Add(name, value)
	case n.Data == "textarea":
		f.Fields.Add(name, Text(n))
	case n.Data == "select":
		for option := range n.Descendants() {
			if option.Data == "option" && Has(option, "selected") {
				f.Fields.Add(name, Attribute(option, "value"))
			}
		}
	}
}

// Elements yields the elements of a document.
func Elements(body string) func(func(*html.Node) bool) {
	return func(yield func(*html.Node) bool) {
		root, err := html.Parse(strings.NewReader(body))
		if err != nil {
			return
		}
		for n := range root.Descendants() {
			if n.Type == html.ElementNode && !yield(n) {
				return
			}
		}
	}
}

// Attribute returns the value of an attribute, empty if the element lacks it.
func Attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// Has reports whether an element has an attribute.
func Has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// Text returns the text within an element.
func Text(n *html.Node) (s string) {
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			s += c.Data
		}
	}
	return s
}
