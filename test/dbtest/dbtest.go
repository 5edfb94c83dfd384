// Package dbtest owns the databases of tests: a new one with the current schema for each test, on both engines.
package dbtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"kartei/extract"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/schema"
)

// Each runs f on a new SQLite database and then on a new PostgreSQL database. If PostgreSQL is not
// installed, Each skips the second run, or fails it if CI is true.
//
// If KARTEI_TEST_REPLICAS is set, only PostgreSQL is used, because only one process may use a file
// of SQLite. If KARTEI_TEST_DOOR is set, only SQLite is used, because the calls come another way
// but send the same statements. With batch and replicas, it is PostgreSQL again.
//
// Each database belongs to one test. So a test may call t.Parallel if it uses nothing else that
// tests share. Tests share the environment, the working directory, and variables of the package.
// They also share the goroutines that leaktest counts, and the processors that a measured time
// depends on.
//
// The two runs follow each other, so variables outside f need no lock. `make test` runs more
// packages at the same time than there are processors, because tests that are not parallel often
// wait.
func Each(t *testing.T, f func(t *testing.T, d db.DB)) {
	t.Helper()
	replicas := os.Getenv("KARTEI_TEST_REPLICAS") != ""
	if !replicas {
		t.Run("sqlite", func(t *testing.T) { f(t, SQLite(t)) })
	}
	switch os.Getenv("KARTEI_TEST_DOOR") { // the statements are the same
	case "session", "mcp":
		return
	case "batch": // The calls of a batch run concurrently. The gate tests them with replicas.
		if !replicas {
			return
		}
	}
	t.Run("postgres", func(t *testing.T) { f(t, Postgres(t)) })
}

// EachURL runs f with the URLs of the databases of Each. It is for tests that open a database
// themselves or in another process.
func EachURL(t *testing.T, f func(t *testing.T, url string)) {
	t.Helper()
	if os.Getenv("KARTEI_TEST_REPLICAS") == "" {
		t.Run("sqlite", func(t *testing.T) { f(t, SQLiteURL(t)) })
	}
	t.Run("postgres", func(t *testing.T) { f(t, PostgresURL(t)) })
}

// SQLite returns a new SQLite database, which is closed when the test ends. It does not call fsync.
// Tests of durability open SQLiteURL themselves. If KARTEI_TEST_REPLICAS is set, SQLite skips the
// test, because replicas change nothing on SQLite.
func SQLite(t testing.TB) db.DB {
	t.Helper()
	if os.Getenv("KARTEI_TEST_REPLICAS") != "" {
		t.Skip("on SQLite there is one replica")
	}
	return Open(t, SQLiteURL(t), db.Options{NoSync: true})
}

// Postgres returns a new PostgreSQL database, which is closed and dropped when the test ends.
func Postgres(t testing.TB) db.DB {
	t.Helper()
	return Open(t, PostgresURL(t), db.Options{Readers: 8, Writers: 8})
}

// Open opens a database and closes it when the test ends. Its log is discarded unless opts has a
// logger.
func Open(t testing.TB, url string, opts db.Options) db.DB {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Wait == 0 { // A busy machine must not fail a test.
		opts.Wait = time.Minute
	}
	if opts.Stated == nil {
		opts.Stated = said.note
	}
	d, err := open.Database(context.Background(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	urls.Store(d, url)
	t.Cleanup(func() {
		urls.Delete(d)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// urls maps each open db.DB to its URL.
var urls sync.Map

// Again opens the PostgreSQL database of d a second time, as another replica would. It returns nil
// for SQLite, and for a database that Open did not open.
func Again(t testing.TB, d db.DB) db.DB {
	t.Helper()
	url, known := urls.Load(d)
	if !known || d.Dialect().Name == "sqlite" {
		return nil
	}
	return Open(t, url.(string), db.Options{Readers: 4, Writers: 4})
}

// SQLiteURL returns the URL of a new SQLite database with the current schema, in a folder of the
// test. The file is a copy of a template, which each process makes once.
func SQLiteURL(t testing.TB) string {
	t.Helper()
	template, err := sqliteTemplate()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kartei.db")
	if err := os.WriteFile(path, template, 0o600); err != nil {
		t.Fatal(err)
	}
	return "sqlite:" + path
}

// PostgresURL returns the URL of a new PostgreSQL database with the current schema, which is
// dropped when the test ends. The database is a copy of a template, which each process makes once.
// If PostgreSQL is not installed, PostgresURL skips the test, or fails it if CI is true.
func PostgresURL(t testing.TB) string {
	t.Helper()
	s := mustPostgres(t)
	return s.url(s.create(t, s.template))
}

// EmptyPostgresURL returns the URL of a new PostgreSQL database without tables, which is dropped
// when the test ends.
func EmptyPostgresURL(t testing.TB) string {
	t.Helper()
	s := mustPostgres(t)
	return s.url(s.create(t, "template0"))
}

// mustPostgres returns the server of this process. If there is none, it skips or fails the test.
func mustPostgres(t testing.TB) *server {
	t.Helper()
	s, err := postgres()
	var missing *missingError
	if errors.As(err, &missing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sqliteTemplate returns the bytes of a SQLite database with the current schema. Each process makes
// it once.
var sqliteTemplate = sync.OnceValues(func() (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "kartei-sqlite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "template.db")
	ctx := context.Background()
	d, err := open.Database(ctx, "sqlite:"+path, db.Options{NoSync: true, Readers: 1})
	if err != nil {
		return nil, err
	}
	_, err = schema.Migrate(ctx, d)
	if err = errors.Join(err, d.Close()); err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	return os.ReadFile(path)
})

// Main runs the tests of a package and stops the PostgreSQL server afterwards. Each package that
// uses dbtest needs this function:
//
//	func TestMain(m *testing.M) { dbtest.Main(m) }
//
// Without Main, the server on Linux still ends with the process, but its folder stays until the
// next run. Main calls each function of after before the process ends. It also fails if a statement
// that was sent cannot run on distributed data: see Unspread.
//
// If the arguments are those for extract.Child, the test program extracts the text of a file
// instead.
func Main(m *testing.M, after ...func()) {
	extract.Child(os.Args)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // A server process has the same value: see instance.TuneCollector.
	}
	code := m.Run()
	stopPostgres()
	for _, f := range after {
		f()
	}
	for _, complaint := range said.complaints() {
		fmt.Fprintln(os.Stderr, complaint)
		code = max(code, 1)
	}
	os.Exit(code)
}
