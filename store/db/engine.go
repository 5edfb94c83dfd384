package db

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// File is a DB on SQLite as the packages schema and move see it. Every SQLite
// database of Open is one.
type File interface {
	DB
	// Path returns the path of the database file, without symbolic links.
	Path() string
	// Alone runs f while no Write runs, and returns its error. f changes the
	// file through connections of its own. It must not call Write, which would
	// wait for f. Alone returns ErrClosed after Close.
	Alone(ctx context.Context, f func() error) error
	// CopyTo writes the present state to an empty or new file at path, while
	// reads and writes go on. The copy is compact, and has no log beside it. It
	// is neither checked nor synced yet. Without room the error is an
	// ErrRefused, and a part of the copy may remain.
	CopyTo(path string) error
}

// Server is a DB on PostgreSQL as the packages schema and move see it. Every
// PostgreSQL database of Open is one.
type Server interface {
	DB
	// Config returns a configuration for connections outside the pools, which
	// the caller may change. Its ConnString is the URL of Open, completed (see
	// readPostgres). It has none of the timeouts of calls: 10 seconds a
	// statement are too short for a migration. Such connections return pgx's
	// errors: see MapError.
	Config() *pgx.ConnConfig
	// Pooled reports whether the connections lead through a transaction pooler.
	// They have no sessions then, and so no locks that outlast a transaction.
	Pooled() bool
}

// Config returns a copy, because pgx takes parts of it for itself.
func (d *pgDB) Config() *pgx.ConnConfig { return d.config.Copy() }

// Pooled is true if the URL says so.
func (d *pgDB) Pooled() bool { return d.pooled }
