package extract

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"kartei/extract/drawing"
	"kartei/test/filetest"
)

// PDFs are tested in a child. The PDF engine is never closed, and ends only with its process.

// pictureOf draws a page and decodes its picture. If KARTEI_SCREENSHOTS is the path of a folder,
// the picture is also stored in that folder.
func pictureOf(t testing.TB, v *Viewer, f File, s drawing.Sheet) (*Page, image.Image) {
	t.Helper()
	p, err := drawn(t, v, f, s)
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	if p.Reason != Complete || len(p.Image) == 0 {
		t.Fatalf("%s: %q, page %d of %d", f.Name, p.Reason, p.Number, p.Pages)
	}
	picture, _, err := image.Decode(bytes.NewReader(p.Image))
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	if dir := os.Getenv("KARTEI_SCREENSHOTS"); dir != "" {
		var b bytes.Buffer
		if err := png.Encode(&b, picture); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f.Name)+".png"), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p, picture
}

// dark returns the number of dark pixels in the rectangle r of a picture.
func dark(picture image.Image, r image.Rectangle) (n int) {
	r = r.Intersect(picture.Bounds())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if red, green, blue, _ := picture.At(x, y).RGBA(); red+green+blue < 3*0x9000 {
				n++
			}
		}
	}
	return n
}

func rect(b drawing.Box) image.Rectangle {
	return image.Rect(int(b.Left), int(b.Top), int(b.Right), int(b.Bottom))
}

// TestLettersAreInTheirBoxes checks that the picture and the text of a page match. The box of each
// letter contains dark pixels, and at least nine tenths of all dark pixels are in boxes.
func TestLettersAreInTheirBoxes(t *testing.T) {
	v := viewer(t)
	rotated := func(degrees string) []byte {
		return bytes.Replace(filetest.PDF("Kaltmiete 950"), []byte("/MediaBox[0 0 595 842]"),
			[]byte("/MediaBox[0 0 595 842]/Rotate "+degrees), 1)
	}
	for name, content := range map[string][]byte{
		"chromium.pdf": testdata(t, "chromium.pdf"), "ghostscript.pdf": testdata(t, "ghostscript.pdf"),
		"restricted.pdf": testdata(t, "restricted.pdf"),
		"upright.pdf":    filetest.PDF("Kaltmiete 950"), "right.pdf": rotated("90"), "down.pdf": rotated("180"),
		"left.pdf": rotated("270"),
		"cropped.pdf": bytes.Replace(filetest.PDF("Kaltmiete 950"), []byte("/MediaBox[0 0 595 842]"),
			[]byte("/MediaBox[0 0 595 842]/CropBox[50 600 300 800]"), 1),
	} {
		for _, dpi := range []int{96, 144} {
			p, picture := pictureOf(t, v, fileOf(name, "application/pdf", content), drawing.Sheet{Number: 1, DPI: dpi})
			inside, letters := 0, 0
			for i, r := range []rune(p.Text) {
				if r <= ' ' || p.Boxes[i].Empty() {
					continue
				}
				letters++
				n := dark(picture, rect(p.Boxes[i]))
				if n == 0 && strings.ContainsRune("KaltmieWüß950", r) {
					t.Errorf("%s at %d: nothing is at %q, %v", name, dpi, r, p.Boxes[i])
				}
				inside += n
			}
			all := dark(picture, picture.Bounds())
			if letters < 12 || inside < all*9/10 {
				t.Errorf("%s at %d: %d letters, %d of %d dark pixels are in boxes", name, dpi, letters, inside, all)
			}
		}
	}
}

// TestLargePages checks that a page with too many pixels is drawn at a smaller scale.
func TestLargePages(t *testing.T) {
	v := viewer(t)
	for box, want := range map[string][2]int{
		"0 0 1684 2384":   {3368, 4768},
		"0 0 14400 14400": {6320, 6320},
		"0 0 14400 72":    {15999, 80},
		"0 0 1 1":         {2, 2},
	} {
		content := bytes.Replace(filetest.PDF("Hallo"), []byte("0 0 595 842"), []byte(box), 1)
		p, _ := pictureOf(t, v, fileOf(box, "application/pdf", content), drawing.Sheet{Number: 1, DPI: 144})
		if abs(p.Width-want[0]) > 10 || abs(p.Height-want[1]) > 10 {
			t.Errorf("%s is %d x %d", box, p.Width, p.Height)
		}
	}
}

func abs(n int) int { return max(n, -n) }

// TestForeignPDFs checks that PDFs from the test suites of pdf.js and PDFium are drawn, and that
// their letters are in their boxes. Broken and hostile PDFs end with a Reason.
func TestForeignPDFs(t *testing.T) {
	v := viewer(t)
	v.limit = 3 * time.Second
	for name, c := range map[string]struct {
		reason Reason
		pages  int
		says   string
		// picture is true if the page has dark parts besides its text.
		picture bool
	}{
		// Rotated pages, rotated and vertical text, text from right to left, and a cropped page.
		"rotation.pdf":          {pages: 2, says: "first page with normal layout"},
		"rotated.pdf":           {pages: 1, says: "Rotated text"},
		"vertical.pdf":          {pages: 3, says: "日本語\nあいうえお", picture: true},
		"ArabicCIDTrueType.pdf": {pages: 1, says: "انواع الخطوط العربية"},
		"hebrew_mirrored.pdf":   {pages: 1, says: "בנימין"},
		"cropped_text.pdf":      {pages: 4, says: "Hello, world!"},
		// Forms and annotations.
		"bug1947248_forms.pdf":  {pages: 1, says: "Hello PDF.js World", picture: true},
		"rotated_freetexts.pdf": {pages: 1, says: "K\nK\nK\nK"},
		// Scans.
		"scan-bad.pdf":               {pages: 1, says: "pdf.js", picture: true},
		"ccitt_EndOfBlock_false.pdf": {pages: 1, picture: true},
		"jbig2_symbol_offset.pdf":    {pages: 1, picture: true},
		"bug_jpx.pdf":                {pages: 1, picture: true},
		// Broken, encrypted, fuzzed and hostile files.
		"control_characters.pdf":       {pages: 1, says: "Hello, world!\nGoodbye, world!"},
		"Pages-tree-refs.pdf":          {pages: 2, says: "Pages loop"},
		"poppler-67295-0.pdf":          {pages: 1, says: "TestString123"},
		"poppler-85140-0.pdf":          {pages: 1},
		"poppler-395-0-fuzzed.pdf":     {reason: Broken},
		"REDHAT-1531897-0.pdf":         {reason: Broken},
		"bug1020226.pdf":               {reason: Broken},
		"encrypted_hello_world_r6.pdf": {reason: Encrypted},
		"operator_list_cycle.pdf":      {reason: OutOfTime},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := drawn(t, v, fileOf(name, "application/pdf", testdata(t, "foreign/"+name)), drawing.Sheet{Number: 1, DPI: 144})
			if err != nil || p.Reason != c.reason || p.Pages != c.pages || !strings.Contains(p.Text, c.says) {
				t.Fatalf("%s, %v", said(p), err)
			}
			if c.reason != Complete {
				return
			}
			picture, _, err := image.Decode(bytes.NewReader(p.Image))
			if err != nil {
				t.Fatal(err)
			}
			inside := image.NewGray(picture.Bounds())
			for i, r := range []rune(p.Text) {
				if r > ' ' && !p.Boxes[i].Empty() {
					draw.Draw(inside, rect(p.Boxes[i]), image.White, image.Point{}, draw.Src)
					if p.Boxes[i].Left > 0 && dark(picture, rect(p.Boxes[i])) == 0 { // a cropped letter may show only its edge
						t.Errorf("nothing is at %q, %v", r, p.Boxes[i])
					}
				}
			}
			boxes := 0 // dark pixels in boxes
			for y := range p.Height {
				for x := range p.Width {
					if inside.GrayAt(x, y).Y > 0 {
						boxes += dark(picture, image.Rect(x, y, x+1, y+1))
					}
				}
			}
			if all := dark(picture, picture.Bounds()); !c.picture && boxes < all*19/20 {
				t.Errorf("%d of %d dark pixels are in boxes", boxes, all)
			}
		})
	}
}

// formOf returns a PDF with one form field. form and field are additional members of the form's and
// of the field's dictionary.
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

// TestForms checks that the value of a form field is in the text and, at the place of the field, in
// the picture. An outdated appearance stream is ignored.
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

// TestComments checks that comments are in the text, with the boxes of their annotations. A comment
// occurs once, even if the page or a second annotation has the same text.
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

// pageOfPDF draws the first page of a PDF and fails the test if that does not succeed.
func pageOfPDF(t *testing.T, content []byte) *Page {
	t.Helper()
	p, err := drawn(t, viewer(t), fileOf(t.Name(), "application/pdf", content), drawing.Sheet{Number: 1, DPI: 96})
	if err != nil || p.Reason != Complete {
		t.Fatalf("%+v, %v", p, err)
	}
	return p
}

func TestBrokenPDFs(t *testing.T) {
	thousands := make([]string, 10_000)
	for i := range thousands {
		thousands[i] = fmt.Sprintf("Seite %d", i+1)
	}
	for _, c := range []struct {
		name    string
		content []byte
		says    string
		reasons []Reason
	}{
		{
			"pages that lie within themselves",
			filetest.PDFObjects("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 5/Kids[2 0 R 2 0 R 1 0 R]>>"),
			"",
			[]Reason{Broken},
		},
		{"a page that is its own content", filetest.PDFObjects("", "<</Type/Catalog/Pages 2 0 R>>",
			"<</Type/Pages/Count 1/Kids[3 0 R]>>",
			"<</Type/Page/Parent 3 0 R/MediaBox[0 0 9 9]/Contents 3 0 R>>"), "", []Reason{Broken, Complete}},
		{
			"a table of objects that follows itself",
			bytes.Replace(filetest.PDF("a"), []byte("/Root 1 0 R"), []byte("/Root 1 0 R/Prev 9"), 1),
			"",
			[]Reason{Broken, Complete},
		},
		{"a form that shows itself", filetest.PDFObjects("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 1/Kids[3 0 R]>>",
			"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</XObject<</A 4 0 R>>>>/Contents 5 0 R>>",
			"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</A 4 0 R>>>>/Length 4>>\nstream\n/A Do /A Do\nendstream",
			"<</Length 5>>\nstream\n/A Do\nendstream"), "", []Reason{Broken, Complete, OutOfMemory, OutOfTime}},
		{
			"a billion pages",
			filetest.PDFObjects("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 1000000000/Kids[]>>"),
			"",
			[]Reason{Broken, OutOfTime, OutOfMemory},
		},
		{"10,000 pages", filetest.PDF(thousands...), "Seite 10000", []Reason{Complete}},
		{
			"no table of objects",
			bytes.Replace(filetest.PDF("Hallo"), []byte("startxref"), []byte("startyref"), 1),
			"Hallo",
			[]Reason{Complete},
		},
		{"cut in the middle", filetest.PDF(thousands...)[:900_000], "", []Reason{Broken}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := textOf(t, Limits{Time: 40 * time.Second}, string(c.content), "application/pdf")
			if !strings.Contains(text.Body, c.says) {
				t.Errorf("%q is missing in %.200q", c.says, text.Body)
			}
			for _, r := range c.reasons {
				if text.Reason == r {
					return
				}
			}
			t.Errorf("%q, want one of %q", text.Reason, c.reasons)
		})
	}
}
