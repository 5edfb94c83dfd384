package upload

import (
	"strings"

	"kartei/fault"
	"kartei/record"
)

// NameFault returns what is wrong with the name of a file; nil where it is
// fine. Names come back to people in headers and dialogs that save files: so
// a name is one step of a path, and shows what it is. Control characters are
// refused by the schema, as in every text.
func NameFault(name string) *fault.Text {
	name = record.Clean(name) // as it will be stored
	switch {
	case strings.ContainsAny(name, `/\`):
		return &noPath
	case name == "." || name == "..":
		return &noPath
	case strings.ContainsFunc(name, record.Disguises):
		return &disguised
	}
	return nil
}

var (
	noPath = fault.Text{
		DE: "Ein Dateiname darf kein Pfad sein: / und \\ sind nicht erlaubt, ebenso wenig . und .. allein.",
		EN: "A file name must not be a path: / and \\ are not allowed, nor are . and .. alone.",
	}
	disguised = fault.Text{
		DE: "Der Dateiname enthält ein Zeichen, das die Schreibrichtung ändert. Damit könnte sich eine Endung tarnen.",
		EN: "The file name contains a character that changes the direction of writing. With it an ending could be disguised.",
	}
)
