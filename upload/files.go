package upload

import (
	"context"

	"kartei/db"
)

// HasStaged reports whether a session may have bytes: until it has ended and its
// jobs have removed them.
func HasStaged(ctx context.Context, tx db.Tx, organization int64, upload string) (has bool, err error) {
	var n int64
	err = tx.QueryRow(ctx, `select count(*) from uploads where organization = $1 and id = $2`, organization, upload).Scan(&n)
	if n > 0 || err != nil {
		return n > 0, err
	}
	err = tx.QueryRow(ctx, `select count(*) from jobs where organization = $1 and kind in ($2, $3) and key = $4`, organization, ExpireKind, ClearKind, upload).Scan(&n)
	return n > 0, err
}
