package extract

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kartei/extract/drawing"
	"kartei/extract/filetype"
	"kartei/test/filetest"
)

// practiceFile is a file of testdata/practice, as people and programs send them.
type practiceFile struct {
	name, contentType string
	finds             []string // words of its text, after folding
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

// Files as they come are accepted, and read to their end.
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

// formOf returns a PDF with a field. Its arguments are members of the form and
// of the field.
func formOf(form, field string) []byte {
	appearance := "/Tx BMC BT /F1 12 Tf 2 4 Td (Frueher) Tj ET EMC"
	return filetest.PDFObjects("",
		"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[4 0 R]/DA(/F1 0 Tf 0 g)/DR<</Font<</F1 3 0 R>>>>"+form+">>>>",
		"<</Type/Pages/Count 1/Kids[5 0 R]>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Type/Annot/Subtype/Widget/T(a)/DA(/F1 12 Tf 0 g)/Rect[100 700 300 720]/P 5 0 R"+field+">>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Annots[4 0 R]/Resources<</Font<</F1 3 0 R>>>>/Contents 6 0 R>>",
		"<</Length 41>>\nstream\nBT /F1 12 Tf 100 750 Td (Formular) Tj ET \nendstream",
		"<</Type/XObject/Subtype/Form/BBox[0 0 200 20]/Resources<</Font<</F1 3 0 R>>>>/Length "+
			strconv.Itoa(len(appearance))+">>\nstream\n"+appearance+"\nendstream")
}

// The value of a field is in the text and in the picture, at its place, whatever
// its appearance says.
func TestForms(t *testing.T) {
	const old = "/AP<</N 7 0 R>>"
	for _, c := range []struct{ name, form, field, want string }{
		{"no appearance, as asked for", "/NeedAppearances true", "/FT/Tx/F 4/V(M\374ller)", "Formular\nMüller"},
		{"no appearance", "", "/FT/Tx/F 4/V(M\374ller)", "Formular\nMüller"},
		{"an old appearance, as asked for", "/NeedAppearances true", "/FT/Tx/F 4/V(M\374ller)" + old, "Formular\nMüller"},
		{"an old appearance", "", "/FT/Tx/F 4/V(M\374ller)" + old, "Formular\nMüller"},
		{"an appearance that fits", "", "/FT/Tx/F 4/V(Frueher)" + old, "Formular\nFrueher"},
		{"no value", "", "/FT/Tx/F 4" + old, "Formular\nFrueher"},
		{"several lines", "/NeedAppearances true", "/FT/Tx/F 4/Ff 4096/V(Eins\nZwei)", "Formular\nEins\nZwei"},
		{
			"a list to choose from", "/NeedAppearances true",
			"/FT/Ch/F 4/Ff 131072/Opt[[(de)(Deutschland)][(fr)(Frankreich)]]/V(fr)", "Formular\nFrankreich",
		},
		{"a password", "/NeedAppearances true", "/FT/Tx/F 4/Ff 8192/V(geheim)", "Formular\n******"},
		{"a hidden field", "/NeedAppearances true", "/FT/Tx/F 2/V(geheim)", "Formular"},
		{"a tick", "/NeedAppearances true", "/FT/Btn/F 4/V/Ja/AS/Ja", "Formular"},
	} {
		t.Run(c.name, func(t *testing.T) {
			content := formOf(c.form, c.field)
			if got := textOf(t, Limits{}, string(content), "application/pdf"); got != (Text{Body: c.want}) {
				t.Errorf("%+v\nwant %q", got, c.want)
			}
			p := pageOfPDF(t, content)
			if p.Text != c.want {
				t.Errorf("drawn: %q\nwant %q", p.Text, c.want)
			}
			boxOfLast := p.Boxes[len(p.Boxes)-1]
			if strings.Contains(p.Text, "\n") && (boxOfLast.Left < 130 || boxOfLast.Right > 400) {
				t.Errorf("the last character is at %+v", boxOfLast)
			}
		})
	}
}

// Comments are in the text, and their hits are at their place. A comment that the
// page shows, or that another one shows, is there once.
func TestComments(t *testing.T) {
	content := filetest.PDFObjects("",
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 1/Kids[5 0 R]>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Type/Annot/Subtype/Text/Rect[100 600 120 620]/Contents(Bitte k\374rzen)/Popup 7 0 R>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Annots[4 0 R 7 0 R 8 0 R 9 0 R]/Resources<</Font<</F1 3 0 R>>>>/Contents 6 0 R>>",
		"<</Length 41>>\nstream\nBT /F1 12 Tf 100 750 Td (Formular) Tj ET \nendstream",
		"<</Type/Annot/Subtype/Popup/Rect[200 600 300 620]/Parent 4 0 R/Contents(Bitte k\374rzen)>>",
		"<</Type/Annot/Subtype/Highlight/Rect[100 750 150 762]/QuadPoints[100 762 150 762 100 750 150 750]/Contents(For\nmular)>>",
		"<</Type/Annot/Subtype/Link/Rect[100 750 150 762]/Contents(Verweis)>>")
	const want = "Formular\nBitte kürzen"
	if got := textOf(t, Limits{}, string(content), "application/pdf"); got != (Text{Body: want}) {
		t.Errorf("%+v", got)
	}
	p := pageOfPDF(t, content)
	if p.Text != want {
		t.Errorf("drawn: %q", p.Text)
	}
	if box := p.Boxes[len(p.Boxes)-1]; box != (drawing.Box{Left: 133, Top: 296, Right: 161, Bottom: 323}) {
		t.Errorf("the comment is at %+v", box)
	}
}

// pageOfPDF draws the first page of a PDF.
func pageOfPDF(t *testing.T, content []byte) *Page {
	t.Helper()
	p, err := drawn(t, viewer(t), fileOf(t.Name(), "application/pdf", content), drawing.Sheet{Number: 1, DPI: 96})
	if err != nil || p.Reason != Complete {
		t.Fatalf("%+v, %v", p, err)
	}
	return p
}
