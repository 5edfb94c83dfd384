package db

import (
	"context"
	"fmt"
)

// InUse is the error of Open if another process has the SQLite database open.
type InUse struct {
	// Path is the database file.
	Path string
	// Holder describes that process: id, command, start. It is empty while the
	// process is starting.
	Holder string
}

func (e *InUse) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another process"
	}
	return fmt.Sprintf("%s is in use by %s; an SQLite database serves one process at a time, so stop that one first",
		e.Path, holder)
}

// AloneName is the application_name of commands that need exclusive use of the
// database: to copy or to distribute it.
const AloneName = "kartei-alone"

// InUseBy fails if a PostgreSQL database has other connections of Kartei, since
// a server may be running on it. Connections named AloneName do not count.
func InUseBy(ctx context.Context, d DB) error {
	if d.Dialect() != postgresDialect {
		return nil // an open SQLite database is locked by its process
	}
	return d.Read(ctx, func(tx Tx) error {
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
