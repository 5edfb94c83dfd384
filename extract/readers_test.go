package extract

import (
	"strings"
	"testing"

	"kartei/extract/filetype"
)

// TestEachTypeIsRead checks that files of each known type have a text, except pictures. PDFs and
// all pictures but HEIC can be drawn.
func TestEachTypeIsRead(t *testing.T) {
	types := filetype.Known()
	for _, name := range types {
		picture := strings.HasPrefix(name, "image/")
		if Reads(name) == picture {
			t.Errorf("%s has a text: %t", name, !picture)
		}
		if want := (picture || name == "application/pdf") && name != "image/heic"; Draws(name) != want {
			t.Errorf("%s is drawn: %t", name, !want)
		}
	}
	if len(types) < 30 {
		t.Errorf("only %d types are known", len(types))
	}
}
