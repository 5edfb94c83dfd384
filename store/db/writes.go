package db

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kartei/kit/clock"
)

const (
	// settle is how long after the last refused write a successful one is taken
	// for the end of the trouble. On a full disk a small change finds room again
	// and again where a larger one does not.
	settle = time.Second
	// sayAgain is how often the log is told that writes are still refused.
	sayAgain = time.Minute
)

// Writes knows whether a database takes writes. It learns that from the writes
// that are tried and from nothing else: who only reads notices nothing of a
// full disk. It is safe for use by several goroutines.
type Writes struct {
	clock clock.Clock
	log   *slog.Logger
	// reason puts into the operator's words why a write was refused.
	reason func(error) string
	// look finds what no failed write shows.
	look func() error

	total   atomic.Int64
	refused atomic.Bool // err is set

	mu    sync.Mutex
	err   error     // why the last one was refused, nil once they are taken again
	since time.Time // of the first that was refused
	last  time.Time // of the last that was refused
	told  time.Time // when the log was told last
	count int       // refused since the first
}

func newWrites(opts Options, reason func(error) string, look func() error) *Writes {
	return &Writes{clock: opts.Clock, log: opts.Logger, reason: reason, look: look}
}

// Refused returns why the database takes no writes at present, in words for
// its operator, and nil where the last one that was tried was stored. Reads may
// go on all the same.
func (w *Writes) Refused() error {
	if err := w.look(); err != nil {
		w.refuse(err, 0)
	}
	w.mu.Lock()
	err := w.err
	w.mu.Unlock()
	if err == nil {
		return nil
	}
	return errors.New(w.reason(err))
}

// inPlain leaves out what callers ask an error for.
func inPlain(err error) string {
	text := err.Error()
	for _, kind := range []error{ErrRefused, ErrUnavailable} {
		text = strings.TrimPrefix(text, kind.Error()+": ")
	}
	return text
}

// Total returns how many writes were refused since the start, each call counted once.
func (w *Writes) Total() int64 { return w.total.Load() }

// note learns from what a write ended with, and returns it.
func (w *Writes) note(err error) error {
	if errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrUnknownOutcome) {
		w.total.Add(1)
		w.refuse(err, 1)
	}
	return err
}

// refuse notes that n writes were refused, and tells the log at the beginning
// and then once a minute.
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
		w.log.Error("writes are still refused", "reason", w.reason(err), "writes", w.count, "since", now.Sub(w.since).Round(time.Second))
	}
}

// took notes that a transaction that changed something was committed.
func (w *Writes) took() {
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
	w.log.Info("writes are accepted again", "after", now.Sub(w.since).Round(time.Millisecond), "refused", w.count)
}
