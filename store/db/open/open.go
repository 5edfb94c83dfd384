// Package open owns the choice of the engine: the URL of a database names it.
package open

import (
	"context"
	"fmt"
	"strings"

	"kartei/store/db"
	"kartei/store/db/postgres"
	"kartei/store/db/sqlite"
)

// Database opens the database with the URL: sqlite:PATH or postgres://... . It does not migrate the
// schema: see schema.Migrate.
//
// An SQLite database belongs to one process. If another process has it open, the error is a
// *sqlite.InUse.
func Database(ctx context.Context, url string, opts db.Options) (db.DB, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		if rest == "" {
			return nil, fmt.Errorf("db: sqlite: needs a path")
		}
		d, err := sqlite.Open(ctx, rest, opts)
		if err != nil {
			return nil, err
		}
		return d, nil
	case "postgres", "postgresql":
		d, err := postgres.Open(ctx, url, opts)
		if err != nil {
			return nil, err
		}
		return d, nil
	}
	// The error does not repeat the URL, because that may contain a password.
	return nil, fmt.Errorf("db: the database must be sqlite:PATH or postgres://..., not %.12q", scheme+":")
}
