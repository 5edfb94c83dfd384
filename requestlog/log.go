package requestlog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

const (
	// Waiting is the length of the queue, in entries. At 20,000 calls a second
	// it holds the entries of two seconds, in about 8 MB.
	Waiting = 40_000
	// batch is the maximum number of rows of one transaction. On SQLite it
	// holds the one writer for about 30 milliseconds. Smaller batches and a
	// shorter Delay would cost readers more, since SQLite maps the file anew
	// after each commit. A read takes 51 µs of processor time with 1,000 rows
	// and 200 ms, and 45 µs with 5,000 rows and a second.
	batch = 4000
	// Delay is the longest time that an entry waits for its batch to fill.
	Delay = 500 * time.Millisecond
	// attempts and pause bound the retries of a batch while the database is busy. Then
	// the batch is dropped and counted.
	attempts = 5
	pause    = 100 * time.Millisecond
)

// Log writes entries in the background. It is safe for use by several goroutines.
type Log struct {
	Reader
	clock   clock.Clock
	entries chan Entry
	dropped atomic.Uint64
	sampler *sampler
	thinned atomic.Uint64

	mu     sync.RWMutex // held for reading while Add sends to entries
	closed bool
	done   chan struct{}
	flush  chan chan struct{}
}

// New returns a log and starts its writer. Close ends it.
func New(d db.DB, c clock.Clock) *Log {
	l := &Log{
		Reader: Reader{d}, clock: c,
		entries: make(chan Entry, Waiting),
		sampler: newSampler(),
		done:    make(chan struct{}),
		flush:   make(chan chan struct{}),
	}
	go l.write()
	return l
}

// Add queues an entry and never blocks. If the queue is full or the log is closed,
// the entry is dropped and counted. Calls without an organization get half of the
// queue, so a flood of them hides no call of a key. Unpaid calls are sampled, and
// those left out are counted (see sampler).
func (l *Log) Add(e Entry) {
	if !l.sampler.allow(&e) {
		l.thinned.Add(1)
		return
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed || e.Organization == Nobody && len(l.entries) >= Waiting/2 {
		l.dropped.Add(1)
		return
	}
	select {
	case l.entries <- e:
	default:
		l.dropped.Add(1)
	}
}

// Dropped returns how many entries were not written since the start.
func (l *Log) Dropped() uint64 { return l.dropped.Load() }

// Thinned returns how many entries of unpaid calls the sampler left out since the
// start.
func (l *Log) Thinned() uint64 { return l.thinned.Load() }

// Waits returns the number of queued entries.
func (l *Log) Waits() int { return len(l.entries) }

// Flush waits until every entry added before is written or dropped.
func (l *Log) Flush(ctx context.Context) error {
	reply := make(chan struct{})
	select {
	case l.flush <- reply:
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-reply:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close writes the queued entries and ends the writer; later entries are dropped. It
// returns early, with the context's error, if ctx ends first. A second Close waits
// as well.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.entries)
	}
	l.mu.Unlock()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write is the writer: it waits for an entry, collects a batch for Delay or until it
// is full, and stores it.
func (l *Log) write() {
	defer close(l.done)
	rows := make([]Entry, 0, batch)
	var args []any
	for {
		var flushed chan struct{}
		select {
		case e, ok := <-l.entries:
			if !ok {
				return
			}
			rows, flushed = l.gather(append(rows[:0], e))
			args = l.store(rows, args)
		case flushed = <-l.flush:
		}
		if flushed != nil {
			for left := len(l.entries); left > 0; left -= len(rows) {
				rows = l.take(rows[:0], min(left, batch))
				args = l.store(rows, args)
			}
			close(flushed)
		}
	}
}

// take receives n entries that are known to be queued.
func (l *Log) take(rows []Entry, n int) []Entry {
	for range n {
		rows = append(rows, <-l.entries)
	}
	return rows
}

// gather fills a batch that has its first entry. The end of the log and a flush,
// which it returns, end the wait early.
func (l *Log) gather(rows []Entry) ([]Entry, chan struct{}) {
	rows = l.take(rows, min(len(l.entries), batch-len(rows)))
	if len(rows) == batch {
		return rows, nil
	}
	timeout := l.clock.After(Delay)
	for len(rows) < batch {
		select {
		case e, ok := <-l.entries:
			if !ok {
				return rows, nil
			}
			rows = append(rows, e)
		case flushed := <-l.flush:
			return rows, flushed
		case <-timeout:
			return rows, nil
		}
	}
	return rows, nil
}

// store writes one batch. Inserts are idempotent, so a batch whose commit is in doubt
// is tried again.
func (l *Log) store(rows []Entry, args []any) []any {
	if len(rows) == 0 {
		return args
	}
	ctx := context.Background()
	var err error
	for i := range attempts {
		if i > 0 {
			<-l.clock.After(pause)
		}
		args, err = l.insert(ctx, rows, args)
		if !errors.Is(err, db.ErrBusy) && !errors.Is(err, db.ErrUnavailable) {
			break
		}
	}
	if err != nil {
		l.dropped.Add(uint64(len(rows)))
		if errors.Is(err, db.ErrUnavailable) { // db.Writes logs the error
			return args
		}
		slog.Error("request log: entries were dropped, because the database did not store them", "count", len(rows), "error", err)
	}
	return args
}
