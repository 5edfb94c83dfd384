// Package picture owns the drawing of picture files.
package picture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/draw"
	_ "image/gif" // registers the decoder
	"io"

	"kartei/extract/drawing"
	"kartei/extract/textio"

	_ "golang.org/x/image/bmp"
	scaling "golang.org/x/image/draw"
	"golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"
)

// sideAt is the maximum length of the longer side of a drawn picture in inches. It is a little
// longer than a page of A3.
const sideAt = 17

// Draw decodes a picture and encodes its pixels again. So a browser gets neither malformed data nor
// metadata, such as the place where a photo was taken.
func Draw(in *textio.Input, s drawing.Sheet) (*drawing.Page, error) {
	if s.Number > 1 {
		return &drawing.Page{Pages: 1}, nil
	}
	whole, err := in.Hold()
	if err != nil {
		return nil, err
	}
	config, format, err := image.DecodeConfig(reader(whole))
	if err != nil {
		return nil, textio.ErrBroken
	}
	if err := bounded(config); err != nil {
		return nil, err
	}
	picture, _, err := image.Decode(reader(whole))
	if err != nil {
		return nil, textio.ErrBroken
	}
	turn := 1
	if format == "jpeg" {
		turn = orientation(reader(whole))
	}
	return show(picture, turn, &drawing.Page{Number: 1, Pages: 1}, s)
}

func reader(c *textio.Chunks) *bufio.Reader {
	return bufio.NewReader(io.NewSectionReader(c, 0, c.Size))
}

// bounded returns an error if a picture has no pixels, or too many to decode it.
func bounded(c image.Config) error {
	switch {
	case c.Width <= 0 || c.Height <= 0:
		return textio.ErrBroken
	case c.Width > drawing.MaxPixels/c.Height:
		return textio.ErrInflated
	}
	return nil
}

// show draws a picture on a white background, upright and not larger than sideAt.
func show(picture image.Image, turn int, p *drawing.Page, s drawing.Sheet) (*drawing.Page, error) {
	size := picture.Bounds().Size()
	limit := sideAt * s.DPI
	if longer := max(size.X, size.Y); longer > limit {
		size = image.Pt(max(1, size.X*limit/longer), max(1, size.Y*limit/longer))
	}
	drawn := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(drawn, drawn.Rect, image.White, image.Point{}, draw.Src)
	if size == picture.Bounds().Size() {
		draw.Draw(drawn, drawn.Rect, picture, picture.Bounds().Min, draw.Over)
	} else {
		scaling.BiLinear.Scale(drawn, drawn.Rect, picture, picture.Bounds(), scaling.Over, nil)
	}
	return p, p.SetPicture(turned(drawn, turn))
}

// turned returns a picture in the orientation turn, as Exif numbers it from 1 to 8: 2 is mirrored,
// 3 upside down, and 4 both. Pictures with 5 to 8 lie on their side.
func turned(from *image.RGBA, turn int) *image.RGBA {
	if turn <= 1 || turn > 8 {
		return from
	}
	w, h := from.Rect.Dx(), from.Rect.Dy()
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	if turn >= 5 {
		to = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range h {
		for x := range w {
			at := image.Pt(x, y)
			switch turn {
			case 2:
				at = image.Pt(w-1-x, y)
			case 3:
				at = image.Pt(w-1-x, h-1-y)
			case 4:
				at = image.Pt(x, h-1-y)
			case 5:
				at = image.Pt(y, x)
			case 6:
				at = image.Pt(h-1-y, x)
			case 7:
				at = image.Pt(h-1-y, w-1-x)
			case 8:
				at = image.Pt(y, w-1-x)
			}
			i, j := to.PixOffset(at.X, at.Y), from.PixOffset(x, y)
			copy(to.Pix[i:i+4:i+4], from.Pix[j:j+4])
		}
	}
	return to
}

// orientation returns the orientation in the Exif segment of a JPEG, and 1 without such a segment.
// Telephones store the pixels as the sensor reads them, however the telephone is held.
func orientation(r io.Reader) int {
	start := make([]byte, 128<<10) // the segment is one of the first and has at most 64 KiB
	n, _ := io.ReadFull(r, start)
	start = start[:n]
	for at := 2; at+4 <= len(start) && start[at] == 0xff && start[at+1] != 0xda; {
		size := int(binary.BigEndian.Uint16(start[at+2:]))
		part := start[min(at+4, len(start)):min(at+2+max(size, 2), len(start))]
		if exif, is := bytes.CutPrefix(part, []byte("Exif\x00\x00")); is && start[at+1] == 0xe1 {
			return stated(exif)
		}
		at += 2 + max(size, 2)
	}
	return 1
}

// stated returns the orientation in the first directory of a TIFF structure, and 1 if it has none.
func stated(exif []byte) int {
	d, err := openDirectory(bytes.NewReader(exif))
	if err != nil {
		return 1
	}
	const tagOrientation = 0x112
	for i := range d.count {
		var entry [12]byte
		if _, err := d.r.ReadAt(entry[:], d.at+2+12*int64(i)); err != nil {
			return 1
		}
		if d.order.Uint16(entry[:]) == tagOrientation {
			return int(d.order.Uint16(entry[8:]))
		}
	}
	return 1
}

// directory is a directory of a TIFF structure. It describes a picture.
type directory struct {
	r     io.ReaderAt
	order binary.ByteOrder
	at    int64
	count int
}

// openDirectory opens the first directory of a TIFF structure.
func openDirectory(r io.ReaderAt) (*directory, error) {
	var start [8]byte
	if _, err := r.ReadAt(start[:], 0); err != nil {
		return nil, textio.ErrBroken
	}
	d := &directory{r: r, order: binary.LittleEndian}
	if start[0] == 'M' {
		d.order = binary.BigEndian
	}
	return d, d.open(int64(d.order.Uint32(start[4:])))
}

func (d *directory) open(at int64) error {
	var count [2]byte
	if _, err := d.r.ReadAt(count[:], at); err != nil || at == 0 {
		return textio.ErrBroken
	}
	d.at, d.count = at, int(d.order.Uint16(count[:]))
	return nil
}

// next returns the offset of the next directory, or 0 if this is the last.
func (d *directory) next() int64 {
	var at [4]byte
	if _, err := d.r.ReadAt(at[:], d.at+2+12*int64(d.count)); err != nil {
		return 0
	}
	return int64(d.order.Uint32(at[:]))
}

// maxDirectories is the maximum number of pages of a TIFF file that are counted.
const maxDirectories = 10_000

// DrawTIFF draws a page of a TIFF file. Scanners and fax machines write a
// directory for each page.
func DrawTIFF(in *textio.Input, s drawing.Sheet) (*drawing.Page, error) {
	whole, err := in.Hold()
	if err != nil {
		return nil, err
	}
	d, err := openDirectory(whole)
	if err != nil {
		return nil, err
	}
	wanted, pages := int64(0), 0
	for at, seen := d.at, map[int64]bool{}; at != 0 && !seen[at] && pages < maxDirectories; at = d.next() {
		if d.open(at) != nil {
			break
		}
		seen[at] = true
		if pages++; pages == s.Number {
			wanted = at
		}
	}
	if wanted == 0 {
		return &drawing.Page{Pages: pages}, nil
	}
	file := &startingAt{Chunks: whole}
	d.order.PutUint32(file.offset[:], uint32(wanted))
	config, err := tiff.DecodeConfig(io.NewSectionReader(file, 0, whole.Size))
	if err != nil {
		return nil, tiffFault(err)
	}
	if err := bounded(config); err != nil {
		return nil, err
	}
	picture, err := tiff.Decode(io.NewSectionReader(file, 0, whole.Size))
	if err != nil {
		return nil, tiffFault(err)
	}
	return show(picture, 1, &drawing.Page{Number: s.Number, Pages: pages}, s)
}

// tiffFault maps an error of the TIFF decoder to an error of readers. The decoder does not support
// all compressions.
func tiffFault(err error) error {
	if _, unsupported := errors.AsType[tiff.UnsupportedError](err); unsupported {
		return textio.ErrUnsupported
	}
	return textio.ErrBroken
}

// startingAt is a TIFF file whose header is changed: its first directory is at offset.
type startingAt struct {
	*textio.Chunks
	offset [4]byte
}

func (f *startingAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.Chunks.ReadAt(p, off)
	for i := range f.offset {
		if at := int64(4+i) - off; at >= 0 && at < int64(n) {
			p[at] = f.offset[i]
		}
	}
	return n, err
}
