package signin

import (
	"context"
	"fmt"

	"kartei/kit/masterkey"
	"kartei/store/db"
)

const (
	selectSealed = `select id, totp_secret from accounts where id > $1 and totp_secret <> '' order by id limit $2`
	updateSealed = `update accounts set totp_secret = $3 where id = $1 and totp_secret = $2`
	// resealPiece is the maximum number of accounts that one query reads.
	resealPiece = 200
)

// Reseal encrypts all TOTP secrets with the current master key. It returns the number of changed
// secrets, and an error for each secret that no known key decrypts.
func Reseal(ctx context.Context, d db.DB, v masterkey.Vault) (changed int, unreadable []error, err error) {
	type row struct{ account, sealed string }
	for after := ""; ; {
		var rows []row
		err := d.Read(ctx, func(tx db.Tx) (err error) {
			rows, err = db.List(ctx, tx, func(from db.Row) (r row, err error) {
				err = from.Scan(&r.account, &r.sealed)
				return r, err
			}, selectSealed, after, resealPiece)
			return err
		})
		if err != nil || len(rows) == 0 {
			return changed, unreadable, err
		}
		after = rows[len(rows)-1].account
		for _, r := range rows {
			secret, current, err := v.Open(r.sealed, r.account)
			switch {
			case err != nil:
				unreadable = append(unreadable, fmt.Errorf("the secret of the app for codes of %s was sealed under an unknown master key; kartei user reset-factors removes it: %w", r.account, err))
				continue
			case current:
				continue
			}
			var n int64
			err = d.Write(ctx, func(tx db.Tx) (err error) {
				n, err = tx.Exec(ctx, updateSealed, r.account, r.sealed, v.Seal(secret, r.account))
				return err
			})
			if err != nil {
				return changed, unreadable, err
			}
			changed += int(n)
		}
	}
}
