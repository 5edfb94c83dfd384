package upload

import (
	"strings"

	"kartei/kit/fault"
	"kartei/record"
)

// NameFault returns what is wrong with the name of a file; nil where it is
// fine. Names come back to people in headers and dialogs that save files: so
// a name is one step of a path. Control characters, and characters that make
// it look like another name, are refused as in every text of one line.
func NameFault(name string) *fault.Text {
	name = record.Clean(name) // as it will be stored
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
