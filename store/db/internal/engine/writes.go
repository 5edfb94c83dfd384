package engine

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

const (
	// settle is the time after a refused write before a successful one counts
	// as the end of the problem. On a full disk small changes still succeed
	// while larger ones fail.
	settle = time.Second
	// sayAgain is the interval of log messages while writes are refused.
	sayAgain = time.Minute
)

// Writes implements db.Writes. It is safe for concurrent use.
type Writes struct {
	clock clock.Clock
	log   *slog.Logger
	// reason describes to the operator why a write was refused.
	reason func(error) string
	// look finds problems that no failed write reveals.
	look func() error

	total   atomic.Int64
	refused atomic.Bool // whether err is set

	mu    sync.Mutex
	err   error     // why the last one was refused, nil once writes are accepted again
	since time.Time // time of the first refused write
	last  time.Time // time of the last refused write
	told  time.Time // time of the last log message
	count int       // refused since then
}

// NewWrites returns the state of a database whose writes were accepted so far. reason
// describes a refusal to the operator. look returns a problem that no failed write
// reveals, or nil.
func NewWrites(opts db.Options, reason func(error) string, look func() error) *Writes {
	return &Writes{clock: opts.Clock, log: opts.Logger, reason: reason, look: look}
}

// Refused looks for problems first: see db.Writes.
func (w *Writes) Refused() error {
	if err := w.look(); err != nil {
		w.refuse(err, 0)
	}
	w.mu.Lock()
	err := w.err
	w.mu.Unlock()
	if err != nil {
		return errors.New(w.reason(err))
	}
	return nil
}

// Total returns the number of refused writes since the start. It counts each
// call once.
func (w *Writes) Total() int64 { return w.total.Load() }

// Note records the result of a write, and returns it.
func (w *Writes) Note(err error) error {
	if errors.Is(err, db.ErrUnavailable) && !errors.Is(err, db.ErrUnknownOutcome) {
		w.total.Add(1)
		w.refuse(err, 1)
	}
	return err
}

// refuse records n refused writes. It logs the first refusal, and then one
// message a minute.
func (w *Writes) refuse(err error, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	begins := w.err == nil
	if begins {
		w.since, w.told, w.count = now, now, 0
		w.refused.Store(true)
	}
	w.err, w.last = err, now
	w.count += n
	switch {
	case begins:
		w.log.Error("writes are refused", "reason", w.reason(err))
	case now.Sub(w.told) >= sayAgain:
		w.told = now
		w.log.Error("writes are still refused", "reason", w.reason(err), "writes", w.count, "since",
			now.Sub(w.since).Round(time.Second))
	}
}

// Took records the commit of a transaction that changed something.
func (w *Writes) Took() {
	if !w.refused.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	if rest := now.Sub(w.last); w.err == nil || rest >= 0 && rest < settle {
		return
	}
	w.err = nil
	w.refused.Store(false)
	w.log.Warn("writes are accepted again", "after", now.Sub(w.since).Round(time.Millisecond), "refused", w.count)
}
