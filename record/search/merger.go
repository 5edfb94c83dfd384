package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
)

// Merger packs and merges segments after a Put has reported that work is due. Its transactions
// wait in the same queue as other writers, so it never falls behind them.
//
// After some time without a Put, it also finishes all merges. So after a large import, a search
// reads as few segments as possible.
type Merger struct {
	db     db.DB
	clock  clock.Clock
	layout layout
}

// due is a message of a Put to the Merger. It asks to pack unpacked records and to merge segments
// for a number of written postings.
type due struct {
	organization int64
	family       string
	merges       int
}

// dueTopic is the topic of messages to the Merger.
const dueTopic = "search_due"

func (d due) String() string { return fmt.Sprint(d.organization, " ", d.merges, " ", d.family) }

func parseDue(word string) (d due, err error) {
	_, err = fmt.Sscan(word, &d.organization, &d.merges, &d.family)
	return d, err
}

const (
	// Rest is the time without writes after which Run finishes all merges. It is also the
	// interval between two checks.
	Rest = 10 * time.Minute
	// piece is the number of postings that one transaction merges. On SQLite, it holds the only
	// writer for about ten milliseconds.
	piece = 20_000
	// pause is the time between two pieces, in which other writers run.
	pause = 50 * time.Millisecond
)

// NewMerger returns a merger for all organizations.
func NewMerger(d db.DB, c clock.Clock) *Merger { return &Merger{d, c, defaultLayout} }

// Run packs and merges until ctx ends. It does due work at once, and finishes all merges whenever
// there were no writes for Rest. It logs errors and continues, because the next run repeats the
// failed work. db.Writes logs an unavailable database.
func (m *Merger) Run(ctx context.Context) {
	var ground sync.WaitGroup
	defer ground.Wait()
	defer m.db.SubscribeLocal(dueTopic, func(word string) {
		ground.Go(func() {
			if err := m.mergeDue(ctx, word); err != nil && ctx.Err() == nil && !errors.Is(err, db.ErrUnavailable) {
				slog.Error("search: packing failed", "error", err)
			}
		})
	})()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.clock.After(Rest):
		}
		if err := m.Once(ctx, clock.Now(m.clock).Add(-Rest)); err != nil && ctx.Err() == nil && !errors.Is(err, db.ErrUnavailable) {
			slog.Error("search: merging failed", "error", err)
		}
	}
}

// mergeDue does the work of one message. If the queue of writers is full, it tries again.
// Otherwise the index of a busy database would never be packed.
func (m *Merger) mergeDue(ctx context.Context, word string) error {
	d, err := parseDue(word)
	if err != nil {
		return err
	}
	for {
		err := m.db.WriteIn(ctx, d.organization, func(tx db.Tx) error {
			if _, err := tx.Tick(ctx, d.organization, clock.Now(m.clock)); err != nil {
				return err
			}
			return segments{ctx, tx, d.organization, d.family, m.layout}.mergeDue(d.merges)
		})
		if !errors.Is(err, db.ErrBusy) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.clock.After(pause):
		}
	}
}

// Once finishes all merges in every organization and family whose newest segment ends before a
// time. It continues after an error in one family, and returns all errors.
func (m *Merger) Once(ctx context.Context, before clock.Micros) error {
	var numbers []int64
	err := m.db.Read(ctx, func(tx db.Tx) (err error) {
		numbers, err = db.Organizations(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, organization := range numbers {
		var families []string
		err := m.db.Read(ctx, func(tx db.Tx) (err error) {
			families, err = db.Values[string](ctx, tx, `select family from search_segments
				where organization = $1 group by family having max(until) < $2 order by family`, organization, int64(before))
			return err
		})
		if err != nil {
			errs = append(errs, err)
		}
		for _, family := range families {
			if err := m.merge(ctx, organization, family); err != nil {
				errs = append(errs, fmt.Errorf("search: %s: %w", family, err))
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// merge finishes the merges of one family, with a pause after each piece.
func (m *Merger) merge(ctx context.Context, organization int64, family string) error {
	var list []segment
	err := m.db.Read(ctx, func(tx db.Tx) (err error) {
		list, err = segments{ctx, tx, organization, family, m.layout}.list()
		return err
	})
	for err == nil && mergeable(list, m.layout.fanout) {
		err = m.db.Write(ctx, func(tx db.Tx) (err error) {
			if _, err = tx.Tick(ctx, organization, clock.Now(m.clock)); err != nil {
				return err
			}
			s := segments{ctx, tx, organization, family, m.layout}
			if list, err = s.list(); err != nil {
				return err
			}
			if err = s.merge(list, piece); err != nil {
				return err
			}
			list, err = s.list()
			return err
		})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.clock.After(pause):
		}
	}
	return err
}

// mergeable reports whether the segments of any level can be merged.
func mergeable(list []segment, fanout int) bool {
	for level := range highest(list) + 1 {
		if _, sources := merging(list, level, fanout); sources != nil {
			return true
		}
	}
	return false
}
