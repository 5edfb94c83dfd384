package extract

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kartei/extract/drawing"
	"kartei/test/filetest"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

func viewer(t testing.TB) *Viewer {
	t.Helper()
	v := extractor(t, Limits{}).NewViewer()
	t.Cleanup(v.Close)
	return v
}

// fileOf returns a file to look at.
func fileOf(name, contentType string, content []byte) File {
	return File{Organization: 1, Name: name, ContentType: contentType, Size: int64(len(content)),
		Open: func(context.Context) (io.ReadCloser, error) {
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

// drawn is Page, called again while the viewer is busy, as its callers do. On a
// busy machine a page takes longer than a caller waits.
func drawn(t testing.TB, v *Viewer, f File, s drawing.Sheet) (*Page, error) {
	for {
		if p, err := v.Page(t.Context(), f, s); !errors.Is(err, ErrBusy) {
			return p, err
		}
	}
}

// pictureOf draws a page and decodes it. With KARTEI_SCREENSHOTS it also stores
// the picture there.
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

// said describes a page in a failure of a test.
func said(p *Page) string {
	if p == nil {
		return "no page"
	}
	return fmt.Sprintf("page %d of %d, %d x %d, %d bytes of %q, %q; it says %.100q", p.Number, p.Pages, p.Width,
		p.Height, len(p.Image), p.ContentType, p.Reason, p.Text)
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

func rect(b drawing.Box) image.Rectangle {
	return image.Rect(int(b.Left), int(b.Top), int(b.Right), int(b.Bottom))
}

// Each letter of a page is in its box, and nothing dark is outside of the boxes:
// the picture and its text belong together.
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

// Nothing of the shelf outlives its time, and its bound holds.
func TestShelf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		page := func(size int) *Page { return &Page{Page: drawing.Page{Image: make([]byte, size)}} }
		s.put("first", page(shelfPart/2))
		time.Sleep(shelfTime / 2)
		for i := range 6 {
			s.put(fmt.Sprint(i), page(shelfPart-1000))
			s.get("first")
		}
		s.put("large", page(shelfPart))
		if s.get("0") != nil || s.get("1") != nil || s.get("2") != nil || s.get("3") == nil || s.get("first") == nil ||
			s.get("large") != nil || s.size > shelfSize {
			t.Errorf("%d values of %d bytes are kept", len(s.items), s.size)
		}
		s.strike("bad")
		time.Sleep(shelfTime/2 + time.Second)
		if s.get("first") != nil || s.get("5") == nil || s.strikes("bad") != 1 {
			t.Errorf("at the time of the first: %d values", len(s.items))
		}
		time.Sleep(shelfTime / 2)
		synctest.Wait()
		if len(s.items) != 0 || s.order.Len() != 0 || s.size != 0 || len(s.struck) != 0 || s.sweep != nil {
			t.Errorf("in the end: %d values of %d bytes, %v", len(s.items), s.size, s.struck)
		}
	})
}

// A caller waits for a bounded time. What it waited for is there when it comes
// again. Too many waiting drawings of one organization are refused, and drawings
// of other organizations are not.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := extractor(t, Limits{}).NewViewer()
		defer v.Close()
		release := make(chan struct{})
		draw := func(organization int64, key string) (*Page, error) {
			return look(v, t.Context(), File{Organization: organization}, key, func(ctx context.Context) (*Page, error) {
				select {
				case <-release:
					return &Page{Page: drawing.Page{Pages: 7}}, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			})
		}
		start := time.Now()
		for i := range maxWaiting - 1 {
			go draw(1, fmt.Sprint(i))
		}
		if _, err := draw(1, "slow"); err != ErrBusy || time.Since(start) != patience {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		if _, err := draw(1, "one more"); err != ErrBusy || time.Since(start) != patience {
			t.Errorf("over the bound: %v after %s", err, time.Since(start))
		}
		go draw(2, "other")
		synctest.Wait()
		close(release)
		synctest.Wait()
		if p, err := draw(1, "slow"); err != nil || p.Pages != 7 || v.kept.get("other") == nil || len(v.flights) != 0 ||
			len(v.waiting) != 0 {
			t.Errorf("%+v, %v; %d flights", p, err, len(v.flights))
		}
	})
}

// Fifty readers of one page draw it once.
func TestFiftyReaders(t *testing.T) {
	v := viewer(t)
	content := testdata(t, "chromium.pdf")
	var opens atomic.Int64
	f := fileOf("a", "application/pdf", content)
	open := f.Open
	f.Open = func(ctx context.Context) (io.ReadCloser, error) {
		opens.Add(1)
		return open(ctx)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			p, err := drawn(t, v, f, drawing.Sheet{Number: 1, DPI: 96})
			if err != nil || p.Width != 816 || !strings.Contains(p.Text, "Kaltmiete") {
				t.Errorf("%s, %v", said(p), err)
			}
		})
	}
	wg.Wait()
	if n := opens.Load(); n != 1 {
		t.Errorf("the file was read %d times", n)
	}
	if v.Forget(f.Name + "b"); len(v.kept.items) != 1 {
		t.Errorf("%d pages are kept", len(v.kept.items))
	}
	if v.Forget(f.Name); len(v.kept.items) != 0 || v.kept.size != 0 {
		t.Errorf("%d pages of %d bytes are kept of a deleted file", len(v.kept.items), v.kept.size)
	}
}

// A drawing that begins while the cache is filled waits for it.
func TestDrawingWaitsForTheCache(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "code"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		x, err := New(Options{Cache: folder})
		if err != nil {
			t.Fatal(err)
		}
		x.filling = true
		time.AfterFunc(time.Second, func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.filling, x.warm = false, true
		})
		start := time.Now()
		ready, err := x.NewViewer().warmed(t.Context(), task{name: "application/pdf"})
		if err != nil || ready.cache != folder || time.Since(start) < time.Second ||
			time.Since(start) > time.Second+fillPause {
			t.Errorf("%+v, %v after %s", ready, err, time.Since(start))
		}
	})
}

// A file that makes its drawing fail has a reason and no picture. After some
// failures no more of its pages are drawn for a while.
func TestDrawingFails(t *testing.T) {
	v := viewer(t)
	for _, c := range []struct {
		contentType, content string
		want                 Reason
	}{
		{"application/pdf", "%PDF-1.7\n", Broken}, {"application/pdf", string(testdata(t, "encrypted.pdf")), Encrypted},
		{"text/plain", "x", Unsupported},
		{"image/svg+xml", "<svg/>", Unsupported}, {"text/html", "<p>", Unsupported}, {"image/heic", "x", Unsupported},
		{"image/png", filetest.PNG, Broken},
		{"image/png", strings.Replace(filetest.PNG, "\x00\x00\x00\x01\x00\x00\x00\x01", "\x00\x00\xff\xff\x00\x00\xff\xff",
			1) + "\x00\x00\x00\x00", Broken},
		{"image/tiff", "II*\x00\x08\x00\x00\x00", Broken}, {"image/tiff", "MM\x00*\x00\x00\x00\x00", Broken},
		{"test/panic", "x", Crashed},
		{"test/lies", "x", Crashed}, {"test/output", "x", Crashed}, {"test/memory", "x", OutOfMemory},
	} {
		p, err := drawn(t, v, fileOf(c.contentType+c.content, c.contentType, []byte(c.content)), drawing.Sheet{Number: 1, DPI: 96})
		if err != nil || p.Reason != c.want || len(p.Image) > 0 {
			t.Errorf("%s %.20q: %s, %v; want %q", c.contentType, c.content, said(p), err, c.want)
		}
	}
	var opens int
	f := fileOf("a", "test/panic", []byte("x"))
	open := f.Open
	f.Open = func(ctx context.Context) (io.ReadCloser, error) { opens++; return open(ctx) }
	for n := range 10 {
		if p, err := drawn(t, v, f, drawing.Sheet{Number: n + 1, DPI: 96}); err != nil || p.Reason == Complete {
			t.Errorf("%s, %v", said(p), err)
		}
	}
	if opens != strikes {
		t.Errorf("drawn %d times", opens)
	}
}

// A picture of any type becomes a picture without anything but its pixels:
// upright, on white, and no larger than a screen needs.
func TestPictures(t *testing.T) {
	v := viewer(t)
	// The picture is red at the left and blue at the right, and transparent at
	// the bottom.
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
		contentType, _, _ := strings.Cut(name, ";")
		p, picture := pictureOf(t, v, fileOf(name, contentType, c.content), drawing.Sheet{Number: 1, DPI: 96})
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
		p, _ := pictureOf(t, v, fileOf("wide", "image/png",
			coded(func(w io.Writer) error { return png.Encode(w, wide) })), drawing.Sheet{Number: 1, DPI: dpi})
		if p.Width != want || p.Height != want/4 {
			t.Errorf("a wide picture is %d x %d", p.Width, p.Height)
		}
	}
}

func far(a uint32, b uint8) bool { return max(a>>8, uint32(b))-min(a>>8, uint32(b)) > 40 }

// Each page of a TIFF file is drawn, as scanners write them.
func TestPagesOfTIFF(t *testing.T) {
	v := viewer(t)
	// Two directories of a grey picture of one pixel each. The directory after
	// the second one is the first one again.
	page := func(at, next, shade uint32) []byte {
		b := binary.LittleEndian.AppendUint16(nil, 8)
		entry := func(tag, kind uint16, value uint32) {
			b = binary.LittleEndian.AppendUint16(b, tag)
			b = binary.LittleEndian.AppendUint16(b, kind)
			b = binary.LittleEndian.AppendUint32(b, 1)
			b = binary.LittleEndian.AppendUint32(b, value)
		}
		entry(256, 3, 1)
		entry(257, 3, 1)
		entry(258, 3, 8)
		entry(259, 3, 1)
		entry(262, 3, 1)
		entry(273, 4, at+2+8*12+4)
		entry(278, 3, 1)
		entry(279, 4, 1)
		b = binary.LittleEndian.AppendUint32(b, next)
		return append(b, byte(shade), 0)
	}
	const size = 2 + 8*12 + 4 + 2
	for name, last := range map[string]uint32{"two pages": 0, "two pages in a circle": 8} {
		f := fileOf(name, "image/tiff", slices.Concat([]byte("II*\x00\x08\x00\x00\x00"), page(8, 8+size, 0),
			page(8+size, last, 255)))
		for n, want := range []uint32{0, 0xffff} {
			p, picture := pictureOf(t, v, f, drawing.Sheet{Number: n + 1, DPI: 96})
			if got, _, _, _ := picture.At(0, 0).RGBA(); p.Pages != 2 || got != want {
				t.Errorf("%s: page %d of %d is %x", name, n+1, p.Pages, got)
			}
		}
		if p, err := drawn(t, v, f, drawing.Sheet{Number: 3, DPI: 96}); err != nil || p.Pages != 2 || len(p.Image) > 0 || p.Reason != Complete {
			t.Errorf("a page that is not there: %s, %v", said(p), err)
		}
	}
}

// A page that would have too many pixels is drawn smaller.
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

// PDFs of the test suites of pdf.js and PDFium are drawn, and their letters are
// in their boxes. Broken and hostile ones have a reason.
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
		// Rotated pages, rotated and vertical text, other directions, a crop.
		"rotation.pdf":          {pages: 2, says: "first page with normal layout"},
		"rotated.pdf":           {pages: 1, says: "Rotated text"},
		"vertical.pdf":          {pages: 3, says: "日本語\nあいうえお", picture: true},
		"ArabicCIDTrueType.pdf": {pages: 1, says: "انواع الخطوط العربية"},
		"hebrew_mirrored.pdf":   {pages: 1, says: "בנימין"},
		"cropped_text.pdf":      {pages: 4, says: "Hello, world!"},
		// Forms and notes.
		"bug1947248_forms.pdf":  {pages: 1, says: "Hello PDF.js World", picture: true},
		"rotated_freetexts.pdf": {pages: 1, says: "K\nK\nK\nK"},
		// Scans.
		"scan-bad.pdf":               {pages: 1, says: "pdf.js", picture: true},
		"ccitt_EndOfBlock_false.pdf": {pages: 1, picture: true},
		"jbig2_symbol_offset.pdf":    {pages: 1, picture: true},
		"bug_jpx.pdf":                {pages: 1, picture: true},
		// Broken, encrypted, fuzzed and hostile.
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
					if p.Boxes[i].Left > 0 && dark(picture, rect(p.Boxes[i])) == 0 { // of a cropped letter only the edge may be left
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

// The last of a thousand pages is drawn as soon as the first.
func TestThousandPages(t *testing.T) {
	pages := make([]string, 1000)
	for i := range pages {
		pages[i] = fmt.Sprintf("Seite %d", i+1)
	}
	v := viewer(t)
	f := fileOf("a", "application/pdf", filetest.PDF(pages...))
	for _, n := range []int{1, 1000} {
		if p, _ := pictureOf(t, v, f, drawing.Sheet{Number: n, DPI: 96}); p.Pages != 1000 || p.Text != pages[n-1] {
			t.Errorf("%s", said(p))
		}
	}
	text, err := v.Text(t.Context(), f)
	for errors.Is(err, ErrBusy) {
		text, err = v.Text(t.Context(), f)
	}
	if err != nil || text.Reason != Complete || text.Body != strings.Join(pages, "\f") {
		t.Errorf("%d pages of text, %q, %v", 1+strings.Count(text.Body, "\f"), text.Reason, err)
	}
}
