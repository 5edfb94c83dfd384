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

// AssumeNone runs the query, or assumes no row in a speculative transaction.
func (t *transaction) AssumeNone(ctx context.Context, query string, args ...any) db.Row {
	if t.speculative {
		t.assumed = true
		return noRow{}
	}
	return t.QueryRow(ctx, query, args...)
}

// noRow is the assumed result of a query that was not sent.
type noRow struct{}

func (noRow) Scan(...any) error { return db.ErrNoRows }

// ExecOne runs the statement and counts the changed rows. A speculative transaction queues the
// statement and the check instead.
func (t *transaction) ExecOne(ctx context.Context, change, check db.Statement) error {
	if t.speculative {
		t.assumed = true
		t.Queue(change.Query, change.Args...)
		t.Queue(check.Query, check.Args...)
		return nil
	}
	return engine.ExecOne(ctx, t, change)
}

// Tick advances the clock at once. A speculative transaction assumes the next tick.
func (t *transaction) Tick(ctx context.Context, organization int64, now clock.Micros) (clock.Micros, error) {
	if t.speculative {
		return t.assumeTick(organization, now), nil
	}
	next, err := engine.Tick(ctx, t, organization, now)
	t.noteTick(organization, next)
	return next, err
}

// assumeTick returns the tick that the clock will very probably give. It queues a statement that
// stores this tick, and divides by zero if the clock is ahead.
//
// For the first tick of an organization, it also queues a statement that divides by zero if the
// organization has no clock. That takes the server 8 microseconds. Without it, an update of no row
// would succeed, and the change would be committed after the erasure of its organization.
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

// lockNumber returns 64 bits of the hash of a key. With a hash, a client cannot choose a key that
// collides with another's. If two keys collide, a caller sees a free key as locked.
func lockNumber(key string) int64 {
	hash := sha256.Sum256([]byte(key))
	return int64(binary.BigEndian.Uint64(hash[:]))
}

// Lock takes an advisory lock, which ends with the transaction. A speculative transaction divides
// by zero if another transaction has the lock.
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

// assume makes the transaction fail unless a condition on $1 is true. It merges two successive
// assumptions into one statement, because each statement takes the server 8 microseconds.
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
