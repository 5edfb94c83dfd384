package access

import (
	"context"
	"errors"

	"kartei/store/db"
)

// Setting returns a setting of the instance, or "" if it is not set.
func Setting(ctx context.Context, tx db.Tx, name string) (string, error) {
	var value string
	err := tx.QueryRow(ctx, selectSetting, name).Scan(&value)
	if errors.Is(err, db.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// PutSetting stores a setting of the instance. Settings must not contain secrets.
func PutSetting(ctx context.Context, tx db.Tx, name, value string) error {
	_, err := tx.Exec(ctx, upsertSetting, name, value)
	return err
}

// ClaimSetting stores a setting that is empty or missing, and returns its value afterwards.
// Concurrent calls all return the value of the first.
func ClaimSetting(ctx context.Context, tx db.Tx, name, value string) (string, error) {
	err := tx.QueryRow(ctx, claimSetting, name, value).Scan(&value)
	return value, err
}
