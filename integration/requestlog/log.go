package requestlog

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kartei/integration/usage"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

const (
	// Waiting is the maximum number of entries in the queue. At 20,000 calls a second, it is full
	// after two seconds. The full queue takes about 8 MB.
	Waiting = 40_000
	// batch is the maximum number of rows that one transaction writes. On SQLite, the transaction
	// holds the one writer for about 30 milliseconds.
	//
	// Smaller batches and a shorter Delay would slow down readers, because SQLite maps the file
	// again after each commit. A read takes 51 µs of processor time with 1,000 rows and 200 ms, and
	// 45 µs with 5,000 rows and a second.
	batch = 4000
	// Delay is the maximum time for which an entry waits until its batch is full.
	Delay = 500 * time.Millisecond
	// attempts is the number of attempts to write a batch while the database is busy. pause is the
	// time between two attempts. If all fail, the batch is dropped and counted.
	attempts = 5
	pause    = 100 * time.Millisecond
	// usageEvery is the time between two writes of the counts by hour. So their rows are written a
	// few times a minute, regardless of the number of calls. A killed process loses the counts
	// since the last write.
	usageEvery = 10 * time.Second
)

// Log writes entries in the background. It is safe for concurrent use.
type Log struct {
	Reader
	clock   clock.Clock
	entries chan Entry
	dropped atomic.Uint64
	sampler *sampler
	usage   *usage.Counter
	thinned atomic.Uint64

	mu     sync.RWMutex // Add holds it for reading while it sends to entries
	closed bool
	done   chan struct{}
	flush  chan chan struct{}
}

// New returns a log and starts its writer goroutine. Close ends the goroutine.
func New(d db.DB, c clock.Clock) *Log {
	l := &Log{
		Reader: Reader{d}, clock: c,
		entries: make(chan Entry, Waiting),
		sampler: newSampler(),
		usage:   usage.NewCounter(),
		done:    make(chan struct{}),
		flush:   make(chan chan struct{}),
	}
	go l.write()
	return l
}

// Add queues an entry and never blocks. If the queue is full or the log is closed, Add drops the
// entry and counts it. Calls without an organization may fill only half of the queue, so a flood of
// them does not push out entries of keys.
//
// Add keeps only a sample of unpaid calls, and counts the others (see sampler). The counts by hour
// include each call of a key, even if the log drops its entry.
func (l *Log) Add(e Entry) {
	l.count(&e)
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

// count adds a call of a key to the counts of its hour. Calls of sessions are not counted. Calls
// with an unknown key belong to no organization, so they are not counted either.
func (l *Log) count(e *Entry) {
	if e.KeyID == "" || e.Organization == Nobody || strings.HasPrefix(e.KeyID, id.Session) {
		return
	}
	l.usage.Count(&usage.Call{Organization: e.Organization, Kind: usage.Calls, Subject: e.KeyID, At: e.At,
		Status: e.Status, Took: e.Duration, Points: e.Points, Records: e.Records})
}

// Usage returns the counts by hour. The log writes them with its batches.
func (l *Log) Usage() *usage.Counter { return l.usage }

// Dropped returns the number of entries that were dropped since the start.
func (l *Log) Dropped() uint64 { return l.dropped.Load() }

// Thinned returns the number of unpaid calls that the sampler has left out since the start.
func (l *Log) Thinned() uint64 { return l.thinned.Load() }

// Waits returns the number of entries in the queue.
func (l *Log) Waits() int { return len(l.entries) }

// Flush waits until all earlier entries are written or dropped, and the counts are written. It
// fails if ctx ends first.
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

// Close writes the queued entries and the counts, and ends the writer. The log drops later entries.
// If ctx ends first, Close returns early with its error. A second call of Close waits too.
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

// write is the writer goroutine. It waits for an entry, collects a batch until it is full or Delay
// has passed, and stores the batch. At intervals it stores the counts with a batch.
func (l *Log) write() {
	defer close(l.done)
	rows := make([]Entry, 0, batch)
	var args []any
	var due <-chan time.Time // receives when the counts must be written
	for {
		var flushed chan struct{}
		select {
		case e, ok := <-l.entries:
			if !ok {
				l.store(nil, args, l.pending())
				return
			}
			rows, flushed = l.gather(append(rows[:0], e))
			args = l.store(rows, args, nil)
		case flushed = <-l.flush:
		case <-l.usage.Changed():
			due = l.clock.After(usageEvery)
		case <-due:
			rows = l.take(rows[:0], min(len(l.entries), batch))
			args = l.store(rows, args, l.pending())
		}
		if flushed != nil {
			for left := len(l.entries); left > 0; left -= len(rows) {
				rows = l.take(rows[:0], min(left, batch))
				args = l.store(rows, args, nil)
			}
			args = l.store(nil, args, l.pending())
			close(flushed)
		}
	}
}

func (l *Log) pending() *usage.Sums { return l.usage.Pending(clock.Now(l.clock)) }

// take receives n entries, which must be in the queue.
func (l *Log) take(rows []Entry, n int) []Entry {
	for range n {
		rows = append(rows, <-l.entries)
	}
	return rows
}

// gather fills a batch that has its first entry. It returns early if the log is closed, or if Flush
// is called. In the second case it also returns the channel of Flush.
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

// store writes a batch and, if counts is not empty, the counts. An insert is idempotent, so store
// repeats a batch whose commit is in doubt. Counts that are not stored are written with a later
// batch.
func (l *Log) store(rows []Entry, args []any, counts *usage.Sums) []any {
	if len(rows) == 0 && counts.Len() == 0 {
		return args
	}
	ctx := context.Background()
	var err error
	for i := range attempts {
		if i > 0 {
			<-l.clock.After(pause)
		}
		args, err = l.insert(ctx, rows, args, counts)
		if !errors.Is(err, db.ErrBusy) && !errors.Is(err, db.ErrUnavailable) {
			break
		}
	}
	if l.usage.Written(counts, clock.Now(l.clock), err == nil); err != nil {
		l.dropped.Add(uint64(len(rows)))
		if errors.Is(err, db.ErrUnavailable) { // db.Writes logs the error
			return args
		}
		slog.Error("request log: entries were dropped, because the database did not store them", "count", len(rows),
			"error", err)
	}
	return args
}
