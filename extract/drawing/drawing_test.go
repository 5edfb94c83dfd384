package drawing

import (
	"bytes"
	"image"
	"image/png"
	"testing"
	"unicode/utf8"
)

// FuzzParse checks that an accepted page has a picture of the stated size, a tidy text and boxes
// within the picture.
func FuzzParse(f *testing.F) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		f.Fatal(err)
	}
	good := Page{
		Pages:       1,
		Width:       3,
		Height:      2,
		ContentType: "image/png",
		Image:       picture.Bytes(),
		Text:        "aü\nb",
		Boxes:       []Box{{0, 0, 1, 1}, {1, 0, 3, 2}, {}, {2, 1, 3, 2}},
	}
	for _, p := range []*Page{&good, {Pages: 0}, {Pages: 1, Text: "\x00", Boxes: []Box{{}}}} {
		b, err := p.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Parse(b, 1)
		if err != nil {
			return
		}
		if len(p.Boxes) != utf8.RuneCountInString(p.Text) || !isTidy([]byte(p.Text)) {
			t.Errorf("%d boxes of %q", len(p.Boxes), p.Text)
		}
		if p.ContentType == "" {
			if len(p.Image) > 0 || p.Pages > 0 {
				t.Errorf("a picture without a type: %+v", p)
			}
			return
		}
		config, _, err := image.DecodeConfig(bytes.NewReader(p.Image))
		if err != nil || config.Width != p.Width || config.Height != p.Height {
			t.Errorf("%+v, %v", config, err)
		}
		for _, b := range p.Boxes {
			if int(b.Right) > p.Width || int(b.Bottom) > p.Height || b.Left > b.Right || b.Top > b.Bottom {
				t.Errorf("the box %+v", b)
			}
		}
	})
}
