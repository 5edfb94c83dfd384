package access

import (
	"context"
	"errors"

	"kartei/store/db"
)

// Setting returns a setting of the instance, empty if it was never set.
func Setting(ctx context.Context, tx db.Tx, name string) (string, error) {
	var value string
	err := tx.QueryRow(ctx, selectSetting, name).Scan(&value)
	if errors.Is(err, db.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// PutSetting sets a setting of the instance. Settings must not hold secrets.
func PutSetting(ctx context.Context, tx db.Tx, name, value string) error {
	_, err := tx.Exec(ctx, upsertSetting, name, value)
	return err
}

// ClaimSetting sets a setting that is empty or missing, and returns the value
// that it then has. Concurrent claims all return the value of the first.
func ClaimSetting(ctx context.Context, tx db.Tx, name, value string) (string, error) {
	err := tx.QueryRow(ctx, claimSetting, name, value).Scan(&value)
	return value, err
}
