package duplicate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"kartei/kit/clock"
	"kartei/record"
	"kartei/store/db"
)

// Finder compares changed contacts and companies with all others, in the background. It follows the
// change clock of each organization in steps. A step reads and compares outside of a write
// transaction. Then one short transaction stores keys, pairs and the progress. So a process that dies
// loses nothing, and of several replicas only one has an effect.
type Finder struct {
	db    db.DB
	clock clock.Clock
	// limit is the maximum number of changed records of a step. budget is the maximum number of records
	// with which they are compared.
	limit, budget int
	bounds
}

const (
	// Poll is the interval between two looks into all organizations. It finds the changes of other
	// replicas, and repeats failed steps.
	Poll = 10 * time.Minute
	// Gather is the time between the message of a change and its step. So many changes share a step.
	Gather = time.Second
	// Pause is the minimum time between two steps, in which other writers run.
	Pause = 50 * time.Millisecond
	// maxCommon is the maximum number of records with a key by which pairs are found. All people of a
	// client may have the number of its office, and would make a pair each with each.
	maxCommon = 50
	// maxWeak is the maximum for a key that only a part of a name has.
	maxWeak = 12
)

// bounds are the maximum numbers of records with a key that makes pairs: any key, and a weak one.
type bounds struct{ common, weak int }

var defaultBounds = bounds{maxCommon, maxWeak}

// usable reports whether a key that n records have makes pairs.
func (b bounds) usable(key int64, n int) bool { return n <= b.weak || n <= b.common && !isWeak(key) }

// NewFinder returns a finder for all organizations.
func NewFinder(d db.DB, c clock.Clock) *Finder {
	return &Finder{db: d, clock: c, limit: 100, budget: 2000, bounds: defaultBounds}
}

// work is a family of an organization.
type work struct {
	organization int64
	family       string
}

func (w work) compare(o work) int {
	return cmp.Or(cmp.Compare(w.organization, o.organization), cmp.Compare(w.family, o.family))
}

// Run compares changed records until ctx ends. It logs errors and continues, because a later step
// repeats the failed work.
func (f *Finder) Run(ctx context.Context) {
	var mu sync.Mutex
	told := map[work]bool{}
	wake := make(chan struct{}, 1)
	defer f.db.SubscribeLocal(record.Topic, func(message string) {
		organization, name, _ := record.Told(message)
		if families[name] == nil {
			return
		}
		mu.Lock()
		told[work{organization, name}] = true
		mu.Unlock()
		select {
		case wake <- struct{}{}:
		default: // a message is already waiting
		}
	})()
	due, err := f.all(ctx)
	poll := f.clock.After(Poll)
	for ctx.Err() == nil {
		f.report(ctx, err)
		f.report(ctx, f.catchUp(ctx, due, func() []work {
			mu.Lock()
			defer mu.Unlock()
			more := slices.Collect(maps.Keys(told))
			clear(told)
			return more
		}))
		select {
		case <-ctx.Done():
		case <-wake:
			due, err = nil, f.wait(ctx, Gather)
		case <-poll:
			poll = f.clock.After(Poll)
			due, err = f.all(ctx)
		}
	}
}

// report logs an error. db.Writes logs an unavailable database.
func (f *Finder) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, db.ErrUnavailable) {
		slog.Error("duplicate: comparing failed", "error", err)
	}
}

// Once compares all records that changed since the last step, in all organizations. It continues after
// an error in one family, and returns all errors.
func (f *Finder) Once(ctx context.Context) error {
	due, err := f.all(ctx)
	if err != nil {
		return err
	}
	return f.catchUp(ctx, due, func() []work { return nil })
}

// all returns the families of all organizations.
func (f *Finder) all(ctx context.Context) (list []work, err error) {
	err = f.db.Read(ctx, func(tx db.Tx) error {
		numbers, err := db.Organizations(ctx, tx)
		list = list[:0]
		for _, n := range numbers {
			for name := range families {
				list = append(list, work{n, name})
			}
		}
		return err
	})
	return list, err
}

// catchUp makes steps until no record in due waits. In each round, each family makes one step. So no
// family waits for another one with many records. more returns families that became due meanwhile.
func (f *Finder) catchUp(ctx context.Context, due []work, more func() []work) error {
	var errs []error
	for {
		due = append(due, more()...)
		slices.SortFunc(due, work.compare)
		due = slices.Compact(due)
		if len(due) == 0 || ctx.Err() != nil {
			return errors.Join(errs...)
		}
		due = slices.DeleteFunc(due, func(w work) bool {
			began := f.clock.Now()
			made, err := f.step(ctx, w)
			if errors.Is(err, db.ErrBusy) { // the queue of writers is full
				return f.wait(ctx, Gather) != nil
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("duplicate: %s: %w", w.family, err))
				return true
			}
			return !made || f.wait(ctx, max(Pause, f.clock.Now().Sub(began))) != nil
		})
	}
}

// wait waits for a time, or until ctx ends.
func (f *Finder) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.clock.After(d):
		return nil
	}
}

// step makes one step of a family. made is false if no record waits.
func (f *Finder) step(ctx context.Context, w work) (made bool, err error) {
	s := &step{Finder: f, work: w, family: families[w.family]}
	if err := f.db.Read(ctx, func(tx db.Tx) error { return s.read(ctx, tx) }); err != nil || len(s.changed) == 0 {
		return false, err
	}
	err = f.db.WriteIn(ctx, w.organization, func(tx db.Tx) error { return s.write(ctx, tx) })
	switch {
	case errors.Is(err, errOvertaken):
		return true, nil
	case errors.Is(err, errErased):
		return false, nil
	}
	return err == nil, err
}
