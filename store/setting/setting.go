// Package setting owns the settings of an instance that are kept in its database, such as a pause of writes.
package setting

import (
	"context"
	"errors"

	"kartei/store/db"
)

const (
	selectSetting = `select value from settings where name = $1`
	upsertSetting = `insert into settings (name, value) values ($1, $2)
		on conflict (name) do update set value = excluded.value`
	claimSetting = `insert into settings (name, value) values ($1, $2) on conflict (name)
		do update set value = case when settings.value = '' then excluded.value else settings.value end returning value`
)

// Get returns a setting, or "" if it is not set.
func Get(ctx context.Context, tx db.Tx, name string) (string, error) {
	var value string
	err := tx.QueryRow(ctx, selectSetting, name).Scan(&value)
	if errors.Is(err, db.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// Put stores a setting. Settings must not contain secrets.
func Put(ctx context.Context, tx db.Tx, name, value string) error {
	_, err := tx.Exec(ctx, upsertSetting, name, value)
	return err
}

// Claim stores a setting that is empty or missing, and returns its value afterwards. Concurrent
// calls all return the value of the first.
func Claim(ctx context.Context, tx db.Tx, name, value string) (string, error) {
	err := tx.QueryRow(ctx, claimSetting, name, value).Scan(&value)
	return value, err
}
