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
	// foldEvery is the time between two runs of the folding job.
	foldEvery = 6 * time.Hour
	// foldBack is the time that one run looks back. If no run happens for longer, the rows of older
	// hours stay unfolded, and a chart reads a few more rows.
	foldBack = 7 * clock.Day
)

// Folder merges the rows of several processes into one row for each hour. So a chart reads one row
// for each hour with calls, no matter how many replicas there are.
type Folder struct {
	DB    db.DB
	Clock clock.Clock
}

// Handlers returns the handler of the folding job.
func (f Folder) Handlers() []job.Handler {
	return []job.Handler{
		{Kind: "usage.fold", Every: foldEvery, Run: func(ctx context.Context, _ *job.Job) error { return f.Fold(ctx) }},
	}
}

// Fold merges the rows of hours that ended more than a day ago, in all organizations. A failure for
// one organization does not stop the others.
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

// day folds the hours between from and until. No process writes these hours any more. If two
// processes fold at the same time, one of them does nothing.
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
