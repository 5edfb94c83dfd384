package webtest

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Form is a form with the method POST.
type Form struct {
	// Action is the URL to which the form is sent.
	Action string
	// Fields are the values that a browser sends if the form is not changed.
	Fields url.Values
}

// Forms returns all forms of a page with the method POST.
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

// fill adds the values that a browser sends for an element.
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

// Elements yields the elements of an HTML document, in document order.
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

// Attribute returns the value of an attribute. It is empty if the element has no such attribute.
func Attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// Has reports whether an element has the attribute name.
func Has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// Text returns the text within a node.
func Text(n *html.Node) (s string) {
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			s += c.Data
		}
	}
	return s
}
