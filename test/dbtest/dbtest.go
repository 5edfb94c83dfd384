// Package dbtest owns the databases of tests: a fresh, migrated one of each engine for every test that asks.
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

// Each runs f on a fresh SQLite database and on a fresh PostgreSQL one. If
// PostgreSQL is not installed, that half is skipped, or fails with CI=true.
// With KARTEI_TEST_REPLICAS, several replicas answer, so SQLite is left out:
// only one process may use its file. With KARTEI_TEST_DOOR, which changes the way of
// calls and not their statements, it is PostgreSQL that is left out; batches have it
// with replicas.
//
// Each database belongs to one test. So a test may call t.Parallel first if it
// uses nothing else that is shared. Shared are the environment and the working
// directory (t.Setenv and t.Chdir refuse parallel tests), and hooks and
// counters in variables of a package. The goroutines that leaktest counts are
// shared too, and so are the processors, for a test that measures time.
//
// The two halves run one after the other, so variables outside f need no lock.
// `make test` runs more packages at the same time than there are processors,
// because tests that are not parallel wait a lot.
func Each(t *testing.T, f func(t *testing.T, d db.DB)) {
	t.Helper()
	replicas := os.Getenv("KARTEI_TEST_REPLICAS") != ""
	if !replicas {
		t.Run("sqlite", func(t *testing.T) { f(t, SQLite(t)) })
	}
	switch os.Getenv("KARTEI_TEST_DOOR") { // another way in, and the same statements
	case "session", "mcp":
		return
	case "batch": // its calls run beside each other: the gate has them on replicas
		if !replicas {
			return
		}
	}
	t.Run("postgres", func(t *testing.T) { f(t, Postgres(t)) })
}

// EachURL is like Each, for tests that open the database themselves or in
// another process.
func EachURL(t *testing.T, f func(t *testing.T, url string)) {
	t.Helper()
	if os.Getenv("KARTEI_TEST_REPLICAS") == "" {
		t.Run("sqlite", func(t *testing.T) { f(t, SQLiteURL(t)) })
	}
	t.Run("postgres", func(t *testing.T) { f(t, PostgresURL(t)) })
}

// SQLite returns a fresh SQLite database that is closed with the test. It
// leaves out fsync; tests of durability open SQLiteURL themselves. With
// KARTEI_TEST_REPLICAS it skips the test, which would only say again what it says
// without.
func SQLite(t testing.TB) db.DB {
	t.Helper()
	if os.Getenv("KARTEI_TEST_REPLICAS") != "" {
		t.Skip("on SQLite there is one replica")
	}
	return Open(t, SQLiteURL(t), db.Options{NoSync: true})
}

// Postgres returns a fresh PostgreSQL database that is closed and dropped with the test.
func Postgres(t testing.TB) db.DB {
	t.Helper()
	return Open(t, PostgresURL(t), db.Options{Readers: 8, Writers: 8})
}

// Open opens a database for the duration of the test. Its log is discarded
// unless opts has a logger.
func Open(t testing.TB, url string, opts db.Options) db.DB {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Wait == 0 { // a busy machine must not fail a test
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

// urls holds the URL of each open database.
var urls sync.Map

// Again opens the same PostgreSQL database again, as another replica would. It
// returns nil for other databases.
func Again(t testing.TB, d db.DB) db.DB {
	t.Helper()
	url, known := urls.Load(d)
	if !known || d.Dialect().Name == "sqlite" {
		return nil
	}
	return Open(t, url.(string), db.Options{Readers: 4, Writers: 4})
}

// SQLiteURL returns the URL of a fresh, migrated SQLite database in a folder of
// the test. It is a copy of a file that each process migrates once.
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

// PostgresURL returns the URL of a fresh, migrated PostgreSQL database that is
// dropped with the test. It is a copy of a template that each process migrates
// once. If PostgreSQL is not installed, the test is skipped, or fails with
// CI=true.
func PostgresURL(t testing.TB) string {
	t.Helper()
	s := mustPostgres(t)
	return s.url(s.create(t, s.template))
}

// EmptyPostgresURL is like PostgresURL, for a database without tables.
func EmptyPostgresURL(t testing.TB) string {
	t.Helper()
	s := mustPostgres(t)
	return s.url(s.create(t, "template0"))
}

// mustPostgres returns the server of this process or ends the test.
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

// sqliteTemplate returns the bytes of a migrated database, which each process
// makes once.
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

// Main runs the tests of a package and stops its PostgreSQL afterwards.
// Packages that call Each have `func TestMain(m *testing.M) { dbtest.Main(m)
// }`. Without that, the server still ends with the process (on Linux), but its
// folder stays until the next run. after runs before the process ends. Main
// also checks that all sent statements work if the data is distributed over
// many servers: see Unspread.
//
// The test program also serves as the process that reads the text of a file:
// see extract.Child.
func Main(m *testing.M, after ...func()) {
	extract.Child(os.Args)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as a serving process does: see instance.TuneCollector
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
