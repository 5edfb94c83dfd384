package grant_test

import (
	"context"
	"errors"
	"testing"

	"kartei/integration/grant"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// dyingTx is the transaction of a process that is killed before its n-th statement.
type dyingTx struct {
	db.Tx
	n int
}

func (d *dyingTx) dead() bool { d.n--; return d.n < 0 }

func (d *dyingTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if d.dead() {
		return 0, errKilled
	}
	return d.Tx.Exec(ctx, query, args...)
}

func (d *dyingTx) Query(ctx context.Context, query string, args ...any) (db.Rows, error) {
	if d.dead() {
		return nil, errKilled
	}
	return d.Tx.Query(ctx, query, args...)
}

func (d *dyingTx) QueryRow(ctx context.Context, query string, args ...any) db.Row {
	if d.dead() {
		return deadRow{}
	}
	return d.Tx.QueryRow(ctx, query, args...)
}

type deadRow struct{}

func (deadRow) Scan(...any) error { return errKilled }

// TestKilled kills the process before each statement of an exchange, of a refresh, and of
// the end of a grant whose token is used twice. Nothing has happened then, and the next
// try succeeds; a thief gains nothing by it.
func TestKilled(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		// killed runs an act with ever more statements, until it survives, and calls between
		// after each death.
		killed := func(name string, act func(tx db.Tx) (grant.Tokens, error), between func()) (tokens grant.Tokens, err error) {
			t.Helper()
			for n := 0; ; n++ {
				tokens, err = o.issued(func(tx db.Tx) (grant.Tokens, error) { return act(&dyingTx{tx, n}) })
				if !errors.Is(err, errKilled) {
					if n < 3 {
						t.Errorf("%s has %d statements", name, n)
					}
					return tokens, err
				}
				between()
			}
		}
		_, code := o.begin(read)
		first, err := killed("an exchange", func(tx db.Tx) (grant.Tokens, error) {
			return grant.Exchange(o.ctx, tx, o.now(), &o.client, code, callback, verifier, "")
		}, func() {})
		o.must(err)
		o.works(first.Access, read)
		second, err := killed("a refresh", func(tx db.Tx) (grant.Tokens, error) {
			return grant.Refresh(o.ctx, tx, o.now(), &o.client, first.Refresh, nil, "")
		}, func() { o.works(first.Access, read) })
		o.must(err)
		third, err := o.refresh(second.Refresh)
		o.must(err)
		// The first one is used again: the grant ends, at once or not at all.
		_, err = killed("a second use", func(tx db.Tx) (grant.Tokens, error) {
			return grant.Refresh(o.ctx, tx, o.now(), &o.client, first.Refresh, nil, "")
		}, func() { o.works(third.Access, read) })
		o.refused(err, grant.InvalidGrant)
		_, err = o.refresh(third.Refresh)
		o.refused(err, grant.InvalidGrant)
	})
}
