package pdf

import (
	"errors"
	"image"
	"math"
	"strings"
	"unicode/utf16"

	"kartei/extract/drawing"
	"kartei/extract/textio"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/structs"
)

// Draw draws a page of a PDF and reads its text. If the PDF has no such page, only Pages is set in
// the result.
func Draw(in *textio.Input, s drawing.Sheet) (*drawing.Page, error) {
	f, err := openFile(in)
	if err != nil {
		return nil, err
	}
	if s.Number > f.pages {
		return &drawing.Page{Pages: f.pages}, nil
	}
	opened, err := f.page(s.Number - 1)
	if err != nil {
		return nil, textio.ErrBroken
	}
	d := canvas{
		Pdfium: f.Pdfium,
		ref:    requests.Page{ByReference: &opened.ref},
		notes:  opened.notes,
		page:   &drawing.Page{Number: s.Number, Pages: f.pages},
	}
	if err := d.measure(float64(s.DPI)); err != nil {
		return nil, textio.ErrBroken
	}
	picture, err := d.render()
	if err != nil {
		return nil, textio.ErrBroken
	}
	if err := d.page.SetPicture(picture); err != nil {
		return nil, err
	}
	if err := d.read(); err != nil {
		return nil, textio.ErrBroken
	}
	return d.page, nil
}

// canvas is a page of a PDF that is being drawn.
type canvas struct {
	pdfium.Pdfium
	ref   requests.Page
	notes []note
	page  *drawing.Page
	// x and y map a point of the page to a pixel of the picture. Each has the factors of both
	// coordinates and an offset.
	x, y [3]float64
}

// measure computes the size of the picture, and the mapping from points of the page to pixels. The
// page may be rotated and cropped.
func (d *canvas) measure(dpi float64) error {
	width, err := d.FPDF_GetPageWidthF(&requests.FPDF_GetPageWidthF{Page: d.ref})
	if err != nil {
		return err
	}
	height, err := d.FPDF_GetPageHeightF(&requests.FPDF_GetPageHeightF{Page: d.ref})
	if err != nil {
		return err
	}
	d.page.Width, d.page.Height, err = drawing.Fit(float64(width.PageWidth)*dpi/72, float64(height.PageHeight)*dpi/72)
	if err != nil {
		return err
	}
	// PDFium returns whole pixels. So the mapping is computed with a larger picture and with
	// distant points.
	const finer, far = 64, 1000
	at := func(x, y float64) (p [2]float64, err error) {
		r, err := d.FPDF_PageToDevice(&requests.FPDF_PageToDevice{
			Page: d.ref, SizeX: d.page.Width * finer, SizeY: d.page.Height * finer, PageX: x, PageY: y,
		})
		if err != nil {
			return p, err
		}
		return [2]float64{float64(r.DeviceX) / finer, float64(r.DeviceY) / finer}, nil
	}
	origin, err1 := at(0, 0)
	right, err2 := at(far, 0)
	up, err3 := at(0, far)
	d.x = [3]float64{(right[0] - origin[0]) / far, (up[0] - origin[0]) / far, origin[0]}
	d.y = [3]float64{(right[1] - origin[1]) / far, (up[1] - origin[1]) / far, origin[1]}
	return errors.Join(err1, err2, err3)
}

// white is the background colour of the picture.
const white = 0xffffffff

// render draws the page. The pixels of the result are memory of PDFium.
func (d *canvas) render() (*image.RGBA, error) {
	w, h := d.page.Width, d.page.Height
	bitmap, err := d.FPDFBitmap_Create(&requests.FPDFBitmap_Create{Width: w, Height: h, Alpha: 1})
	if err != nil {
		return nil, err
	}
	if _, err := d.FPDFBitmap_FillRect(&requests.FPDFBitmap_FillRect{
		Bitmap: bitmap.Bitmap, Width: w, Height: h, Color: white,
	}); err != nil {
		return nil, err
	}
	if _, err := d.FPDF_RenderPageBitmap(&requests.FPDF_RenderPageBitmap{
		Bitmap: bitmap.Bitmap, Page: d.ref, SizeX: w, SizeY: h,
		Flags: enums.FPDF_RENDER_FLAG_ANNOT | enums.FPDF_RENDER_FLAG_REVERSE_BYTE_ORDER,
	}); err != nil {
		return nil, err
	}
	pixels, err := d.FPDFBitmap_GetBuffer(&requests.FPDFBitmap_GetBuffer{Bitmap: bitmap.Bitmap})
	if err != nil {
		return nil, err
	}
	return &image.RGBA{Pix: pixels.Buffer, Stride: 4 * w, Rect: image.Rect(0, 0, w, h)}, nil
}

// read reads the text of the page with the place of each character. The text has the same form as
// the output of a textio.Sink. So a search in the page finds the words of the search index.
func (d *canvas) read() error {
	text, err := d.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: d.ref})
	if err != nil {
		return err
	}
	count, err := d.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text.TextPage})
	if err != nil {
		return err
	}
	var runes []rune
	var at []int // the index of each character in PDFium, from which its place is read
	for i := 0; i < count.Count && len(runes) < drawing.MaxChars; i++ {
		r, err := d.char(text.TextPage, i)
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(r) && i+1 < count.Count {
			low, err := d.char(text.TextPage, i+1)
			if err != nil {
				return err
			}
			if whole := utf16.DecodeRune(r, low); whole != '\ufffd' {
				r = whole
				i++
			}
		}
		runes, at = append(runes, r), append(at, i)
	}
	var w writer
	for i, r := range runes {
		for _, shown := range lineEnd(r, runes[i+1:]) {
			w.write(shown, func() drawing.Box { return d.box(text.TextPage, at[i]) })
		}
	}
	for _, n := range d.notes {
		box := d.boxOf(n.place)
		w.write('\n', nil)
		for _, r := range n.text {
			w.write(r, func() drawing.Box { return box })
		}
	}
	d.page.Text, d.page.Boxes = w.text.String(), w.boxes
	return nil
}

func (d *canvas) char(text references.FPDF_TEXTPAGE, i int) (rune, error) {
	c, err := d.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: text, Index: i})
	if err != nil {
		return 0, err
	}
	return rune(c.Unicode & 0x1fffff), nil
}

// box returns the place of a character in the picture. The box is empty if the character is outside
// of the picture.
func (d *canvas) box(text references.FPDF_TEXTPAGE, i int) drawing.Box {
	b, err := d.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: text, Index: i})
	if err != nil {
		return drawing.Box{}
	}
	return d.boxOf(structs.FPDF_FS_RECTF{
		Left: float32(b.Rect.Left), Top: float32(b.Rect.Top), Right: float32(b.Rect.Right),
		Bottom: float32(b.Rect.Bottom),
	})
}

// boxOf maps a rectangle of the page to a box of the picture.
func (d *canvas) boxOf(r structs.FPDF_FS_RECTF) drawing.Box {
	at := func(x, y float32) (float64, float64) {
		return d.x[0]*float64(x) + d.x[1]*float64(y) + d.x[2], d.y[0]*float64(x) + d.y[1]*float64(y) + d.y[2]
	}
	x1, y1 := at(r.Left, r.Bottom)
	x2, y2 := at(r.Right, r.Top)
	clamp := func(v float64, limit int) uint16 { return uint16(min(max(v, 0), float64(limit))) } // NaN becomes 0
	box := drawing.Box{
		Left: clamp(math.Floor(min(x1, x2)), d.page.Width), Top: clamp(math.Floor(min(y1, y2)), d.page.Height),
		Right: clamp(math.Ceil(max(x1, x2)), d.page.Width), Bottom: clamp(math.Ceil(max(y1, y2)), d.page.Height),
	}
	if box.Empty() {
		return drawing.Box{}
	}
	return box
}

// writer collects a text and the box of each character. It joins white space like a textio.Sink.
type writer struct {
	text  strings.Builder
	boxes []drawing.Box
	lines int
	tab   bool
	blank bool
}

func (w *writer) write(r rune, box func() drawing.Box) {
	switch r = textio.Kept(r); {
	case len(w.boxes) >= drawing.MaxChars-2:
	case r == '\n':
		w.lines++
	case r == '\t':
		w.tab = true
	case r == ' ':
		w.blank = true
	case r >= 0:
		w.gap()
		w.text.WriteRune(r)
		w.boxes = append(w.boxes, box())
	}
}

// gap writes the white space that precedes the next character.
func (w *writer) gap() {
	gap := ""
	switch {
	case len(w.boxes) == 0:
	case w.lines > 0:
		gap = "\n\n"[:min(w.lines, 2)]
	case w.tab:
		gap = "\t"
	case w.blank:
		gap = " "
	}
	w.text.WriteString(gap)
	w.boxes = append(w.boxes, make([]drawing.Box, len(gap))...)
	w.lines, w.tab, w.blank = 0, false, false
}
