package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"kartei/kit/clock"
	"kartei/store/db"
)

// These are the errors of a transaction that is used wrongly. Both engines return the same errors.
var (
	ErrEnded    = errors.New("db: transaction used after its end")
	ErrRowsOpen = errors.New("db: statement while rows of another are open")
	ErrReadOnly = errors.New("db: Exec, Queue or Lock inside Read")
)

// ExecOne runs a statement that must change a row. It fails with db.ErrConflict if no row was
// changed.
func ExecOne(ctx context.Context, t db.Tx, change db.Statement) error {
	rows, err := t.Exec(ctx, change.Query, change.Args...)
	if err != nil {
		return err
	}
	if rows == 0 {
		return db.ErrConflict
	}
	return nil
}

// Expect implements db.Tx.Expect with an immediate query.
func Expect(ctx context.Context, t db.Tx, query string, want int64) error {
	var number int64
	if err := t.QueryRow(ctx, query).Scan(&number); err != nil {
		return err
	}
	if number != want {
		return db.ErrStale
	}
	return nil
}

// Tick implements db.Tx.Tick with an immediate statement.
func Tick(ctx context.Context, tx db.Tx, organization int64, now clock.Micros) (tick clock.Micros, err error) {
	err = tx.QueryRow(ctx, `update clocks set tick = case when $2 > tick then $2 else tick + 1 end
		where organization = $1 returning tick`, organization, int64(now)).Scan(&tick)
	return tick, err
}

// Wrap wraps err in the error kind, unless err already wraps kind.
func Wrap(kind, err error) error {
	if errors.Is(err, kind) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// PlainText returns the text of an error without the prefixes ErrRefused and ErrUnavailable, for
// the operator.
func PlainText(err error) string {
	text := err.Error()
	for _, kind := range []error{db.ErrRefused, db.ErrUnavailable} {
		text = strings.TrimPrefix(text, kind.Error()+": ")
	}
	return text
}
