package access

import (
	"context"
	"sync"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

const (
	// useResolution is how exact a key's time of last use is.
	useResolution = clock.Minute
	// usesInterval is how often the marks are written.
	usesInterval = 10 * time.Second
	// usesMax bounds the marks that wait; more are dropped and counted.
	usesMax = 10_000
)

// uses holds the marks of last use that are still to be written.
type uses struct {
	mu      sync.Mutex
	pending map[string]clock.Micros
	dropped int64
}

func (u *uses) mark(kid string, now clock.Micros) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, known := u.pending[kid]; !known && len(u.pending) >= usesMax {
		u.dropped++
		return
	}
	u.pending[kid] = now
}

func (u *uses) take() map[string]clock.Micros {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.pending
	u.pending = make(map[string]clock.Micros)
	return taken
}

// Flush writes the marks of last use that have come together. What cannot be
// written is lost: the next use marks again.
func (d *Directory) Flush(ctx context.Context) error {
	marks := d.uses.take()
	if len(marks) == 0 {
		return nil
	}
	return d.db.Write(ctx, func(tx db.Tx) error {
		for kid, at := range marks {
			tx.Queue(updateLastUse, kid, int64(at))
		}
		return nil
	})
}

// Run writes the marks of last use every ten seconds until ctx ends, and then
// once more. report is told of errors; it may be nil.
func (d *Directory) Run(ctx context.Context, report func(error)) {
	for {
		select {
		case <-ctx.Done():
		case <-d.clock.After(usesInterval):
		}
		// The last marks are written although ctx is over, but not for ever.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), usesInterval)
		err := d.Flush(bounded)
		cancel()
		if err != nil && report != nil {
			report(err)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// UsesDropped returns how many marks of last use were dropped since the start.
func (d *Directory) UsesDropped() int64 {
	d.uses.mu.Lock()
	defer d.uses.mu.Unlock()
	return d.uses.dropped
}
