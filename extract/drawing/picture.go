package drawing

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"math"

	"kartei/extract/textio"
)

// Fit returns the size of a picture in whole pixels. If the picture would have too many pixels, Fit
// scales it down. It returns textio.ErrBroken unless both lengths are positive and finite.
func Fit(width, height float64) (int, int, error) {
	if !(width > 0) || !(height > 0) || math.IsInf(width*height, 0) {
		return 0, 0, textio.ErrBroken
	}
	scale := min(1, math.Sqrt((MaxPixels-2*maxSide)/(width*height)), (maxSide-1)/max(width, height))
	return max(1, int(math.Ceil(width*scale))), max(1, int(math.Ceil(height*scale))), nil
}

// SetPicture encodes a picture without transparent parts. The format is PNG if the result is small,
// as for text and drawings. For other pictures, such as scans, it is JPEG.
func (p *Page) SetPicture(picture *image.RGBA) error {
	p.Width, p.Height = picture.Rect.Dx(), picture.Rect.Dy()
	var source image.Image = picture
	if grey := greyOf(picture); grey != nil {
		source = grey
	}
	// As PNG, a page of text takes a tenth of a byte for each pixel, and a scan takes one byte or
	// more.
	const small = 4
	out := &smallFile{limit: max(64<<10, p.Width*p.Height/small)}
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	err := encoder.Encode(out, source)
	if err == nil {
		p.ContentType, p.Image = "image/png", out.kept
		return nil
	}
	if !errors.Is(err, errLarge) {
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

// errLarge is the error of a smallFile that exceeds its limit.
var errLarge = errors.New("extract: the picture is large as PNG")

// smallFile is a writer that keeps at most limit bytes. A Write beyond the limit fails with
// errLarge.
type smallFile struct {
	kept  []byte
	limit int
}

func (f *smallFile) Write(p []byte) (int, error) {
	if len(f.kept)+len(p) > f.limit {
		return 0, errLarge
	}
	f.kept = append(f.kept, p...)
	return len(p), nil
}

// greyOf returns the picture with one byte for each pixel. It returns nil if the picture has
// colours.
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
