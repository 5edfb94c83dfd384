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
	"kartei/requestlog"
)

// Rule says of one table how old its rows may become.
type Rule struct {
	// Name is the table, for logs and documentation.
	Name string
	Age  time.Duration
	// Delete removes at most $3 rows of organization $1 that are older than
	// the point in time $2, the oldest first, along an index.
	Delete string
	// Nobody is set where organization 0 has rows too.
	Nobody bool
}

// Rules is the table of what is kept how long (contract, 'Other constants';
// open points, 'Preconditions and idempotency').
var Rules = []Rule{
	{"request_log", requestlog.Age, oldest("request_log", "at", "at", "request_id"), true},
	{"events", 30 * 24 * time.Hour, oldest("events", "tick", "tick"), false},
	{"idempotency", 24 * time.Hour, oldest("idempotency", "created_at", "principal_id", "idempotency_key"), false},
}

// oldest writes a rule's statement: time is the column that holds the row's
// time, key the columns that with the organization make the primary key.
func oldest(table, time string, key ...string) string {
	columns := key[0]
	for _, k := range key[1:] {
		columns += ", " + k
	}
	return fmt.Sprintf(`delete from %[1]s where organization = $1 and (%[3]s) in (
		select %[3]s from %[1]s where organization = $1 and %[2]s < $2 order by %[2]s limit $3)`, table, time, columns)
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
		if err := r.Once(ctx); err != nil && ctx.Err() == nil {
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
	for _, rule := range r.rules {
		deleted := int64(0)
		for _, organization := range numbers {
			if organization == requestlog.Nobody && !rule.Nobody {
				continue
			}
			n, err := r.apply(ctx, rule, organization)
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

// apply deletes piece by piece; what becomes too old meanwhile is left to the
// next round, so it ends.
func (r *Runner) apply(ctx context.Context, rule Rule, organization int64) (deleted int64, err error) {
	before := clock.Now(r.clock).Add(-rule.Age)
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

func (r *Runner) organizations(ctx context.Context) (numbers []int64, err error) {
	err = r.db.Read(ctx, func(tx db.Tx) error {
		numbers = []int64{requestlog.Nobody}
		rows, err := tx.Query(ctx, `select number from organizations order by number`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var n int64
			if err := rows.Scan(&n); err != nil {
				return err
			}
			numbers = append(numbers, n)
		}
		return rows.Err()
	})
	return numbers, err
}
