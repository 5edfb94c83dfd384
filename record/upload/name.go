package upload

import (
	"strings"

	"kartei/kit/i18n"
	"kartei/record"
)

// NameFault returns the violation in the name of a file, or "" if the name is valid. A name is a
// single path element, because browsers use it in headers and in save dialogs. The check for
// texts of one line refuses control characters, and characters that make a name look like another
// name.
func NameFault(name string) i18n.Text {
	name = record.Clean(name) // the stored form
	switch {
	case strings.ContainsAny(name, `/\`):
		return noPath
	case name == "." || name == "..":
		return noPath
	}
	return ""
}

var (
	noPath = i18n.Text("A file name must not be a path: / and \\ are not allowed, nor are . and .. alone.")
)
