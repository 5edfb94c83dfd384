package upload

import (
	"context"

	"kartei/store/db"
)

// HasStaged reports whether a session may still have bytes. Bytes that arrive late are deleted
// some hours after the end of the session.
func HasStaged(ctx context.Context, tx db.Tx, organization int64, upload string) (has bool, err error) {
	var n int64
	err = tx.QueryRow(ctx, `select count(*) from uploads where organization = $1 and id = $2`, organization,
		upload).Scan(&n)
	return n > 0, err
}
