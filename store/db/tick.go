package db

import (
	"context"

	"kartei/kit/clock"
)

// LastTick returns the tick of the organization's last change.
func LastTick(ctx context.Context, tx Tx, organization int64) (tick clock.Micros, err error) {
	return tick, tx.QueryRow(ctx, `select tick from clocks where organization = $1`, organization).Scan(&tick)
}
