// Package drawing owns a page as it is drawn: its picture, and its text with the place of each character.
package drawing

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // to decode its dimensions
	_ "image/png"
	"unicode/utf8"

	"kartei/extract/textio"
)

// Sheet is the number of a page and the resolution at which the page is drawn.
type Sheet struct {
	Number int // from 1
	DPI    int
}

// sheetForm is the format of a Sheet on the command line of a child.
const sheetForm = "%d/%d"

// String returns the Sheet in the format that ParseSheet accepts.
func (s Sheet) String() string { return fmt.Sprintf(sheetForm, s.Number, s.DPI) }

// ParseSheet parses the result of Sheet.String.
func ParseSheet(text string) (s Sheet, err error) {
	_, err = fmt.Sscanf(text, sheetForm, &s.Number, &s.DPI)
	return s, err
}

// Func draws a page of a file. It runs in a child process with limits. Its errors are the errors of
// a textio.ReadFunc.
type Func func(in *textio.Input, s Sheet) (*Page, error)

// Page is a drawn page: a picture, and the text with the place of each character. Text has only the
// characters that a textio.Sink writes, and no form feeds.
type Page struct {
	Number, Pages int // Pages is the number of pages of the file; if it is smaller than Number, only these two are set
	Width, Height int // of the picture in pixels
	ContentType   string
	Image         []byte
	Text          string
	// Boxes has the place of each character of Text, in the same order. The box of white space is
	// empty.
	Boxes []Box
}

// Box is a rectangle in pixels of the picture. Right and Bottom are exclusive.
type Box struct{ Left, Top, Right, Bottom uint16 }

// Empty reports whether the box contains no pixels.
func (b Box) Empty() bool { return b.Left >= b.Right || b.Top >= b.Bottom }

// Size returns the approximate size of a page in memory in bytes.
func (p *Page) Size() int { return len(p.Image) + len(p.Text) + 8*len(p.Boxes) + 200 }

const (
	// MaxPixels is the maximum number of pixels of a drawn picture, and of a picture in a file.
	MaxPixels = 40_000_000
	// maxSide is the maximum width and height of a picture in pixels. Browsers do not show larger
	// pictures.
	maxSide = 16_000
	// maxImage is the maximum size of an encoded picture in bytes.
	maxImage = 16 << 20
	// MaxChars is the maximum number of characters of a page. A full page of a newspaper has
	// 20,000.
	MaxChars = 100_000
	// MaxEncoded is the maximum length of the result of Encode in bytes.
	MaxEncoded = pageHead + maxImage + MaxChars*(utf8.UTFMax+boxSize)
)

// head is the beginning of an encoded page. It has the lengths of the text and the picture. After
// the head follow the text, its boxes and the picture.
type head struct{ Pages, Width, Height, Type, Text, Image uint32 }

const (
	pageHead = 6 * 4
	boxSize  = 4 * 2
)

// pictureTypes are the content types of pictures. The field Type of a head is an index of this
// list.
var pictureTypes = []string{"", "image/png", "image/jpeg"}

// Encode returns the page in the format that Parse reads.
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

// errPage is the error of Parse for invalid output.
var errPage = errors.New("extract: the child wrote no page")

// Parse decodes the page that a child wrote. Parse does not trust the child, since a hostile file
// may control it. So Parse checks that the picture has the stated type and size, that the text has
// no control characters, and that the boxes lie in the picture.
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

// isTidy reports whether a text is valid UTF-8 and has only characters that a textio.Sink writes.
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

// check returns an error unless the picture has the stated type and size and contains all boxes.
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
