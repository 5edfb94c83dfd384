package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

// Mover brings postings to where the rows of their records say, in pieces,
// after a change of more words than one transaction should move.
type Mover struct {
	db     db.DB
	clock  clock.Clock
	layout layout
}

const (
	// movesPoll is how long a Mover that hears of nothing waits before it looks
	// for what a replica left that died.
	movesPoll = 30 * time.Second
	// afterFailure is how long a family rests of which a piece failed, and a Mover
	// that cannot look.
	afterFailure = time.Second
	// breath is the time between two pieces, which leaves the writer to others.
	breath = 10 * time.Millisecond
)

// Moving counts the records of which words wait to be moved, in the whole data
// base.
func Moving(ctx context.Context, d db.DB) (n int64, err error) {
	err = d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from (select distinct organization, family, created from search_moves) as m`).Scan(&n)
	})
	return n, err
}

// NewMover returns a mover of all organizations.
func NewMover(d db.DB, c clock.Clock) *Mover { return &Mover{d, c, usualLayout} }

// Run moves whenever something is left to move, until ctx ends. What fails is
// logged and tried again.
func (m *Mover) Run(ctx context.Context) {
	wake := make(chan struct{}, 1)
	defer m.db.SubscribeLocal(movesTopic, func(string) {
		select {
		case wake <- struct{}{}:
		default: // it is going to look anyway
		}
	})()
	for {
		wait := movesPoll
		if m.Once(ctx) != nil {
			wait = afterFailure
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-m.clock.After(wait):
		}
	}
}

// family is one of an organization's.
type family struct {
	organization int64
	name         string
}

// Once moves what is left: of each family one piece of one record after the
// other. What is left is asked for in each round, so that nobody waits for a
// family or a record that never ends, and a family that failed rests a while. It
// returns once nothing is left but what rests, and why that failed.
func (m *Mover) Once(ctx context.Context) error {
	served, rests, failed := map[family]clock.Micros{}, map[family]clock.Micros{}, map[family]error{}
	for {
		left, err := m.left(ctx)
		if err != nil {
			return m.logged(ctx, err)
		}
		now := clock.Now(m.clock)
		left = slices.DeleteFunc(left, func(f family) bool { return rests[f] > now })
		if len(left) == 0 {
			return errors.Join(slices.Collect(maps.Values(failed))...)
		}
		for _, f := range left {
			delete(failed, f)
			if served[f], err = m.piece(ctx, f, served[f]); err != nil {
				failed[f] = m.logged(ctx, fmt.Errorf("search: %s: %w", f.name, err))
				rests[f] = clock.Now(m.clock).Add(afterFailure)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.clock.After(breath):
		}
	}
}

// told logs an error when it happens, as Once may not end for long, and returns
// it. Of a data base that is away db.Writes tells, and a full line is none.
func (m *Mover) logged(ctx context.Context, err error) error {
	if ctx.Err() == nil && !errors.Is(err, db.ErrUnavailable) && !errors.Is(err, db.ErrBusy) {
		slog.Error("search: moving failed", "error", err)
	}
	return err
}

// left returns the families in which something is to be moved.
func (m *Mover) left(ctx context.Context) (list []family, err error) {
	err = m.db.Read(ctx, func(tx db.Tx) error {
		list = nil
		rows, err := tx.Query(ctx, `select organization, family from search_moves group by organization, family`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var f family
			if err := rows.Scan(&f.organization, &f.name); err != nil {
				return err
			}
			list = append(list, f)
		}
		return rows.Err()
	})
	return list, err
}

// piece moves a piece of the first record of a family behind another, and returns
// which one that was.
func (m *Mover) piece(ctx context.Context, f family, after clock.Micros) (served clock.Micros, err error) {
	err = m.db.WriteIn(ctx, f.organization, func(tx db.Tx) (err error) {
		if _, err = db.Tick(ctx, tx, f.organization, clock.Now(m.clock)); err != nil {
			return err
		}
		served, err = segments{ctx, tx, f.organization, f.name, m.layout}.next(after)
		return err
	})
	return served, err
}
