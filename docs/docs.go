// Package docs owns the guide, which an instance shows, beside the pages for operators and the decisions.
package docs

import _ "embed"

// Guide is the guide for integrators, in Markdown and English.
//
//go:embed guide.md
var Guide []byte
