package principal

import (
	"context"

	"kartei/access"
	"kartei/store/db"
)

const (
	updateAccount = `update principals set account_id = $2 where id = $1`
	updateProfile = `update principals set name = $2, language = $3, preferences = $4 where id = $1`
	updateEmails  = `update principals set email = $2, email_folded = $3 where account_id = $1 and email_folded = $4
		and not exists (select 1 from principals o where o.organization = principals.organization and o.email_folded = $3 and o.id <> principals.id)`
)

// Join makes a principal a person of an account. An account that has a person in the organization
// already is a db.ErrDuplicate.
func Join(ctx context.Context, tx db.Tx, principal, account string) error {
	_, err := tx.Exec(ctx, updateAccount, principal, account)
	return err
}

// SetProfile sets what people set for themselves. Preferences are JSON.
func SetProfile(ctx context.Context, tx db.Tx, principal, name, language, preferences string) error {
	_, err := tx.Exec(ctx, updateProfile, principal, name, language, preferences)
	return err
}

// MoveEmail gives the persons of an account its new address for messages, if they had the old
// one, and nobody of their organization has the new one.
func MoveEmail(ctx context.Context, tx db.Tx, account, from, to string) error {
	_, err := tx.Exec(ctx, updateEmails, account, to, access.FoldEmail(to), access.FoldEmail(from))
	return err
}
