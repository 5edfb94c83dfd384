// Package schema owns the tables of the database, their migrations, and their distribution over a cluster.
package schema

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite" // the SQLite driver for goose

	"kartei/store/db"
	"kartei/store/db/postgres"
	"kartei/store/db/sqlite"
)

//go:embed migrations
var embedded embed.FS

// State is the state of the migrations of a database.
type State struct {
	// Version is the number of the last applied migration, or 0 if there is none.
	Version int64
	// Latest is the number of the last migration in this binary.
	Latest int64
}

// Current reports whether the database has the schema of this binary.
func (s State) Current() bool { return s.Version == s.Latest }

// NewerError is the error for a database that a newer binary has migrated.
type NewerError struct{ State }

func (e *NewerError) Error() string {
	return fmt.Sprintf("db: the database is at version %d and this program knows versions up to %d: "+
		"start the newer program, or restore a backup that was made before it", e.Version, e.Latest)
}

// Migrate applies all missing migrations, each in its own transaction, so a failed migration
// changes nothing. Several PostgreSQL replicas may call Migrate at the same time. One of them
// migrates, and the others wait at most 5 minutes. Migrate returns an error if migrations are
// missing and the connection goes through a transaction pooler. It returns an *IncompleteError if the
// migrated database lacks a table or a column.
func Migrate(ctx context.Context, d db.DB) (State, error) {
	state, err := migrate(ctx, d, Migrations())
	if err != nil {
		return state, err
	}
	return state, Complete(ctx, d)
}

// Latest returns the number of the last migration in this binary.
func Latest() int64 { return latest(Migrations()) }

// Status returns the state of the migrations. The error is a *NewerError if a newer binary has
// migrated the database.
func Status(ctx context.Context, d db.DB) (State, error) {
	return status(ctx, d, Migrations())
}

// Migrations returns the embedded files NNNN_name.sql. They contain the text for both engines: see
// migrations/README.md.
func Migrations() fs.FS {
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		panic(err) // impossible, because the folder is embedded
	}
	return files
}

func migrate(ctx context.Context, d db.DB, files fs.FS) (State, error) {
	switch d := d.(type) {
	case *sqlite.DB:
		var state State
		err := d.Alone(ctx, func() (err error) {
			state, err = withProvider(ctx, d, files, up)
			return err
		})
		return state, err
	case *postgres.DB:
		act := up
		if d.Pooled() {
			act = stateOf
		}
		state, err := withProvider(ctx, d, files, act)
		if err != nil {
			return state, err
		}
		if state.Current() {
			return state, distributeNew(ctx, d)
		}
		err = fmt.Errorf("db: the database is at version %d of %d, and cannot be migrated through a transaction pooler: "+
			"migrate it with a URL that leads to the server itself", state.Version, state.Latest)
		return state, err
	}
	return State{}, fmt.Errorf("db: %T cannot be migrated", d)
}

func status(ctx context.Context, d db.DB, files fs.FS) (State, error) {
	return withProvider(ctx, d, files, stateOf)
}

// open opens the database through database/sql for goose. It also returns options with which
// replicas wait for the replica that migrates. Their lock belongs to a database session, so there
// are no options with a transaction pooler.
func open(d db.DB) (*sql.DB, []goose.ProviderOption, error) {
	switch d := d.(type) {
	case *sqlite.DB:
		driver, err := openFile(d.Path())
		return driver, nil, err
	case *postgres.DB:
		driver := stdlib.OpenDB(*d.Config())
		if d.Pooled() {
			return driver, nil, nil
		}
		// One attempt per second, for at most 5 minutes.
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
		if err != nil {
			return nil, nil, errors.Join(err, driver.Close())
		}
		return driver, []goose.ProviderOption{goose.WithSessionLocker(locker)}, nil
	}
	return nil, nil, fmt.Errorf("%T cannot be migrated", d)
}

// openFile opens a SQLite database. It uses the SQLite library of store/db/sqlite/driver. Another library
// would release the file locks of the other connections when it closes the file.
func openFile(path string) (*sql.DB, error) {
	query := url.Values{
		"_pragma": {"busy_timeout(5000)", "foreign_keys(1)", "synchronous(2)"},
		"_txlock": {"immediate"},
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	return sql.Open("sqlite", name.String())
}

// dialectOf maps the names of the engines to the dialects of goose.
var dialectOf = map[string]goose.Dialect{"sqlite": goose.DialectSQLite3, "postgres": goose.DialectPostgres}

// withProvider calls f with a goose provider for the migrations of the database's engine.
func withProvider(ctx context.Context, d db.DB, files fs.FS,
	f func(context.Context, *goose.Provider, fs.FS) (State, error)) (_ State, err error) {
	driver, options, err := open(d)
	if err != nil {
		return State{}, fmt.Errorf("db: %w", err)
	}
	defer func() { err = errors.Join(err, driver.Close()) }()
	engine := d.Dialect().Name
	files = ofEngine{files, engine}
	options = append(options, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	provider, err := goose.NewProvider(dialectOf[engine], driver, files, options...)
	if err != nil {
		return State{}, fmt.Errorf("db: migrations: %w", err)
	}
	return f(ctx, provider, files)
}

// ofEngine is a file system with the migrations for one engine. It removes the text for the other
// engine.
type ofEngine struct {
	fs.FS
	engine string
}

// engineOnly matches text for one engine, such as /*postgres: collate "C" */.
var engineOnly = regexp.MustCompile(`(?s)/\*(sqlite|postgres):(.*?)\*/`)

// Open opens a migration, or the folder of the migrations.
func (f ofEngine) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	text = engineOnly.ReplaceAllFunc(text, func(part []byte) []byte {
		if match := engineOnly.FindSubmatch(part); string(match[1]) == f.engine {
			return match[2]
		}
		return nil
	})
	return &migration{file, bytes.NewReader(text)}, nil
}

// migration is an open file with the text for one engine.
type migration struct {
	fs.File
	text *bytes.Reader
}

func (m *migration) Read(p []byte) (int, error) { return m.text.Read(p) }

// latest returns the highest number of the migrations.
func latest(files fs.FS) int64 {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(err) // impossible, because the pattern is a constant
	}
	var highest int64
	for _, name := range names {
		if version, err := goose.NumericComponent(name); err == nil {
			highest = max(highest, version)
		}
	}
	return highest
}

func up(ctx context.Context, provider *goose.Provider, files fs.FS) (State, error) {
	state, err := stateOf(ctx, provider, files)
	if err != nil || state.Current() {
		return state, err
	}
	if _, err := provider.Up(ctx); err != nil { // maps errors of PostgreSQL; goose opens a SQLite file with another driver
		return state, fmt.Errorf("db: migrate: %w", postgres.MapError(err))
	}
	return stateOf(ctx, provider, files)
}

func stateOf(ctx context.Context, provider *goose.Provider, files fs.FS) (State, error) {
	version, err := provider.GetDBVersion(ctx)
	if err != nil {
		return State{}, fmt.Errorf("db: migrations: %w", postgres.MapError(err))
	}
	state := State{Version: version, Latest: latest(files)}
	if state.Version > state.Latest {
		return state, &NewerError{state}
	}
	return state, nil
}
