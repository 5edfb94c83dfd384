package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"kartei/kit/trace"
	"kartei/store/db"
)

type queryRows struct {
	tx    *transaction
	rows  pgx.Rows
	batch pgx.BatchResults
	err   error
	ended bool
	span  *trace.Span
	// expected is the expectation in the first column, or nil. number is the value of that column.
	// met says that the value was right.
	expected *expectation
	number   int64
	met      bool
	dest     []any
}

func (r *queryRows) Next() bool {
	if r.ended {
		return false
	}
	if r.rows.Next() {
		r.tx.answered = true
		return true
	}
	r.Close()
	return false
}

func (r *queryRows) Scan(dest ...any) error {
	if r.ended {
		return errors.New("db: Scan without a row")
	}
	if r.expected != nil {
		r.dest = append(append(r.dest[:0], &r.number), dest...)
		dest = r.dest
	}
	var err error
	if !scanPlain(r.rows.FieldDescriptions(), r.rows.RawValues(), dest) {
		err = r.rows.Scan(dest...)
	}
	switch {
	case err != nil:
		r.err = fmt.Errorf("db: %w", err)
	case r.expected != nil && r.number != r.expected.want:
		r.tx.stale, r.err = true, db.ErrStale
	default:
		r.met = true
		return nil
	}
	r.Close()
	return r.err
}

func (r *queryRows) Err() error { return r.err }

func (r *queryRows) Close() {
	if r.ended {
		return
	}
	r.ended, r.tx.open = true, nil
	defer r.span.End()
	if r.expected != nil && !r.met && !r.tx.stale { // without a row, the expectation was not checked
		r.tx.expected = r.expected
	}
	r.rows.Close()
	err := r.rows.Err()
	if r.batch != nil {
		if closed := r.batch.Close(); err == nil {
			err = closed
		}
	}
	if err == nil {
		r.tx.answered = true
		r.tx.did(r.rows.CommandTag())
	}
	if r.err == nil && err != nil {
		r.err = r.tx.fail(err)
	}
}

// queryRow is a query that runs at Scan.
type queryRow struct {
	tx    *transaction
	ctx   context.Context
	query string
	args  []any
}

func (r *queryRow) Scan(dest ...any) error {
	rows, err := r.tx.Query(r.ctx, r.query, r.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return db.ErrNoRows
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}
