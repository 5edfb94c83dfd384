package upload

import (
	"strings"

	"kartei/kit/fault"
	"kartei/record"
)

// NameFault returns the violation in the name of a file; nil if there is none.
// Names return to people in headers and in dialogs that save files, so a name
// is a single path element. Control characters, and characters that make it
// look like another name, are refused as in every text of one line.
func NameFault(name string) *fault.Text {
	name = record.Clean(name) // the stored form
	switch {
	case strings.ContainsAny(name, `/\`):
		return &noPath
	case name == "." || name == "..":
		return &noPath
	}
	return nil
}

var (
	noPath = fault.Text{
		DE: "Ein Dateiname darf kein Pfad sein: / und \\ sind nicht erlaubt, ebenso wenig . und .. allein.",
		EN: "A file name must not be a path: / and \\ are not allowed, nor are . and .. alone.",
	}
)
