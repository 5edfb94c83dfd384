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

// Viewer draws pages of files and reads their texts, for people who look at
// them. It keeps the last ones in memory for a while. If several people look at
// the same page at the same time, it is drawn once. It is safe for use by several
// goroutines.
//
// A viewer knows no rights: its caller asks for each call whether the person
// sees the file.
type Viewer struct {
	reader *Extractor
	limit  time.Duration // processor time for one page
	slots  *sandbox.Slots
	kept   *shelf
	ctx    context.Context
	stop   context.CancelFunc

	mu      sync.Mutex
	flights map[string]*flight
	waiting map[int64]int // flights by organization
	running sync.WaitGroup
}

// File is a file to look at.
type File struct {
	Organization int64
	// Name is unique among all files, and stands for the same bytes forever.
	Name        string
	ContentType string
	Size        int64
	// Open opens the file. It is called outside of the caller's context.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// ErrBusy is returned if too many pages of an organization wait to be drawn, or
// if one takes long. Callers should come again after some seconds.
var ErrBusy = errors.New("extract: too many pages wait to be drawn")

const (
	// drawTime is the processor time that one page may take.
	drawTime = 20 * time.Second
	// drawWall is the real time.
	drawWall = 3 * drawTime
	// patience is how long a caller waits. The drawing goes on without it, and
	// a later call finds the page.
	patience = 15 * time.Second
	// maxWaiting is how many drawings of one organization run or wait.
	maxWaiting = 64
	// strikes is how often a file may exceed its limits before no more of its
	// pages are drawn for a while. Otherwise a hostile file of a thousand pages
	// would keep the processors busy.
	strikes = 3
)

// NewViewer returns a viewer that draws with the children of an extractor, in
// slots of its own. Close ends it.
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

// Close ends all drawings and waits for their end. Later calls return an error.
func (v *Viewer) Close() {
	v.stop()
	v.running.Wait()
	v.kept.empty()
}

// Page is a page of a file as it is drawn.
type Page struct {
	drawing.Page
	// Reason is the reason why there is no picture.
	Reason Reason
}

// Draws reports whether files of a type are drawn.
func Draws(contentType string) bool { return drawings[contentType] != nil }

// Page returns a page of a file. If the file makes its drawing fail in any way,
// Page.Reason says so. An error comes from ctx, from opening or reading the file,
// or is ErrBusy, and means nothing about the file.
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

// Text returns the text of a file, with a form feed between pages.
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

// Size returns the bytes that a text takes in memory.
func (t *Text) Size() int { return len(t.Body) + 100 }

// with opens a file and waits for a slot.
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

// fillPause is how long a drawing waits before it looks for the cache again.
const fillPause = 100 * time.Millisecond

// warmed is withCache, and waits while another call fills the cache.
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

// draw draws a page in a child.
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

// withoutPicture returns a page that is not drawn, for a reason.
func withoutPicture(number int, reason Reason) *Page {
	return &Page{Page: drawing.Page{Number: number}, Reason: reason}
}

// pageOf returns the page that a child drew, or the reason why there is none.
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

// flight is a drawing that runs, or waits for its slot.
type flight struct {
	done  chan struct{}
	value sizer
	err   error
}

// sizer is a value that a viewer keeps. Size is in bytes.
type sizer interface{ Size() int }

// look returns what is kept under a key, or else what do returns. Concurrent
// calls with the same key share one call of do.
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

// join returns the flight of a key, which it starts if there is none.
func (v *Viewer) join(f File, key string, do func(context.Context) (sizer, error)) (*flight, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if l := v.flights[key]; l != nil {
		return l, nil
	}
	if kept := v.kept.get(key); kept != nil { // it ended in this moment
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

// land keeps the result of a flight and ends it.
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

// Forget drops what is kept of a file.
func (v *Viewer) Forget(name string) {
	v.kept.drop(func(key string) bool { return key == name || strings.HasPrefix(key, name+" ") })
}
