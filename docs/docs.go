// Package docs owns the guide in two languages, which an instance shows, the pages for operators and the decisions.
package docs

import _ "embed"

// Guide is the English guide for integrators, in Markdown.
//
//go:embed guide.md
var Guide []byte

// GuideDE is the German guide, in Markdown. It has the same headings, code and tables as Guide, in
// the same order.
//
//go:embed guide.de.md
var GuideDE []byte
