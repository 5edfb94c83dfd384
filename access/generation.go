package access

import (
	"context"
	"sync"
)

// generations returns the number of administrative acts on all replicas. Every call asks for this
// number, because an acknowledged act must apply to each later call. Calls that ask at the same
// time share one query. A call cannot use a running query, which may have missed an act that was
// acknowledged before the call began. So it waits for the next query. A call therefore takes at
// most two round trips, and all waiting calls share one statement.
type generations struct {
	read func(context.Context) (int64, error)

	mu   sync.Mutex
	busy bool
	next *look // the query for calls that arrive during a query
}

type look struct {
	done   chan struct{}
	number int64
	err    error
}

// now returns the number of acts at some time after the start of the call to now.
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

// run queries until no call is waiting.
func (g *generations) run() {
	for {
		g.mu.Lock()
		l := g.next
		g.next, g.busy = nil, l != nil
		g.mu.Unlock()
		if l == nil {
			return
		}
		l.number, l.err = g.read(context.Background()) // package db limits its time
		close(l.done)
	}
}

// Topic is the topic of notifications about administrative acts (see db.Tx.Notify). Replicas that
// get a notification empty their caches.
const Topic = "kartei_access"

// Refresh empties the cache of keys and tokens if another replica has changed the tables. Calls
// do not depend on it, because each of them checks the number of acts.
func (d *Directory) Refresh(ctx context.Context) error {
	_, err := d.bearers.current(ctx)
	return err
}
