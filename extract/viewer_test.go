package extract

import (
	"bytes"
	"context"
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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/image/bmp"

	"kartei/extract/drawing"
	"kartei/extract/filetype"
	"kartei/test/filetest"
)

func viewer(t testing.TB) *Viewer {
	t.Helper()
	v := extractor(t, Limits{}).NewViewer()
	t.Cleanup(v.Close)
	return v
}

// fileOf returns a File of organization 1.
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

// drawn returns a page. It calls Page again while Page returns ErrBusy, as real callers do. On a
// busy machine, drawing a page takes longer than patience.
func drawn(t testing.TB, v *Viewer, f File, s drawing.Sheet) (*Page, error) {
	for {
		if p, err := v.Page(t.Context(), f, s); !errors.Is(err, ErrBusy) {
			return p, err
		}
	}
}

// said describes a page for the message of a failed test.
func said(p *Page) string {
	if p == nil {
		return "no page"
	}
	return fmt.Sprintf("page %d of %d, %d x %d, %d bytes of %q, %q; it says %.100q", p.Number, p.Pages, p.Width,
		p.Height, len(p.Image), p.ContentType, p.Reason, p.Text)
}

// TestShelf checks that values expire after shelfTime, and that the size of the shelf stays below
// shelfSize.
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

// TestPatience checks that a caller waits at most for patience, and that a later call gets the
// page. Too many drawings of one organization are refused, and drawings of other organizations are
// not.
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

// TestFiftyReaders checks that a page is drawn once for fifty concurrent callers, and that Forget
// removes only pages of the given file.
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

// TestDrawingWaitsForTheCache checks that a drawing waits while another call fills the cache.
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

// TestDrawingFails checks that a file whose drawing fails gets a Reason and no picture. After some
// failures its pages are no longer drawn for a while.
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

// redWebP is a red picture of 30 x 20 pixels in WebP. There is no encoder for WebP in Go.
const redWebP = "RIFF\x18\x00\x00\x00WEBPVP8L\x0c\x00\x00\x00/\x1d\xc0\x04\x00(@\xff\x0b\xd0\xff\x00"

// TestPicturesAreDrawnInAChild checks that a child draws pictures of each type, and both pages of a
// TIFF file. Each drawing has the size and the colour of its picture.
func TestPicturesAreDrawnInAChild(t *testing.T) {
	red := image.NewRGBA(image.Rect(0, 0, 30, 20))
	draw.Draw(red, red.Rect, image.NewUniform(color.RGBA{R: 255, A: 255}), image.Point{}, draw.Src)
	black, grey := image.NewGray(image.Rect(0, 0, 30, 20)), image.NewGray(image.Rect(0, 0, 25, 35))
	draw.Draw(grey, grey.Rect, image.NewUniform(color.Gray{Y: 128}), image.Point{}, draw.Src)
	coded := func(encode func(io.Writer) error) string {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	scan := string(filetest.TIFF(0, black, grey))
	v, seen := viewer(t), map[string]bool{}
	for _, c := range []struct {
		contentType, content string
		page, pages          int
		want                 image.Image
	}{
		{"image/png", coded(func(w io.Writer) error { return png.Encode(w, red) }), 1, 1, red},
		{"image/jpeg", coded(func(w io.Writer) error { return jpeg.Encode(w, red, nil) }), 1, 1, red},
		{"image/gif", coded(func(w io.Writer) error { return gif.Encode(w, red, nil) }), 1, 1, red},
		{"image/bmp", coded(func(w io.Writer) error { return bmp.Encode(w, red) }), 1, 1, red},
		{"image/webp", redWebP, 1, 1, red},
		{"image/tiff", scan, 1, 2, black},
		{"image/tiff", scan, 2, 2, grey},
	} {
		seen[c.contentType] = true
		p, picture := pictureOf(t, v, fileOf(c.contentType, c.contentType, []byte(c.content)),
			drawing.Sheet{Number: c.page, DPI: 96})
		size := c.want.Bounds().Size()
		if picture.Bounds().Size() != size || p.Width != size.X || p.Height != size.Y || p.Number != c.page ||
			p.Pages != c.pages {
			t.Errorf("page %d of %s: %s; want %v", c.page, c.contentType, said(p), size)
		}
		if got, want := picture.At(size.X/2, size.Y/2), c.want.At(size.X/2, size.Y/2); !alike(got, want) {
			t.Errorf("page %d of %s is %v, want %v", c.page, c.contentType, got, want)
		}
	}
	for _, name := range filetype.Known() {
		if strings.HasPrefix(name, "image/") && Draws(name) != seen[name] {
			t.Errorf("%s is drawn: %t, and is in the table: %t", name, Draws(name), seen[name])
		}
	}
}

// alike reports whether two colours differ by less than the loss of a JPEG.
func alike(a, b color.Color) bool {
	r, g, b1, _ := a.RGBA()
	r2, g2, b2, _ := b.RGBA()
	const loss = 0x0800
	return abs(int(r)-int(r2)) < loss && abs(int(g)-int(g2)) < loss && abs(int(b1)-int(b2)) < loss
}

// TestThousandPages checks that the last of a thousand pages can be drawn like the first.
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
