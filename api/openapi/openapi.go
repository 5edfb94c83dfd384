// Package openapi owns the frozen OpenAPI 3.1 documents, one for each version: what is served is what is enforced.
package openapi

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.json
var files embed.FS

var documents = func() map[string][]byte {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the binary is broken
	}
	m := map[string][]byte{}
	for _, e := range entries {
		if m[strings.TrimSuffix(e.Name(), ".json")], err = files.ReadFile(e.Name()); err != nil {
			panic(err)
		}
	}
	return m
}()

// Internal is the name of the version that sessions use. Calls are checked by its document, but the
// document is not public and changes with each release.
const Internal = "internal"

// Versions returns the names of all versions, YYYY-MM-DD, the oldest first.
func Versions() []string {
	names := make([]string, 0, len(documents))
	for name := range documents {
		if name != Internal {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Document returns the frozen document of a version, and false if the version does not exist or is
// Internal. The caller must not change the bytes.
func Document(version string) ([]byte, bool) {
	b, found := documents[version]
	return b, found && version != Internal
}

// OfSessions returns the document of the version Internal.
func OfSessions() []byte { return documents[Internal] }
