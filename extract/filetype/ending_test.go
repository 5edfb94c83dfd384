package filetype

import (
	"testing"
)

// TestEveryKindHasAnExtension checks that each kind of file has an extension. WithEnding needs it.
func TestEveryKindHasAnExtension(t *testing.T) {
	for _, k := range kinds {
		if len(endings[k.name]) == 0 {
			t.Errorf("%s has no ending", k.name)
		}
	}
	if len(endings) != len(kinds) {
		t.Errorf("%d endings for %d kinds", len(endings), len(kinds))
	}
}

func TestWithEnding(t *testing.T) {
	for _, test := range []struct{ name, contentType, want string }{
		{"Klage.pdf", "application/pdf", "Klage.pdf"},
		{"Klage.PDF", "application/pdf", "Klage.PDF"},
		{"Klage", "application/pdf", "Klage.pdf"},
		{"Klage v1.2", "application/pdf", "Klage v1.2.pdf"},
		{"Rechnung.pdf.exe", "application/pdf", "Rechnung.pdf.exe.pdf"},
		{"Rechnung.hta", "text/plain", "Rechnung.hta.txt"},
		{"lauf.bat", "text/plain", "lauf.bat.txt"},
		{"lauf.vbs", "text/csv", "lauf.vbs.csv"},
		{"seite.js", "application/json", "seite.js.json"},
		{"a.exe.", "text/plain", "a.exe..txt"},
		{".pdf", "application/pdf", ".pdf"},
		{"liste.csv", "text/plain", "liste.csv"},
		{"bild.jpeg", "image/jpeg", "bild.jpeg"},
		{"bild.scr", "image/jpeg", "bild.scr.jpg"},
	} {
		if got := WithEnding(test.name, test.contentType); got != test.want {
			t.Errorf("WithEnding(%q, %q) = %q, want %q", test.name, test.contentType, got, test.want)
		}
	}
}
