package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/db/internal/engine"
)

// AssumeNone queries unless the transaction is speculative.
func (t *transaction) AssumeNone(ctx context.Context, query string, args ...any) db.Row {
	if t.speculative {
		t.assumed = true
		return noRow{}
	}
	return t.QueryRow(ctx, query, args...)
}

// noRow is the result of a query that was not sent.
type noRow struct{}

func (noRow) Scan(...any) error { return db.ErrNoRows }

// ExecOne counts the changed rows. A speculative transaction leaves that to the
// check.
func (t *transaction) ExecOne(ctx context.Context, change, check db.Statement) error {
	if t.speculative {
		t.assumed = true
		t.Queue(change.Query, change.Args...)
		t.Queue(check.Query, check.Args...)
		return nil
	}
	return engine.ExecOne(ctx, t, change)
}

// Tick moves the clock at once, unless the transaction is speculative.
func (t *transaction) Tick(ctx context.Context, organization int64, now clock.Micros) (clock.Micros, error) {
	if t.speculative {
		return t.assumeTick(organization, now), nil
	}
	next, err := engine.Tick(ctx, t, organization, now)
	t.noteTick(organization, next)
	return next, err
}

// assumeTick returns the tick that the clock will most probably give. It queues
// a statement that sets this tick, or divides by zero if the clock is ahead.
// Once in a transaction it queues another, which divides by zero if there is no
// clock, and costs the server 8 microseconds. Without it, an update of no row
// would succeed, and the change would be committed after the erasure of its
// organization.
func (t *transaction) assumeTick(organization int64, now clock.Micros) clock.Micros {
	tick := now
	if organization == t.organization {
		tick = max(now, t.tick+1)
	}
	t.noteTick(organization, tick)
	t.assumed = true
	t.Queue("update clocks set tick = cast($2 as bigint) / (case when tick < $2 then 1 else 0 end) where organization = $1", organization, int64(tick))
	if t.holds != organization {
		t.holds = organization
		t.Queue("select 1 / count(*) from clocks where organization = $1", organization)
	}
	return tick
}

func (t *transaction) noteTick(organization int64, tick clock.Micros) {
	if organization == t.organization {
		t.tick = tick
	}
}

// lockNumber maps a key to 64 bits of its hash. So a client cannot choose a key
// that collides with another's. Two colliding keys lock each other out, which
// looks to a caller like a key in use.
func lockNumber(key string) int64 {
	hash := sha256.Sum256([]byte(key))
	return int64(binary.BigEndian.Uint64(hash[:]))
}

// Lock takes an advisory lock, which the server releases with the transaction.
// A speculative transaction divides by zero if another one holds the lock.
func (t *transaction) Lock(ctx context.Context, key string) (bool, error) {
	switch {
	case !t.write:
		return false, engine.ErrReadOnly
	case t.speculative:
		t.assumed = true
		t.assume("pg_try_advisory_xact_lock($1)", lockNumber(key))
		return true, nil
	}
	var got bool
	err := t.QueryRow(ctx, "select pg_try_advisory_xact_lock($1)", lockNumber(key)).Scan(&got)
	return got, err
}

// assume fails the transaction unless a condition on $1 is true. Two successive
// assumptions that wait travel as one statement, because each statement costs
// the server 8 microseconds.
func (t *transaction) assume(condition string, value any) {
	values := []any{value}
	beside := t.assumption
	if beside != "" {
		last := len(t.pending) - 1
		condition = beside + " and " + strings.ReplaceAll(condition, "$1", "$2")
		values = append(t.pending[last].Args, value)
		t.pending = t.pending[:last]
	}
	t.Queue("select 1 / (case when "+condition+" then 1 else 0 end)", values...)
	if beside == "" {
		t.assumption = condition
	}
}
