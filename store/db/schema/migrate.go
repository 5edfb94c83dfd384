package db

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

	"kartei/store/db/sqlite"
)

//go:embed migrations
var embedded embed.FS

// Schema is the state of a database's migrations.
type Schema struct {
	// Version is the number of the last applied migration, 0 if there is none.
	Version int64
	// Latest is the number of the last migration in this binary.
	Latest int64
}

// Current reports whether the database has the schema of this binary.
func (s Schema) Current() bool { return s.Version == s.Latest }

// NewerError means that a newer binary has migrated the database.
type NewerError struct{ Schema }

func (e *NewerError) Error() string {
	return fmt.Sprintf("db: the database is at version %d and this program knows versions up to %d: "+
		"start the newer program, or restore a backup that was made before it", e.Version, e.Latest)
}

// Migrate applies all missing migrations. Each runs in a transaction, so a
// failed one leaves no trace. Several PostgreSQL replicas may call Migrate at
// the same time: one migrates, and the others wait at most 5 minutes. Missing
// migrations cannot be applied through a transaction pooler.
func Migrate(ctx context.Context, d DB) (Schema, error) {
	return migrate(ctx, d, Migrations())
}

// Status returns the state of the migrations. The error is a *NewerError if a
// newer binary has migrated the database.
func Status(ctx context.Context, d DB) (Schema, error) {
	return status(ctx, d, Migrations())
}

// Migrations returns the embedded files NNNN_name.sql, with the text for both
// engines: see migrations/README.md.
func Migrations() fs.FS {
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		panic(err) // the name of the folder is a constant
	}
	return files
}

func migrate(ctx context.Context, d DB, files fs.FS) (Schema, error) {
	switch d := d.(type) {
	case *liteDB:
		var schema Schema
		err := d.alone(ctx, func() (err error) {
			schema, err = withProvider(ctx, d.driver, goose.DialectSQLite3, false, ofEngine{files, "sqlite"}, up)
			return err
		})
		return schema, err
	case *pgDB:
		act := up
		if d.pooled {
			act = schemaOf
		}
		schema, err := withProvider(ctx, d.driver, goose.DialectPostgres, !d.pooled, ofEngine{files, "postgres"}, act)
		if err == nil && schema.Current() {
			return schema, d.distributeNew(ctx)
		}
		if err == nil {
			err = fmt.Errorf("db: the database is at version %d of %d, and cannot be migrated through a transaction pooler: "+
				"migrate it with a URL that leads to the server itself", schema.Version, schema.Latest)
		}
		return schema, err
	}
	return Schema{}, fmt.Errorf("db: %T cannot be migrated", d)
}

func status(ctx context.Context, d DB, files fs.FS) (Schema, error) {
	switch d := d.(type) {
	case *liteDB:
		return withProvider(ctx, d.driver, goose.DialectSQLite3, false, ofEngine{files, "sqlite"}, schemaOf)
	case *pgDB:
		return withProvider(ctx, d.driver, goose.DialectPostgres, !d.pooled, ofEngine{files, "postgres"}, schemaOf)
	}
	return Schema{}, fmt.Errorf("db: %T cannot be migrated", d)
}

// alone runs f while no write runs.
func (d *liteDB) alone(ctx context.Context, f func() error) error {
	if !d.gate.enter() {
		return ErrClosed
	}
	defer d.gate.leave()
	return d.write.doAlone(ctx, func(*sqlite.Conn) error {
		d.write.noteChange()
		return f()
	})
}

// driver opens the database through database/sql for goose. It uses the same
// SQLite library as the connections of this package, so closing it drops none
// of their locks.
func (d *liteDB) driver() (*sql.DB, error) {
	query := url.Values{
		"_pragma": {"busy_timeout(5000)", "foreign_keys(1)", "synchronous(2)"},
		"_txlock": {"immediate"},
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(d.path), RawQuery: query.Encode()}
	return sql.Open("sqlite", name.String())
}

// driver opens the database through database/sql for goose, without the
// timeouts, which a long migration would exceed.
func (d *pgDB) driver() (*sql.DB, error) { return stdlib.OpenDB(*d.config.Copy()), nil }

// withProvider calls f with the migrations of an engine. With locked, other
// replicas wait. The lock belongs to a session, which a transaction pooler does
// not provide.
func withProvider(ctx context.Context, open func() (*sql.DB, error), dialect goose.Dialect, locked bool, files fs.FS,
	f func(context.Context, *goose.Provider, fs.FS) (Schema, error)) (_ Schema, err error) {
	driver, err := open()
	if err != nil {
		return Schema{}, fmt.Errorf("db: %w", err)
	}
	defer func() { err = errors.Join(err, driver.Close()) }()
	options := []goose.ProviderOption{
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()),
	}
	if locked {
		// One try a second, at most 5 minutes.
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
		if err != nil {
			return Schema{}, fmt.Errorf("db: %w", err)
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(dialect, driver, files, options...)
	if err != nil {
		return Schema{}, fmt.Errorf("db: migrations: %w", err)
	}
	return f(ctx, provider, files)
}

// ofEngine holds the migrations of one engine: without the text that is only
// for the other one.
type ofEngine struct {
	fs.FS
	engine string
}

// engineOnly matches text for one engine: /*postgres: collate "C" */.
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

// migration is an open file with the text of one engine.
type migration struct {
	fs.File
	text *bytes.Reader
}

func (m *migration) Read(p []byte) (int, error) { return m.text.Read(p) }

// latest returns the highest number of the migrations.
func latest(files fs.FS) int64 {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	var highest int64
	for _, name := range names {
		if version, err := goose.NumericComponent(name); err == nil {
			highest = max(highest, version)
		}
	}
	return highest
}

func up(ctx context.Context, provider *goose.Provider, files fs.FS) (Schema, error) {
	schema, err := schemaOf(ctx, provider, files)
	if err != nil || schema.Current() {
		return schema, err
	}
	if _, err := provider.Up(ctx); err != nil {
		return schema, fmt.Errorf("db: migrate: %w", mapError(err))
	}
	return schemaOf(ctx, provider, files)
}

func schemaOf(ctx context.Context, provider *goose.Provider, files fs.FS) (Schema, error) {
	version, err := provider.GetDBVersion(ctx)
	if err != nil {
		return Schema{}, fmt.Errorf("db: migrations: %w", mapError(err))
	}
	schema := Schema{Version: version, Latest: latest(files)}
	if schema.Version > schema.Latest {
		return schema, &NewerError{schema}
	}
	return schema, nil
}
