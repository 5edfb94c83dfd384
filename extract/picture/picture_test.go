package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"kartei/extract/drawing"
	"kartei/extract/textio"
	"kartei/test/filetest"
)

// drawn draws a page of a file, encodes it and parses it like the server.
func drawn(t *testing.T, do drawing.Func, content []byte, s drawing.Sheet) *drawing.Page {
	t.Helper()
	p, err := do(&textio.Input{Reader: bytes.NewReader(content), Memory: 256 << 20}, s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = drawing.Parse(b, s.Number); err != nil {
		t.Fatal(err)
	}
	return p
}

// pictureOf draws a page of a file and decodes it.
func pictureOf(t *testing.T, do drawing.Func, content []byte, s drawing.Sheet) (*drawing.Page, image.Image) {
	t.Helper()
	p := drawn(t, do, content, s)
	picture, _, err := image.Decode(bytes.NewReader(p.Image))
	if err != nil {
		t.Fatal(err)
	}
	return p, picture
}

// TestPictures checks that pictures of all types are drawn upright, on white and not too large.
// Their metadata is not in the result.
func TestPictures(t *testing.T) {
	// The picture is red on the left, blue on the right and transparent at the bottom.
	plain := image.NewNRGBA(image.Rect(0, 0, 300, 200))
	for y := range 150 {
		for x := range 300 {
			plain.SetNRGBA(x, y, color.NRGBA{R: uint8(255 * (1 - x/150)), B: uint8(255 * (x / 150)), A: 255})
		}
	}
	opaque := image.NewRGBA(plain.Rect)
	draw.Draw(opaque, opaque.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(opaque, opaque.Rect, plain, image.Point{}, draw.Over)
	wide := image.NewGray(image.Rect(0, 0, 4000, 1000))
	coded := func(encode func(io.Writer) error) []byte {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	photo := coded(func(w io.Writer) error { return jpeg.Encode(w, opaque, nil) })
	turned := slices.Concat(photo[:2], []byte("\xff\xe1\x00\x22Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"), photo[2:])
	red, blue, paper := image.Pt(30, 30), image.Pt(270, 30), image.Pt(150, 180)
	for name, c := range map[string]struct {
		content         []byte
		width, height   int
		red, blue, page image.Point
	}{
		"image/png": {
			coded(func(w io.Writer) error { return png.Encode(w, plain) }), 300, 200, red, blue, paper,
		},
		"image/gif": {
			coded(func(w io.Writer) error { return gif.Encode(w, opaque, nil) }), 300, 200, red, blue, paper,
		},
		"image/bmp": {
			coded(func(w io.Writer) error { return bmp.Encode(w, opaque) }), 300, 200, red, blue, paper,
		},
		"image/tiff": {
			coded(func(w io.Writer) error { return tiff.Encode(w, opaque, nil) }), 300, 200, red, blue, paper,
		},
		"image/jpeg":                 {photo, 300, 200, red, blue, paper},
		"image/jpeg; lies=on-a-side": {turned, 200, 300, image.Pt(170, 30), image.Pt(170, 270), image.Pt(20, 150)},
	} {
		do := Draw
		if name == "image/tiff" {
			do = DrawTIFF
		}
		p, picture := pictureOf(t, do, c.content, drawing.Sheet{Number: 1, DPI: 96})
		if p.Width != c.width || p.Height != c.height || p.Pages != 1 || bytes.Contains(p.Image, []byte("Exif")) {
			t.Errorf("%s: %d x %d", name, p.Width, p.Height)
		}
		for at, want := range map[image.Point]color.RGBA{
			c.red:  {R: 255, A: 255},
			c.blue: {B: 255, A: 255},
			c.page: {255, 255, 255, 255},
		} {
			r, g, b, _ := picture.At(at.X, at.Y).RGBA()
			if far(r, want.R) || far(g, want.G) || far(b, want.B) {
				t.Errorf("%s: at %v is %d %d %d, want %v", name, at, r>>8, g>>8, b>>8, want)
			}
		}
	}
	for dpi, want := range map[int]int{96: 1632, 144: 2448} {
		p, _ := pictureOf(t, Draw, coded(func(w io.Writer) error { return png.Encode(w, wide) }),
			drawing.Sheet{Number: 1, DPI: dpi})
		if p.Width != want || p.Height != want/4 {
			t.Errorf("a wide picture is %d x %d", p.Width, p.Height)
		}
	}
}

func far(a uint32, b uint8) bool { return max(a>>8, uint32(b))-min(a>>8, uint32(b)) > 40 }

// TestPagesOfTIFF checks that each page of a TIFF file can be drawn. Scanners write such files.
func TestPagesOfTIFF(t *testing.T) {
	page := func(shade uint8) *image.Gray {
		return &image.Gray{Pix: []uint8{shade}, Stride: 1, Rect: image.Rect(0, 0, 1, 1)}
	}
	for name, after := range map[string]uint32{"two pages": 0, "two pages in a circle": 8} {
		file := filetest.TIFF(after, page(0), page(255))
		for n, want := range []uint32{0, 0xffff} {
			p, picture := pictureOf(t, DrawTIFF, file, drawing.Sheet{Number: n + 1, DPI: 96})
			if got, _, _, _ := picture.At(0, 0).RGBA(); p.Pages != 2 || got != want {
				t.Errorf("%s: page %d of %d is %x", name, n+1, p.Pages, got)
			}
		}
		if p := drawn(t, DrawTIFF, file, drawing.Sheet{Number: 3, DPI: 96}); p.Pages != 2 || len(p.Image) > 0 {
			t.Errorf("a page that is not there: %+v", p)
		}
	}
}
