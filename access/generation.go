package access

import (
	"context"
	"sync"
)

// generations counts the administrative acts of all replicas. Every call asks
// for the count, because an acknowledged act must hold for each call that
// begins after it. Calls that ask at the same time share one query. A query in
// progress may have missed an act that was acknowledged just before the call
// began, so the call waits for the next one. That is at most two round trips
// for a call, and one statement for all that wait.
type generations struct {
	read func(context.Context) (int64, error)

	mu   sync.Mutex
	busy bool
	next *look // for calls that arrive during a query
}

type look struct {
	done   chan struct{}
	number int64
	err    error
}

// now returns the count at some time after the call to now began.
func (g *generations) now(ctx context.Context) (int64, error) {
	g.mu.Lock()
	if g.next == nil {
		g.next = &look{done: make(chan struct{})}
	}
	mine := g.next
	if !g.busy {
		g.busy = true
		go g.run()
	}
	g.mu.Unlock()
	select {
	case <-mine.done:
		return mine.number, mine.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// run queries until no call waits.
func (g *generations) run() {
	for {
		g.mu.Lock()
		l := g.next
		g.next, g.busy = nil, l != nil
		g.mu.Unlock()
		if l == nil {
			return
		}
		l.number, l.err = g.read(context.Background()) // no single caller owns the query; package db bounds it
		close(l.done)
	}
}

// Topic is the notification of administrative acts (see db.Tx.Notify). It
// spares other replicas a query.
const Topic = "kartei_access"

// Refresh empties the cache of keys and tokens if another replica has changed the tables. No
// call relies on it, since each one asks for itself.
func (d *Directory) Refresh(ctx context.Context) error {
	_, err := d.bearers.current(ctx)
	return err
}
