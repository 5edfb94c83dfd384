package access

import (
	"context"
	"errors"

	"kartei/db"
)

// PrincipalExists reports whether id is a user or service account of an
// organization; a sandbox has those of the organization that it stands beside.
// Disabled ones exist too: they stay owners of what they own.
func PrincipalExists(ctx context.Context, tx db.Tx, organization int64, id string) (bool, error) {
	var one int64
	err := tx.QueryRow(ctx, selectPrincipalExists, organization, id).Scan(&one)
	if errors.Is(err, db.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Setting returns a setting of the instance, empty where it was never set.
func Setting(ctx context.Context, tx db.Tx, name string) (string, error) {
	var value string
	err := tx.QueryRow(ctx, selectSetting, name).Scan(&value)
	if errors.Is(err, db.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// PutSetting sets a setting of the instance.
func PutSetting(ctx context.Context, tx db.Tx, name, value string) error {
	_, err := tx.Exec(ctx, upsertSetting, name, value)
	return err
}
