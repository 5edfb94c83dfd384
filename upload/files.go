package upload

import (
	"context"

	"kartei/db"
)

// countEnding names what jobs_unique leaves out, so that it serves.
const countEnding = `select count(*) from jobs
	where organization = $1 and kind in ($2, $3) and key = $4 and key <> '' and state <> 'failed'`

// HasStaged reports whether a session may have bytes: until it has ended and its
// jobs have removed them, or failed to.
func HasStaged(ctx context.Context, tx db.Tx, organization int64, upload string) (has bool, err error) {
	var n int64
	err = tx.QueryRow(ctx, `select count(*) from uploads where organization = $1 and id = $2`, organization, upload).Scan(&n)
	if n > 0 || err != nil {
		return n > 0, err
	}
	err = tx.QueryRow(ctx, countEnding, organization, ExpireKind, ClearKind, upload).Scan(&n)
	return n > 0, err
}
