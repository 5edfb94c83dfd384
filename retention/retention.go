// Package retention owns what is kept how long: one table of rules, and the runner that deletes what is older in small pieces.
package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"kartei/clock"
	"kartei/db"
	"kartei/notify"
	"kartei/requestlog"
)

// Rule says of one table how old its rows may become.
type Rule struct {
	// Name is the table, for logs and documentation.
	Name string
	Age  time.Duration
	// Due finds a row of organization $1 that is older than the point in time
	// $2, along an index: where it finds none, nothing is written.
	Due string
	// Delete removes at most $3 such rows, the oldest first.
	Delete string
	// Nobody is set where organization 0 has rows too.
	Nobody bool
}

// Rules is the table of what is kept how long (contract, 'Other constants';
// open points, 'Preconditions and idempotency').
var Rules = []Rule{
	rule("request_log", requestlog.Age, "at", "at, request_id").nobody(),
	rule("events", 30*24*time.Hour, "tick", "tick"),
	rule("limits", 48*time.Hour, "updated_at", "subject"), // twice the longest window
	rule("notices", notify.Age, "created_at", "principal, id"),
	rule("idempotency", 24*time.Hour, "created_at", "principal, key"),
}

// rule writes the statements for a table: time is the column that holds the
// row's time, key the columns that with the organization are the primary key.
func rule(table string, age time.Duration, time, key string) Rule {
	due := fmt.Sprintf("from %s where organization = $1 and %s < $2 order by %s limit ", table, time, time)
	return Rule{
		Name:   table,
		Age:    age,
		Due:    "select 1 " + due + "1",
		Delete: fmt.Sprintf("delete from %s where organization = $1 and (%s) in (select %s %s$3)", table, key, key, due),
	}
}

func (r Rule) nobody() Rule {
	r.Nobody = true
	return r
}

const (
	// Interval is how often the rules are applied.
	Interval = time.Hour
	// Piece is the most rows of one transaction, so that on SQLite nobody
	// waits for the one writer longer than some milliseconds.
	Piece = 500
	// Pause is the time between two pieces that leaves the writer to others.
	// It allows 10,000 rows a second, far more than a busy instance writes.
	Pause = 50 * time.Millisecond
)

// Runner applies rules to all organizations.
type Runner struct {
	db    db.DB
	clock clock.Clock
	rules []Rule
}

// New returns a runner of the given rules, usually Rules.
func New(d db.DB, c clock.Clock, rules []Rule) *Runner { return &Runner{d, c, rules} }

// Run applies the rules now and then every Interval, until ctx ends. A failed
// round is logged; the next one makes up for it.
func (r *Runner) Run(ctx context.Context) {
	for {
		if err := r.Once(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, db.ErrUnavailable) { // of that db.Writes tells
			slog.Error("retention: round failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-r.clock.After(Interval):
		}
	}
}

// Once applies every rule to every organization until nothing is left that is
// too old. What fails does not keep the others from being applied.
func (r *Runner) Once(ctx context.Context) error {
	numbers, err := r.organizations(ctx)
	if err != nil {
		return err
	}
	var errs []error
	now := clock.Now(r.clock)
	for _, rule := range r.rules {
		deleted := int64(0)
		for _, organization := range numbers {
			if organization == requestlog.Nobody && !rule.Nobody {
				continue
			}
			n, err := r.apply(ctx, rule, organization, now.Add(-rule.Age))
			deleted += n
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", rule.Name, err))
			}
			if ctx.Err() != nil {
				return errors.Join(errs...)
			}
		}
		if deleted > 0 {
			slog.Info("retention: deleted", "table", rule.Name, "count", deleted)
		}
	}
	return errors.Join(errs...)
}

// apply deletes piece by piece what is older than before; what becomes too old
// meanwhile is left to the next round.
func (r *Runner) apply(ctx context.Context, rule Rule, organization int64, before clock.Micros) (deleted int64, err error) {
	if due, err := r.due(ctx, rule, organization, before); err != nil || !due {
		return 0, err
	}
	for {
		var n int64
		err := r.db.Write(ctx, func(tx db.Tx) error {
			var err error
			n, err = tx.Exec(ctx, rule.Delete, organization, int64(before), int64(Piece))
			return err
		})
		if err != nil {
			return deleted, err
		}
		deleted += n
		if n < Piece {
			return deleted, nil
		}
		select {
		case <-ctx.Done():
			return deleted, ctx.Err()
		case <-r.clock.After(Pause):
		}
	}
}

func (r *Runner) due(ctx context.Context, rule Rule, organization int64, before clock.Micros) (due bool, err error) {
	err = r.db.Read(ctx, func(tx db.Tx) error {
		var one int64
		err := tx.QueryRow(ctx, rule.Due, organization, int64(before)).Scan(&one)
		due = err == nil
		if errors.Is(err, db.ErrNoRows) {
			return nil
		}
		return err
	})
	return due, err
}

func (r *Runner) organizations(ctx context.Context) (numbers []int64, err error) {
	err = r.db.Read(ctx, func(tx db.Tx) (err error) {
		numbers, err = db.Values[int64](ctx, tx, `select number from organizations order by number`)
		return err
	})
	return append([]int64{requestlog.Nobody}, numbers...), err
}
