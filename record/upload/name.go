package upload

import (
	"strings"

	"kartei/kit/i18n"
	"kartei/record"
)

// NameFault returns the violation in the name of a file; it is empty if there is none.
// Names return to people in headers and in dialogs that save files, so a name
// is a single path element. Control characters, and characters that make it
// look like another name, are refused as in every text of one line.
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
