// Package drawing owns a page as it is drawn: its picture, and its text with the place of each character.
package drawing

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // its dimensions are compared
	_ "image/png"
	"unicode/utf8"

	"kartei/extract/textio"
)

// Sheet names a page and how fine it is drawn.
type Sheet struct {
	Number int // from 1
	DPI    int
}

// sheetForm is the form of a sheet on the command line of a child.
const sheetForm = "%d/%d"

// String returns the sheet as ParseSheet reads it.
func (s Sheet) String() string { return fmt.Sprintf(sheetForm, s.Number, s.DPI) }

// ParseSheet reads a sheet that String wrote.
func ParseSheet(text string) (s Sheet, err error) {
	_, err = fmt.Sscanf(text, sheetForm, &s.Number, &s.DPI)
	return s, err
}

// Func draws a page of a file. It runs in the child process, under its
// limits. Its errors are the errors of a textio.ReadFunc.
type Func func(in *textio.Input, s Sheet) (*Page, error)

// Page is a drawn page: a picture, and its text with the place of each
// character. Text is as clean as a Sink's text, and has no form feeds.
type Page struct {
	Number, Pages int // of a file without that page, only Pages is set
	Width, Height int // of the picture, in pixels
	ContentType   string
	Image         []byte
	Text          string
	// Boxes has a box for each character of Text, in its order. The box of
	// white space is empty.
	Boxes []Box
}

// Box is a rectangle in the pixels of a picture. Right and Bottom are outside.
type Box struct{ Left, Top, Right, Bottom uint16 }

// Empty reports whether nothing is in the box.
func (b Box) Empty() bool { return b.Left >= b.Right || b.Top >= b.Bottom }

// Size returns the bytes that a page takes in memory.
func (p *Page) Size() int { return len(p.Image) + len(p.Text) + 8*len(p.Boxes) + 200 }

const (
	// MaxPixels bounds a picture, and what is decoded to draw it.
	MaxPixels = 40_000_000
	// maxSide bounds its sides. Browsers show no larger ones.
	maxSide = 16_000
	// maxImage bounds the bytes of a picture.
	maxImage = 16 << 20
	// MaxChars bounds the characters of a page. A full page of a newspaper has
	// 20,000.
	MaxChars = 100_000
	// MaxEncoded bounds the bytes of Encode.
	MaxEncoded = pageHead + maxImage + MaxChars*(utf8.UTFMax+boxSize)
)

// head begins what Encode returns. Then follow the text, its boxes and the
// picture.
type head struct{ Pages, Width, Height, Type, Text, Image uint32 }

const (
	pageHead = 6 * 4
	boxSize  = 4 * 2
)

// pictureTypes are the types of pictures; their numbers are in the head.
var pictureTypes = []string{"", "image/png", "image/jpeg"}

// Encode returns a page in the form in which a child writes it.
func (p *Page) Encode() ([]byte, error) {
	h := head{
		Pages: uint32(p.Pages), Width: uint32(p.Width), Height: uint32(p.Height), Text: uint32(len(p.Text)),
		Image: uint32(len(p.Image)),
	}
	for i, name := range pictureTypes {
		if name == p.ContentType {
			h.Type = uint32(i)
		}
	}
	b, err := binary.Append(nil, binary.LittleEndian, h)
	if err != nil {
		return nil, err
	}
	b = append(b, p.Text...)
	if b, err = binary.Append(b, binary.LittleEndian, p.Boxes); err != nil {
		return nil, err
	}
	return append(b, p.Image...), nil
}

// errPage is the error for output that is no page.
var errPage = errors.New("extract: the child wrote no page")

// Parse reads what a child wrote. A child is not trusted: it may have been
// taken over by the file. So a browser gets only a picture of the stated type
// and size, and a text without control characters.
func Parse(b []byte, number int) (*Page, error) {
	var h head
	n, err := binary.Decode(b, binary.LittleEndian, &h)
	if err != nil || h.Type >= uint32(len(pictureTypes)) || h.Pages > 1<<30 || h.Width > maxSide ||
		h.Height > maxSide || h.Text > MaxChars*utf8.UTFMax || h.Image > maxImage {
		return nil, errPage
	}
	b = b[n:]
	if uint32(len(b)) < h.Text || !isTidy(b[:h.Text]) {
		return nil, errPage
	}
	p := &Page{
		Number: number, Pages: int(h.Pages), Width: int(h.Width), Height: int(h.Height),
		ContentType: pictureTypes[h.Type], Text: string(b[:h.Text]),
	}
	b = b[h.Text:]
	p.Boxes = make([]Box, utf8.RuneCountInString(p.Text))
	if len(b) != boxSize*len(p.Boxes)+int(h.Image) {
		return nil, errPage
	}
	if n, err = binary.Decode(b, binary.LittleEndian, p.Boxes); err != nil && len(p.Boxes) > 0 {
		return nil, errPage
	}
	p.Image = bytes.Clone(b[n:])
	return p, p.check()
}

// isTidy reports whether a text is as a Sink writes it.
func isTidy(text []byte) bool {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n <= 1 || textio.Kept(r) != r {
			return false
		}
		i += n
	}
	return true
}

// check compares the picture and the boxes with the stated size.
func (p *Page) check() error {
	if p.Number > p.Pages && p.ContentType == "" && len(p.Image) == 0 {
		return nil
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(p.Image))
	if err != nil || p.Number > p.Pages || "image/"+format != p.ContentType || config.Width != p.Width ||
		config.Height != p.Height || p.Width*p.Height > MaxPixels {
		return errPage
	}
	for _, b := range p.Boxes {
		if b.Left > b.Right || b.Top > b.Bottom || int(b.Right) > p.Width || int(b.Bottom) > p.Height {
			return errPage
		}
	}
	return nil
}
