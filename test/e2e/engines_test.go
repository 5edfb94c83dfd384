package e2e

import (
	"testing"

	"kartei/test/dbtest"
)

// engines returns the engines on which the whole binary is tested. With go test -short, this is
// only SQLite. The tests of the packages use both engines.
func engines() []string {
	if testing.Short() {
		return []string{"sqlite"}
	}
	return []string{"sqlite", "postgres"}
}

// newStore returns the URL of a new database, and the flags with which commands use it.
func newStore(t *testing.T, engine string) (database string, flags []string) {
	t.Helper()
	dir := t.TempDir()
	database = "sqlite:" + dir + "/kartei.db"
	if engine == "postgres" {
		database = dbtest.PostgresURL(t)
	}
	return database, []string{"--data-dir", dir, "--database-url", database}
}

// eachEngine runs a test on each engine, in parallel.
func eachEngine(t *testing.T, f func(t *testing.T, database string, store ...string)) {
	t.Helper()
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			database, store := newStore(t, engine)
			f(t, database, store...)
		})
	}
}
