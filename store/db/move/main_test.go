package move_test

import (
	"context"
	"os"
	"testing"

	"kartei/store/db"
	"kartei/test/dbtest"
)

// childSource and childTarget are environment variables with the databases of halfCopy.
const (
	childSource = "KARTEI_MOVE_TEST_SOURCE"
	childTarget = "KARTEI_MOVE_TEST_TARGET"
)

func TestMain(m *testing.M) {
	if source := os.Getenv(childSource); source != "" {
		halfCopy(source, os.Getenv(childTarget))
		return
	}
	dbtest.Main(m)
}

var ctx = context.Background()

// table creates the table things.
func table(t testing.TB, d db.DB) {
	t.Helper()
	dbtest.Run(t, d, "create table things (n bigint not null primary key, name text, size bigint, note text)")
}
