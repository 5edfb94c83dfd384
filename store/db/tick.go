package db

import (
	"context"

	"kartei/kit/clock"
)

// tick moves an organization's clock at once: see Tx.Tick.
func tick(ctx context.Context, tx Tx, organization int64, now clock.Micros) (tick clock.Micros, err error) {
	err = tx.QueryRow(ctx, `update clocks set tick = case when $2 > tick then $2 else tick + 1 end
		where organization = $1 returning tick`, organization, int64(now)).Scan(&tick)
	return tick, err
}

// LastTick returns the tick of the organization's last change.
func LastTick(ctx context.Context, tx Tx, organization int64) (tick clock.Micros, err error) {
	return tick, tx.QueryRow(ctx, `select tick from clocks where organization = $1`, organization).Scan(&tick)
}
