package extract

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func viewer(t testing.TB) *Viewer {
	t.Helper()
	v := extractor(t, Limits{}).NewViewer()
	t.Cleanup(v.Close)
	return v
}

// fileOf returns a file to look at.
func fileOf(name, contentType string, content []byte) File {
	return File{Organization: 1, Name: name, ContentType: contentType, Size: int64(len(content)), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}}
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// pictureOf draws a page and decodes it. With KARTEI_SCREENSHOTS it also stores
// the picture there.
func pictureOf(t testing.TB, v *Viewer, f File, s Sheet) (*Page, image.Image) {
	t.Helper()
	p, err := v.Page(t.Context(), f, s)
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

// dark counts the dark pixels in a rectangle.
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

func rect(b Box) image.Rectangle {
	return image.Rect(int(b.Left), int(b.Top), int(b.Right), int(b.Bottom))
}

// Each letter of a page is in its box, and nothing dark is outside of the boxes:
// the picture and its text belong together.
func TestLettersAreInTheirBoxes(t *testing.T) {
	v := viewer(t)
	rotated := func(degrees string) []byte {
		return bytes.Replace(pdfOf("Kaltmiete 950"), []byte("/MediaBox[0 0 595 842]"), []byte("/MediaBox[0 0 595 842]/Rotate "+degrees), 1)
	}
	for name, content := range map[string][]byte{
		"chromium.pdf": testdata(t, "chromium.pdf"), "ghostscript.pdf": testdata(t, "ghostscript.pdf"), "restricted.pdf": testdata(t, "restricted.pdf"),
		"upright.pdf": pdfOf("Kaltmiete 950"), "right.pdf": rotated("90"), "down.pdf": rotated("180"), "left.pdf": rotated("270"),
		"cropped.pdf": bytes.Replace(pdfOf("Kaltmiete 950"), []byte("/MediaBox[0 0 595 842]"), []byte("/MediaBox[0 0 595 842]/CropBox[50 600 300 800]"), 1),
	} {
		for _, dpi := range []int{96, 144} {
			p, picture := pictureOf(t, v, fileOf(name, "application/pdf", content), Sheet{1, dpi})
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
