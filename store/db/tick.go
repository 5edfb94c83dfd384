package db

import (
	"context"

	"kartei/kit/clock"
)

// Tick takes the next tick of an organization's change clock: now, or one
// microsecond after the last tick if that is later. It holds the clock until
// the transaction ends, so ticks are unique in the organization and become
// visible in order. Sync and the event feed depend only on that: a reader that
// has seen a tick was offered all changes up to it. Call Tick as late as the
// operation allows.
func Tick(ctx context.Context, tx Tx, organization int64, now clock.Micros) (clock.Micros, error) {
	t, postgres := tx.(*pgTx)
	if postgres && t.speculative {
		return t.assumeTick(organization, now), nil
	}
	var tick clock.Micros
	err := tx.QueryRow(ctx, `update clocks set tick = case when $2 > tick then $2 else tick + 1 end
		where organization = $1 returning tick`, organization, int64(now)).Scan(&tick)
	if postgres {
		t.noteTick(organization, tick)
	}
	return tick, err
}

// LastTick returns the tick of the organization's last change.
func LastTick(ctx context.Context, tx Tx, organization int64) (tick clock.Micros, err error) {
	return tick, tx.QueryRow(ctx, `select tick from clocks where organization = $1`, organization).Scan(&tick)
}
