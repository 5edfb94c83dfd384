package access

import (
	"context"
	"sync"

	"kartei/store/db"
)

// generations tells how many administrative acts there were, on any replica.
// Every call asks, because an act that was acknowledged must be in effect for
// each call that begins after it; but calls that ask at the same time share
// one look at the data base. A look that was under way when a call came may
// have missed what was acknowledged just before, so the call waits for the
// next one: at most two round trips, and one statement for all who wait.
type generations struct {
	read func(context.Context) (int64, error)

	mu   sync.Mutex
	busy bool
	next *look // of those who came while a look was under way
}

type look struct {
	done   chan struct{}
	number int64
	err    error
}

// now returns the number as it is or was after the call to now began.
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

// run looks until nobody waits.
func (g *generations) run() {
	for {
		g.mu.Lock()
		l := g.next
		g.next, g.busy = nil, l != nil
		g.mu.Unlock()
		if l == nil {
			return
		}
		l.number, l.err = g.read(context.Background()) // of no one caller; package db bounds it
		close(l.done)
	}
}

func (d *Directory) readGeneration(ctx context.Context) (number int64, err error) {
	err = d.db.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, selectGeneration).Scan(&number)
	})
	return number, err
}

// Topic is what administrative acts notify (see db.Tx.Notify), so that
// replicas need not find out for themselves.
const Topic = "kartei_access"

// Refresh forgets what is kept in memory where another replica has changed the
// tables since. No call relies on it: each looks for itself.
func (d *Directory) Refresh(ctx context.Context) error {
	_, err := d.current(ctx)
	return err
}
