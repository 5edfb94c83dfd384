package extract

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kartei/extract/filetype"
)

// practiceFile is a file in testdata/practice: a file as people and programs send it, with the type
// that it is uploaded under.
type practiceFile struct {
	name, contentType string
	finds             []string // parts of its text
}

var practice = []practiceFile{
	{"c01-headery.rtf", "application/rtf", []string{"Klageerwiderung im Verfahren"}},
	{"c03-textbox-header.rtf", "application/rtf", []string{"Haupttext", "Kanzleikopf", "Aktenzeichen"}},
	{"d01-newline-before.pdf", "application/pdf", []string{"Klageerwiderung"}},
	{"d02-form-need-appearances.pdf", "application/pdf", []string{"Name des Mandanten:", "Ausgefuellt"}},
	{"d04-comment.pdf", "application/pdf", []string{"Klageerwiderung", "Anmerkung Siebenschlaefer"}},
	{
		"d05-hyphenated-name.pdf",
		"application/pdf",
		[]string{"Rechtsanwaltskammer", "Hausratsversicherung", "Müller-Lüdenscheidt", "Vormundschaft"},
	},
	{"e-alt-text-stub.eml", "message/rfc822", []string{"Betreffwort", "Ihr Programm", "Rumpfwort"}},
	{"e-blank-first.eml", "message/rfc822", []string{"Betreffwort", "Anna Berg", "Rumpfwort"}},
	{"e-bom.eml", "message/rfc822", []string{"Betreffwort", "Rumpfwort"}},
	{"e-from-dash-thunderbird.eml", "message/rfc822", []string{"Betreffwort", "Rumpfwort"}},
	{"e-unknown-charset.eml", "message/rfc822", []string{"Grüße"}},
	{"f02-trailing-newline.docx", docx, []string{"Anhangtext"}},
}

// TestPractice checks that these files are accepted for their types, and that their texts are read
// completely.
func TestPractice(t *testing.T) {
	for _, c := range practice {
		t.Run(c.name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join("testdata/practice", c.name))
			if err != nil {
				t.Fatal(err)
			}
			if v := sniff(t, filetype.Allow(), content, c.contentType); v.Refusal != filetype.Allowed {
				t.Fatalf("refused: %+v", v)
			}
			text := textOf(t, Limits{}, string(content), c.contentType)
			for _, words := range c.finds {
				if !strings.Contains(text.Body, words) {
					t.Errorf("%q is not in %+v", words, text)
				}
			}
			if text.Reason != Complete || text.Cut {
				t.Errorf("%+v", text)
			}
		})
	}
	files, err := os.ReadDir("testdata/practice")
	for _, f := range files {
		if !slices.ContainsFunc(practice, func(p practiceFile) bool { return p.name == f.Name() }) {
			t.Errorf("%s is not tested", f.Name())
		}
	}
	if err != nil {
		t.Error(err)
	}
}
