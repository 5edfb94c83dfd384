// Package docs owns the documents that an instance shows to those who use its API.
package docs

import _ "embed"

// Guide is the guide for integrators, in Markdown and English.
//
//go:embed guide.md
var Guide []byte
