package usage

import (
	"context"
	"errors"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/job"
)

const (
	// foldEvery is the time between two foldings.
	foldEvery = 6 * time.Hour
	// foldBack is how far a folding looks back. If none ran for longer, its rows are
	// never folded, and a chart reads a few more.
	foldBack = 7 * clock.Day
)

// Folder folds the rows of several processes into one for each hour, so that a chart
// reads as many rows as there were hours with calls, on any number of replicas.
type Folder struct {
	DB    db.DB
	Clock clock.Clock
}

// Handlers returns the job.
func (f Folder) Handlers() []job.Handler {
	return []job.Handler{
		{Kind: "usage.fold", Every: foldEvery, Run: func(ctx context.Context, _ *job.Job) error { return f.Fold(ctx) }},
	}
}

// Fold folds the hours that are over for a day, of all organizations. A failure for one
// does not stop the others.
func (f Folder) Fold(ctx context.Context) error {
	var organizations []int64
	err := f.DB.Read(ctx, func(tx db.Tx) (err error) {
		organizations, err = db.Organizations(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	until := hourOf(clock.Now(f.Clock) - foldAfter)
	var errs []error
	for _, organization := range organizations {
		for from := until - foldBack; from < until && ctx.Err() == nil; from += clock.Day {
			errs = append(errs, f.day(ctx, organization, from, from+clock.Day))
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// day folds the hours of a day. No process still writes them. Of two that fold at the
// same time, one does nothing.
func (f Folder) day(ctx context.Context, organization int64, from, until clock.Micros) error {
	args := []any{organization, int64(from), int64(until)}
	var found int64
	err := f.DB.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, anyUnfolded, args...).Scan(&found) })
	if err != nil || found == 0 {
		return err
	}
	return f.DB.Write(ctx, func(tx db.Tx) error {
		if free, err := tx.Lock(ctx, "usage.fold"); err != nil || !free {
			return err
		}
		if _, err := tx.Exec(ctx, foldHours, args...); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, dropFolded, args...)
		return err
	})
}
