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
	// settle is the minimum time between a refused write and a successful write that ends the
	// problem. On a full disk small changes still succeed while larger ones fail.
	settle = time.Second
	// sayAgain is the interval of log messages while writes are refused.
	sayAgain = time.Minute
)

// Writes implements db.Writes. It is safe for concurrent use.
type Writes struct {
	clock clock.Clock
	log   *slog.Logger
	// reason returns a description of a refusal for the operator.
	reason func(error) string
	// look returns a problem that failed writes do not reveal, or nil.
	look func() error

	total   atomic.Int64
	refused atomic.Bool // whether err is set

	mu    sync.Mutex
	err   error     // reason of the last refusal, nil if writes are accepted
	since time.Time // time of the first refused write
	last  time.Time // time of the last refused write
	told  time.Time // time of the last log message
	count int       // number of refused writes since then
}

// NewWrites returns the state of a database that accepts writes. reason returns the description of
// a refusal for the operator. look returns a problem that failed writes do not reveal, or nil.
func NewWrites(opts db.Options, reason func(error) string, look func() error) *Writes {
	return &Writes{clock: opts.Clock, log: opts.Logger, reason: reason, look: look}
}

// Refused implements db.Writes. It first calls look.
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

// Total implements db.Writes.
func (w *Writes) Total() int64 { return w.total.Load() }

// Note records the result of a write, and returns the same error.
func (w *Writes) Note(err error) error {
	if errors.Is(err, db.ErrUnavailable) && !errors.Is(err, db.ErrUnknownOutcome) {
		w.total.Add(1)
		w.refuse(err, 1)
	}
	return err
}

// refuse records n refused writes with the same error. It logs the first refusal, and then one
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

// Took records the commit of a transaction with changes. It ends a problem if the last refusal is
// at least settle ago.
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
