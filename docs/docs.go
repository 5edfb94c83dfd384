// Package docs owns the guide in two languages, which an instance shows, the pages for operators and the decisions.
package docs

import _ "embed"

// Guide is the guide for integrators, in Markdown and English.
//
//go:embed guide.md
var Guide []byte

// GuideDE is the same guide in German: the same headings, code and tables in the same order.
//
//go:embed guide.de.md
var GuideDE []byte
