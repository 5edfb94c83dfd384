package e2e

import (
	"testing"

	"kartei/test/dbtest"
)

// engines are those on which the whole program is tried. A short run (go test -short)
// takes SQLite and two replicas on PostgreSQL: the packages have tests on both.
func engines() []string {
	if testing.Short() {
		return []string{"sqlite"}
	}
	return []string{"sqlite", "postgres"}
}

// newStore returns the address of a new database, and the flags of a command for it.
func newStore(t *testing.T, engine string) (database string, flags []string) {
	t.Helper()
	dir := t.TempDir()
	database = "sqlite:" + dir + "/kartei.db"
	if engine == "postgres" {
		database = dbtest.PostgresURL(t)
	}
	return database, []string{"--data-dir", dir, "--database-url", database}
}

// eachEngine runs a test on each engine, one beside the other.
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
