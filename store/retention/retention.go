// Package retention owns the deletion of old rows: rules for tables, and the jobs that apply them.
package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/job"
)

// Rule says how old the rows of a table may become.
type Rule struct {
	// Name is the name of the table, for logs and documentation.
	Name string
	Age  time.Duration
	// Due is a query that finds a row of organization $1 older than $2, by an index. Delete only
	// runs if there is such a row.
	Due string
	// Delete is a statement that deletes at most $3 such rows, the oldest first.
	Delete string
	// Nobody says that organization 0 has rows too.
	Nobody bool
	// What names the rows for the operator, and From the time from which Age counts.
	What, From string
}

// Keep returns the rule of a table. time is the column with the time of a row. key has the columns
// of the primary key without the organization. only has conditions, all of which an old row must
// meet to be deleted.
func Keep(table string, age time.Duration, time, key string, only ...string) Rule {
	conditions := strings.Join(append([]string{"organization = $1"}, only...), " and ")
	due := fmt.Sprintf("from %s where %s and %s < $2 order by %s limit ", table, conditions, time, time)
	return Rule{
		Name:   table,
		Age:    age,
		Due:    "select 1 " + due + "1",
		Delete: fmt.Sprintf("delete from %s where organization = $1 and (%s) in (select %s %s$3)", table, key, key, due),
	}
}

// OrNobodys returns the rule with Nobody set.
func (r Rule) OrNobodys() Rule {
	r.Nobody = true
	return r
}

// Says returns the rule with What and From set.
func (r Rule) Says(what, from string) Rule {
	r.What, r.From = what, from
	return r
}

// nobody is the organization number of rows that belong to no organization, for example of calls
// without a valid credential.
const nobody int64 = 0

const (
	// Interval is the time between two searches for old rows.
	Interval = time.Hour
	// Piece is the maximum number of rows that one transaction deletes. With it, others wait only
	// some milliseconds for the only writer of SQLite.
	Piece = 500
	// Pause is the time between two pieces, in which others can write. It allows 10,000 deleted
	// rows per second, which is far more than a busy instance writes.
	Pause = 50 * time.Millisecond
)

// Keeper applies rules to all organizations by jobs. In each Interval, one job of the instance
// looks for organizations with old rows, and enqueues a job for each. So only one replica deletes
// the rows of an organization. An organization with many rows does not delay others.
type Keeper struct {
	db    db.DB
	clock clock.Clock
	rules []Rule
}

// New returns a Keeper that applies these rules.
func New(d db.DB, c clock.Clock, rules []Rule) *Keeper { return &Keeper{d, c, rules} }

// tidy is the kind of the job that deletes the old rows of one organization.
const tidy = "retention.tidy"

// Handlers returns the handlers of the Keeper's jobs.
func (k *Keeper) Handlers() []job.Handler {
	return []job.Handler{
		{Kind: "retention.look", Every: Interval, Run: func(ctx context.Context, _ *job.Job) error { return k.look(ctx) }},
		{Kind: tidy, Run: func(ctx context.Context, j *job.Job) error { return k.Tidy(ctx, j.Organization) }},
	}
}

// look enqueues a job for each organization with old rows. An error for one organization does not
// stop the others. The jobs become due over the first half of Interval. So other jobs do not wait
// for all of them if there are very many organizations.
func (k *Keeper) look(ctx context.Context) error {
	numbers, err := k.organizations(ctx)
	if err != nil {
		return err
	}
	now := clock.Now(k.clock)
	var errs []error
	for n, organization := range numbers {
		due, err := k.due(ctx, organization, now)
		if err == nil && due {
			spread := Interval / 2 / time.Duration(len(numbers)) * time.Duration(n)
			err = k.db.WriteIn(ctx, organization, func(tx db.Tx) error {
				return job.Enqueue(ctx, tx, organization, now, job.Spec{Kind: tidy, Key: tidy, Due: now.Add(spread)})
			})
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// due reports whether an organization has old rows.
func (k *Keeper) due(ctx context.Context, organization int64, now clock.Micros) (due bool, err error) {
	for _, rule := range k.rules {
		if organization == nobody && !rule.Nobody {
			continue
		}
		due, err = k.anyDue(ctx, rule, organization, now.Add(-rule.Age))
		if due || err != nil {
			break
		}
	}
	return due, err
}

// Tidy applies all rules to an organization until it has no old rows. An error of one rule does not
// stop the others.
func (k *Keeper) Tidy(ctx context.Context, organization int64) error {
	now := clock.Now(k.clock)
	var errs []error
	for _, rule := range k.rules {
		if organization == nobody && !rule.Nobody {
			continue
		}
		deleted, err := k.apply(ctx, rule, organization, now.Add(-rule.Age))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", rule.Name, err))
		}
		if deleted > 0 {
			slog.Debug("retention: deleted", "table", rule.Name, "count", deleted)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// apply deletes the rows that are older than before, in pieces. Rows that become too old meanwhile
// are left to the next job.
func (k *Keeper) apply(
	ctx context.Context, rule Rule, organization int64, before clock.Micros,
) (deleted int64, err error) {
	if due, err := k.anyDue(ctx, rule, organization, before); err != nil || !due {
		return 0, err
	}
	for {
		var n int64
		err := k.db.Write(ctx, func(tx db.Tx) error {
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
		case <-k.clock.After(Pause):
		}
	}
}

func (k *Keeper) anyDue(ctx context.Context, rule Rule, organization int64, before clock.Micros) (due bool, err error) {
	err = k.db.Read(ctx, func(tx db.Tx) error {
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

func (k *Keeper) organizations(ctx context.Context) (numbers []int64, err error) {
	err = k.db.Read(ctx, func(tx db.Tx) (err error) {
		numbers, err = db.Organizations(ctx, tx)
		return err
	})
	return append([]int64{nobody}, numbers...), err
}
