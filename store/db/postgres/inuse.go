package postgres

import (
	"context"
	"fmt"

	"kartei/store/db"
)

// AloneName is the application_name of commands that need exclusive use of the database, to copy or
// to distribute it.
const AloneName = "kartei-alone"

// InUseBy returns an error if a PostgreSQL database has connections of a Kartei server. Connections
// with the name AloneName do not count.
func InUseBy(ctx context.Context, d db.DB) error {
	if d.Dialect() != db.PostgreSQL {
		return nil // the process has locked an SQLite database
	}
	return d.Read(ctx, func(tx db.Tx) error {
		var n int
		err := tx.QueryRow(ctx, `select count(*) from pg_stat_activity where datname = current_database() and application_name = 'kartei'`).Scan(&n)
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("the PostgreSQL database is in use by a Kartei server (%d connections): stop it first", n)
		}
		return nil
	})
}
