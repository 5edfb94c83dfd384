package account

import (
	"context"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

const (
	insertAccount = `insert into accounts (id, email, email_folded, created_at) values ($1, $2, $3, $4)`
	joinAccount   = `update principals set account_id = $2 where id = $1`
)

// Create stores a new account without a password, and returns its id. An address
// that has an account is db.ErrDuplicate.
func Create(ctx context.Context, tx db.Tx, now clock.Micros, email string) (string, error) {
	name := id.New(id.Account)
	_, err := tx.Exec(ctx, insertAccount, name, email, access.FoldEmail(email), now)
	return name, err
}

// Join makes a principal a person of an account.
func Join(ctx context.Context, tx db.Tx, principal, account string) error {
	_, err := tx.Exec(ctx, joinAccount, principal, account)
	return err
}
