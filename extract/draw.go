package extract

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"strings"
	"unicode/utf16"

	"kartei/extract/textio"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/structs"
)

// drawFunc draws a page of a file. It runs in the child process, under its
// limits. Its errors are the errors of a textio.ReadFunc.
type drawFunc func(in *textio.Input, s Sheet) (*Page, error)

// drawTo draws a page and writes it.
func drawTo(out io.Writer, draw drawFunc, in *textio.Input, s Sheet) error {
	page, err := draw(in, s)
	if err != nil {
		return err
	}
	b, err := appendPage(nil, page)
	if err != nil {
		return err
	}
	_, err = out.Write(b)
	return err
}

// drawPDF draws a page of a PDF, and reads its text.
func drawPDF(in *textio.Input, s Sheet) (*Page, error) {
	f, err := openPDF(in)
	if err != nil {
		return nil, err
	}
	if s.Number > f.pages {
		return &Page{Pages: f.pages}, nil
	}
	opened, err := f.page(s.Number - 1)
	if err != nil {
		return nil, textio.ErrBroken
	}
	d := drawing{
		Pdfium: f.Pdfium,
		ref:    requests.Page{ByReference: &opened.ref},
		notes:  opened.notes,
		page:   &Page{Number: s.Number, Pages: f.pages},
	}
	if err := d.measure(float64(s.DPI)); err != nil {
		return nil, textio.ErrBroken
	}
	picture, err := d.render()
	if err != nil {
		return nil, textio.ErrBroken
	}
	if err := encodePicture(d.page, picture); err != nil {
		return nil, err
	}
	if err := d.read(); err != nil {
		return nil, textio.ErrBroken
	}
	return d.page, nil
}

// drawing is a page of a PDF that is drawn.
type drawing struct {
	pdfium.Pdfium
	ref   requests.Page
	notes []note
	page  *Page
	// x and y turn a point of the page into a pixel of the picture: the factors
	// of both coordinates, and an offset.
	x, y [3]float64
}

// fit returns the size of a picture in whole pixels. A picture that would be
// too large is drawn smaller.
func fit(width, height float64) (int, int, error) {
	if !(width > 0) || !(height > 0) || math.IsInf(width*height, 0) {
		return 0, 0, textio.ErrBroken
	}
	scale := min(1, math.Sqrt((maxPixels-2*maxSide)/(width*height)), (maxSide-1)/max(width, height))
	return max(1, int(math.Ceil(width*scale))), max(1, int(math.Ceil(height*scale))), nil
}

// measure computes the size of the picture, and where the points of the page
// are on it. The page may be rotated and cropped.
func (d *drawing) measure(dpi float64) error {
	width, err := d.FPDF_GetPageWidthF(&requests.FPDF_GetPageWidthF{Page: d.ref})
	if err != nil {
		return err
	}
	height, err := d.FPDF_GetPageHeightF(&requests.FPDF_GetPageHeightF{Page: d.ref})
	if err != nil {
		return err
	}
	d.page.Width, d.page.Height, err = fit(float64(width.PageWidth)*dpi/72, float64(height.PageHeight)*dpi/72)
	if err != nil {
		return err
	}
	// PDFium answers in whole pixels, so it is asked about a larger picture and
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

// white is the colour of paper, also for pages with transparent parts.
const white = 0xffffffff

// render draws the page. The picture is memory of PDFium.
func (d *drawing) render() (*image.RGBA, error) {
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

// read reads the text of the page with the place of each character, in the same
// form as a Sink writes it. So the words that are found are those in the index.
func (d *drawing) read() error {
	text, err := d.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: d.ref})
	if err != nil {
		return err
	}
	count, err := d.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text.TextPage})
	if err != nil {
		return err
	}
	var runes []rune
	var at []int // the index of each, for its place
	for i := 0; i < count.Count && len(runes) < maxChars; i++ {
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
			w.write(shown, func() Box { return d.box(text.TextPage, at[i]) })
		}
	}
	for _, n := range d.notes {
		box := d.boxOf(n.place)
		w.write('\n', nil)
		for _, r := range n.text {
			w.write(r, func() Box { return box })
		}
	}
	d.page.Text, d.page.Boxes = w.text.String(), w.boxes
	return nil
}

func (d *drawing) char(text references.FPDF_TEXTPAGE, i int) (rune, error) {
	c, err := d.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: text, Index: i})
	if err != nil {
		return 0, err
	}
	return rune(c.Unicode & 0x1fffff), nil
}

// box returns the place of a character in the picture. It is empty if the
// character is outside.
func (d *drawing) box(text references.FPDF_TEXTPAGE, i int) Box {
	b, err := d.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: text, Index: i})
	if err != nil {
		return Box{}
	}
	return d.boxOf(structs.FPDF_FS_RECTF{
		Left: float32(b.Rect.Left), Top: float32(b.Rect.Top), Right: float32(b.Rect.Right),
		Bottom: float32(b.Rect.Bottom),
	})
}

// boxOf returns a rectangle of the page in the picture.
func (d *drawing) boxOf(r structs.FPDF_FS_RECTF) Box {
	at := func(x, y float32) (float64, float64) {
		return d.x[0]*float64(x) + d.x[1]*float64(y) + d.x[2], d.y[0]*float64(x) + d.y[1]*float64(y) + d.y[2]
	}
	x1, y1 := at(r.Left, r.Bottom)
	x2, y2 := at(r.Right, r.Top)
	clamp := func(v float64, limit int) uint16 { return uint16(min(max(v, 0), float64(limit))) } // NaN becomes 0
	box := Box{
		clamp(math.Floor(min(x1, x2)), d.page.Width), clamp(math.Floor(min(y1, y2)), d.page.Height),
		clamp(math.Ceil(max(x1, x2)), d.page.Width), clamp(math.Ceil(max(y1, y2)), d.page.Height),
	}
	if box.Empty() {
		return Box{}
	}
	return box
}

// writer writes a text with boxes. It joins white space as a Sink does.
type writer struct {
	text  strings.Builder
	boxes []Box
	lines int
	tab   bool
	blank bool
}

func (w *writer) write(r rune, box func() Box) {
	switch r = textio.Kept(r); {
	case len(w.boxes) >= maxChars-2:
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

// gap writes the white space since the last character.
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
	w.boxes = append(w.boxes, make([]Box, len(gap))...)
	w.lines, w.tab, w.blank = 0, false, false
}

// encodePicture encodes a picture without transparent parts: as PNG if that is
// small, as for text and drawings, else as JPEG, as for scans.
func encodePicture(p *Page, picture *image.RGBA) error {
	p.Width, p.Height = picture.Rect.Dx(), picture.Rect.Dy()
	var source image.Image = picture
	if grey := greyOf(picture); grey != nil {
		source = grey
	}
	// A page of text takes a tenth of a byte for each pixel as PNG, a scan one
	// or more.
	const small = 4
	out := &cappedBuffer{limit: max(64<<10, p.Width*p.Height/small), strict: true}
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	err := encoder.Encode(out, source)
	if err == nil {
		p.ContentType, p.Image = "image/png", out.kept
		return nil
	}
	if !errors.Is(err, errOutput) {
		return err
	}
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, source, &jpeg.Options{Quality: 85}); err != nil {
		return err
	}
	if photo.Len() > maxImage {
		return textio.ErrInflated
	}
	p.ContentType, p.Image = "image/jpeg", photo.Bytes()
	return nil
}

// greyOf returns a picture without colour in a third of the bytes, and nil for
// one with colour.
func greyOf(picture *image.RGBA) *image.Gray {
	for i := 0; i+2 < len(picture.Pix); i += 4 {
		if c := picture.Pix[i : i+3 : i+3]; c[0] != c[1] || c[1] != c[2] {
			return nil
		}
	}
	grey := image.NewGray(picture.Rect)
	for i := range grey.Pix {
		grey.Pix[i] = picture.Pix[4*i]
	}
	return grey
}
