// Package openapi owns the frozen OpenAPI documents: one file per version, served byte for byte and enforced from the same bytes.
package openapi

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.json
var files embed.FS

// Document returns the frozen document of a version, and false for one that
// does not exist. The caller must not change it.
func Document(version string) ([]byte, bool) {
	if strings.ContainsAny(version, "/.") {
		return nil, false
	}
	b, err := files.ReadFile(version + ".json")
	return b, err == nil
}

// Versions returns the names of the versions, the oldest first.
func Versions() []string {
	names, _ := fs.Glob(files, "*.json") // sorted, and a version is a date
	for i := range names {
		names[i] = strings.TrimSuffix(names[i], ".json")
	}
	return names
}
