// Package kartei owns the list of changes, which an instance shows.
package kartei

import _ "embed"

// Changelog is CHANGELOG.md.
//
//go:embed CHANGELOG.md
var Changelog []byte
