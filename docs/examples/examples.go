// Package examples owns the programs that the guide shows, each in a folder of its own.
package examples

import _ "embed"

// Mirror is the source of the program that keeps a copy of an organization.
//
//go:embed mirror/main.go
var Mirror []byte
