package grant_test

import (
	"context"
	"errors"
	"testing"

	"kartei/integration/grant"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// dyingTx is the transaction of a process that is killed before its statement number n, counted
// from 0.
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

// TestKilled checks a process that is killed before any statement of an exchange, a refresh or the
// end of a grant. The grant and its tokens are then unchanged, and the next attempt succeeds. A
// thief gains no access.
func TestKilled(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		// killed runs act and kills it before each statement in turn, until act completes. It calls
		// between after each kill.
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
		// The first token is used again, which ends the grant completely or not at all.
		_, err = killed("a second use", func(tx db.Tx) (grant.Tokens, error) {
			return grant.Refresh(o.ctx, tx, o.now(), &o.client, first.Refresh, nil, "")
		}, func() { o.works(third.Access, read) })
		o.refused(err, grant.InvalidGrant)
		_, err = o.refresh(third.Refresh)
		o.refused(err, grant.InvalidGrant)
	})
}
