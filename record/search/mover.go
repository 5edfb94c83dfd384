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

// Mover carries out moves in the background, piece by piece. A change leaves moves if it affects
// more words than one transaction should move.
type Mover struct {
	db     db.DB
	clock  clock.Clock
	layout layout
}

const (
	// movesPoll is the interval between two polls of a Mover without a message. A poll also finds
	// the moves of a replica that has died.
	movesPoll = 30 * time.Second
	// afterFailure is the time until a failed move or a failed poll is repeated.
	afterFailure = time.Second
	// breath is the time between two rounds of moves, in which other writers run.
	breath = 10 * time.Millisecond
)

// Moving returns the number of records with unfinished moves in the whole database.
func Moving(ctx context.Context, d db.DB) (n int64, err error) {
	err = d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from (select distinct organization, family, created from search_moves) as m`).Scan(&n)
	})
	return n, err
}

// NewMover returns a mover for all organizations.
func NewMover(d db.DB, c clock.Clock) *Mover { return &Mover{d, c, defaultLayout} }

// Run carries out moves until ctx ends. It logs errors and tries again.
func (m *Mover) Run(ctx context.Context) {
	wake := make(chan struct{}, 1)
	defer m.db.SubscribeLocal(movesTopic, func(string) {
		select {
		case wake <- struct{}{}:
		default: // a message is already waiting
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

// family identifies one family of an organization.
type family struct {
	organization int64
	name         string
}

// Once carries out all moves. In each round, it carries out one move of one record for each
// family. It reads the list of families again in each round. So no family waits for another
// family with many moves. It skips a family after a failure for some time. It returns the errors
// if only skipped families have moves left.
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

// logged logs an error and returns it. Once may run for a long time, so it logs errors
// immediately. db.Writes logs an unavailable database, and a full queue is not an error.
func (m *Mover) logged(ctx context.Context, err error) error {
	if ctx.Err() == nil && !errors.Is(err, db.ErrUnavailable) && !errors.Is(err, db.ErrBusy) {
		slog.Error("search: moving failed", "error", err)
	}
	return err
}

// left returns the families with unfinished moves.
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

// piece carries out one move of a family. It chooses the first record after a tick, and returns
// the tick of the record's creation.
func (m *Mover) piece(ctx context.Context, f family, after clock.Micros) (served clock.Micros, err error) {
	err = m.db.WriteIn(ctx, f.organization, func(tx db.Tx) (err error) {
		if _, err = tx.Tick(ctx, f.organization, clock.Now(m.clock)); err != nil {
			return err
		}
		served, err = segments{ctx, tx, f.organization, f.name, m.layout}.next(after)
		return err
	})
	return served, err
}
