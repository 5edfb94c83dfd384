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

// Merger packs and merges after the commit of a Put that found work. Its
// transactions queue like the transactions of other writers, so it never falls
// behind them.
//
// It also finishes merges after some time without a Put. So after a large
// import a search opens as few segments as possible.
type Merger struct {
	db     db.DB
	clock  clock.Clock
	layout layout
}

// due is the message of a Put to the Merger: pack unpacked records, and merge for a
// number of postings.
type due struct {
	organization int64
	family       string
	merges       int
}

// dueTopic is the topic of these messages.
const dueTopic = "search_due"

func (d due) String() string { return fmt.Sprint(d.organization, " ", d.merges, " ", d.family) }

func parseDue(word string) (d due, err error) {
	_, err = fmt.Sscan(word, &d.organization, &d.merges, &d.family)
	return d, err
}

const (
	// Rest is the time without writes after which Run finishes merges, and how often
	// it checks.
	Rest = 10 * time.Minute
	// piece is how many postings one transaction merges: on SQLite, about ten
	// milliseconds of the one writer.
	piece = 20_000
	// pause is the time between two pieces, for other writers.
	pause = 50 * time.Millisecond
)

// NewMerger returns a merger of all organizations.
func NewMerger(d db.DB, c clock.Clock) *Merger { return &Merger{d, c, defaultLayout} }

// Run packs and merges until ctx ends: what is due at once, and the rest after every
// Rest without writes. Errors are logged; the next run makes up for them.
func (m *Merger) Run(ctx context.Context) {
	var ground sync.WaitGroup
	defer ground.Wait()
	defer m.db.SubscribeLocal(dueTopic, func(word string) {
		ground.Go(func() {
			if err := m.mergeDue(ctx, word); err != nil && ctx.Err() == nil && !errors.Is(err, db.ErrUnavailable) {
				// which db.Writes logs
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
		if err := m.Once(ctx, clock.Now(m.clock).Add(-Rest)); err != nil && ctx.Err() == nil && !errors.Is(err, db.ErrUnavailable) { // which db.Writes logs
			slog.Error("search: merging failed", "error", err)
		}
	}
}

// mergeDue does the work of one message. If the writers' queue is full, it tries
// again: otherwise a database that is always busy would never be packed.
func (m *Merger) mergeDue(ctx context.Context, word string) error {
	d, err := parseDue(word)
	if err != nil {
		return err
	}
	for {
		err := m.db.WriteIn(ctx, d.organization, func(tx db.Tx) error {
			if _, err := db.Tick(ctx, tx, d.organization, clock.Now(m.clock)); err != nil {
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

// Once finishes all merges in every organization and family whose newest segment ends
// before a time. An error in one family does not stop the others.
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

// merge finishes the merges of one family, piece by piece.
func (m *Merger) merge(ctx context.Context, organization int64, family string) error {
	var list []segment
	err := m.db.Read(ctx, func(tx db.Tx) (err error) {
		list, err = segments{ctx, tx, organization, family, m.layout}.list()
		return err
	})
	for err == nil && mergeable(list, m.layout.fanout) {
		err = m.db.Write(ctx, func(tx db.Tx) (err error) {
			if _, err = db.Tick(ctx, tx, organization, clock.Now(m.clock)); err != nil {
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

// mergeable reports whether segments of some level can be merged.
func mergeable(list []segment, fanout int) bool {
	for level := range highest(list) + 1 {
		if _, sources := merging(list, level, fanout); sources != nil {
			return true
		}
	}
	return false
}
