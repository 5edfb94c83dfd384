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
	case strings.ContainsFunc(name, disguises):
		return &disguised
	}
	return nil
}

// disguises reports whether a character changes the direction of what follows,
// with which "Rechnung\u202Efdp.exe" is shown as "Rechnungexe.pdf" (Unicode
// Technical Report 36, section 2.8).
func disguises(c rune) bool {
	return c >= 0x202A && c <= 0x202E || c >= 0x2066 && c <= 0x2069 || c == 0x200E || c == 0x200F || c == 0x061C
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
