package extract

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"kartei/extract/drawing"
	"kartei/extract/sandbox"
)

// Viewer draws pages of files and reads texts for people who view files. It caches the most
// recently used pages and texts in memory for some minutes. If several people view the same page at
// the same time, the page is drawn once. A Viewer is safe for use by several goroutines.
//
// A Viewer does not check permissions. Before each call, its caller must check that the person may
// see the file.
type Viewer struct {
	reader *Extractor
	limit  time.Duration // processor time for one page
	slots  *sandbox.Slots
	kept   *shelf
	ctx    context.Context
	stop   context.CancelFunc

	mu      sync.Mutex
	flights map[string]*flight
	waiting map[int64]int // number of flights of each organization
	running sync.WaitGroup
}

// File is a file that a Viewer can draw or read.
type File struct {
	Organization int64
	// Name identifies the content. It is unique among all files, and the content of a name never
	// changes.
	Name string
	// ContentType is the Type of a filetype.Verdict. It alone selects the functions that draw and
	// read the file. If there is no such function, the result has the Reason Unsupported.
	ContentType string
	Size        int64
	// Open opens the file. Its context is not the context of the caller of Page or Text, since
	// several callers may share a drawing.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// ErrBusy is returned if too many drawings of an organization run or wait, or if a drawing takes
// longer than patience. Callers should call again after some seconds.
var ErrBusy = errors.New("extract: too many pages wait to be drawn")

const (
	// drawTime is the maximum processor time for drawing a page.
	drawTime = 20 * time.Second
	// drawWall is the maximum real time for drawing a page.
	drawWall = 3 * drawTime
	// patience is the maximum time for which a caller waits. The drawing continues afterwards, and
	// a later call gets the page from the cache.
	patience = 15 * time.Second
	// maxWaiting is the maximum number of drawings of one organization that run or wait.
	maxWaiting = 64
	// strikes is the number of failed drawings of a file after which none of its pages are drawn
	// for a while. Otherwise a hostile file with a thousand pages would keep the processors busy.
	strikes = 3
)

// NewViewer returns a Viewer that draws in child processes of x. The Viewer has its own slots. Its
// user must call Close.
func (x *Extractor) NewViewer() *Viewer {
	v := &Viewer{
		reader:  x,
		limit:   drawTime,
		slots:   sandbox.NewSlots(x.options.Parallel),
		kept:    newShelf(),
		flights: map[string]*flight{},
		waiting: map[int64]int{},
	}
	v.ctx, v.stop = context.WithCancel(context.Background())
	return v
}

// Close stops all drawings and waits until they have ended. Later calls of Page and Text return an
// error.
func (v *Viewer) Close() {
	v.stop()
	v.running.Wait()
	v.kept.empty()
}

// Page is the result of drawing a page of a file.
type Page struct {
	drawing.Page
	// Reason says why the page has no picture.
	Reason Reason
}

// Draws reports whether Page can draw files of a type: PDFs, and pictures of all types that filetype
// knows, except HEIC. contentType is the Type of a filetype.Verdict.
func Draws(contentType string) bool { return drawings[contentType] != nil }

// Page returns the page s of a file. If the content of the file makes the drawing fail, the result
// has a Reason. An error comes from ctx or from opening or reading the file, or is ErrBusy.
func (v *Viewer) Page(ctx context.Context, f File, s drawing.Sheet) (*Page, error) {
	if !Draws(f.ContentType) {
		return withoutPicture(s.Number, Unsupported), nil
	}
	if v.kept.strikes(f.Name) >= strikes {
		return withoutPicture(s.Number, OutOfTime), nil
	}
	return look(v, ctx, f, f.Name+" "+s.String(),
		func(ctx context.Context) (*Page, error) {
			page, err := v.draw(ctx, f, s)
			if err != nil {
				return page, err
			}
			if page.Reason == OutOfTime || page.Reason == OutOfMemory || page.Reason == Crashed {
				v.kept.strike(f.Name)
			}
			return page, nil
		})
}

// Text returns the text of a file, with form feeds between pages. Its errors are the errors of
// Page.
func (v *Viewer) Text(ctx context.Context, f File) (*Text, error) {
	return look(v, ctx, f, f.Name, func(ctx context.Context) (*Text, error) {
		if !Reads(f.ContentType) {
			return &Text{Reason: Unsupported}, nil
		}
		t := v.reader.reading(f.ContentType, "", v.reader.Allowance(f.ContentType, f.Size))
		var text Text
		err := v.with(ctx, f, t, func(t task, file io.Reader) (err error) {
			text, _, err = v.reader.read(ctx, t, file)
			return err
		})
		return &text, err
	})
}

// Size returns the approximate size of a text in memory in bytes.
func (t *Text) Size() int { return len(t.Body) + 100 }

// with calls do with the task t and the opened file f. Before that it waits for the cache and for a
// slot.
func (v *Viewer) with(ctx context.Context, f File, t task, do func(task, io.Reader) error) error {
	t, err := v.warmed(ctx, t)
	if err != nil {
		return err
	}
	if err := v.slots.Enter(ctx, f.Organization); err != nil {
		return err
	}
	defer v.slots.Leave(f.Organization)
	file, err := f.Open(ctx)
	if err != nil {
		return err
	}
	defer file.Close()
	return do(t, file)
}

// fillPause is the time between two checks whether the cache has been filled.
const fillPause = 100 * time.Millisecond

// warmed returns the result of withCache. While another call fills the cache, warmed waits.
func (v *Viewer) warmed(ctx context.Context, t task) (task, error) {
	for {
		ready, err := v.reader.withCache(ctx, t)
		if !errors.Is(err, ErrFilling) {
			return ready, err
		}
		select {
		case <-time.After(fillPause):
		case <-ctx.Done():
			return t, ctx.Err()
		}
	}
}

// draw draws a page of a file in a child.
func (v *Viewer) draw(ctx context.Context, f File, s drawing.Sheet) (page *Page, err error) {
	t := task{
		name: f.ContentType, sheet: s.String(), limit: v.limit,
		wall: drawWall, output: drawing.MaxEncoded,
	}
	err = v.with(ctx, f, t, func(t task, file io.Reader) error {
		e, err := v.reader.run(ctx, file, t)
		if err != nil {
			return err
		}
		page = pageOf(e, s.Number)
		return nil
	})
	return page, err
}

// withoutPicture returns a Page with a Reason and without a picture.
func withoutPicture(number int, reason Reason) *Page {
	return &Page{Page: drawing.Page{Number: number}, Reason: reason}
}

// pageOf returns the page in the output of a child. If the output has no valid page, the result has
// a Reason.
func pageOf(e sandbox.End, number int) *Page {
	if e.Code != exitDone {
		return withoutPicture(number, reasonOf(e))
	}
	page, err := drawing.Parse(e.Wrote, number)
	if err != nil {
		return withoutPicture(number, Crashed)
	}
	return &Page{Page: *page}
}

// flight is a drawing, or the reading of a text, that runs or waits for its slot.
type flight struct {
	done  chan struct{}
	value sizer
	err   error
}

// sizer is a value of the cache. Size returns its size in memory in bytes.
type sizer interface{ Size() int }

// look returns the cached value of a key, or else the result of do. Concurrent calls with the same
// key share one call of do. After patience, look returns ErrBusy.
func look[T sizer](v *Viewer, ctx context.Context, f File, key string, do func(context.Context) (T, error)) (T, error) {
	var none T
	if kept, is := v.kept.get(key).(T); is {
		return kept, nil
	}
	l, err := v.join(f, key, func(ctx context.Context) (sizer, error) { return do(ctx) })
	if err != nil {
		return none, err
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-l.done:
	case <-ctx.Done():
		return none, ctx.Err()
	case <-late.C:
		return none, ErrBusy
	}
	if l.err != nil {
		return none, l.err
	}
	return l.value.(T), nil
}

// join returns the flight of a key. If the key has no flight, join starts one. It returns ErrBusy
// if too many flights of the organization run or wait, or if the Viewer is closed.
func (v *Viewer) join(f File, key string, do func(context.Context) (sizer, error)) (*flight, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if l := v.flights[key]; l != nil {
		return l, nil
	}
	if kept := v.kept.get(key); kept != nil { // the flight ended after look had read the cache
		l := &flight{done: make(chan struct{}), value: kept}
		close(l.done)
		return l, nil
	}
	if v.ctx.Err() != nil || v.waiting[f.Organization] >= maxWaiting {
		return nil, ErrBusy
	}
	l := &flight{done: make(chan struct{})}
	v.flights[key] = l
	v.waiting[f.Organization]++
	v.running.Go(func() {
		l.err = errors.New("extract: the drawing panicked")
		defer v.land(f, key, l)
		l.value, l.err = do(v.ctx)
	})
	return l, nil
}

// land stores the result of a flight in the cache and removes the flight.
func (v *Viewer) land(f File, key string, l *flight) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if l.err == nil {
		v.kept.put(key, l.value)
	}
	delete(v.flights, key)
	if v.waiting[f.Organization]--; v.waiting[f.Organization] == 0 {
		delete(v.waiting, f.Organization)
	}
	close(l.done)
}

// Forget removes all pages and the text of a file from the cache.
func (v *Viewer) Forget(name string) {
	v.kept.drop(func(key string) bool { return key == name || strings.HasPrefix(key, name+" ") })
}
