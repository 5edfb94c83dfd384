package journey

import (
	"os"
	"testing"

	"kartei/extract"
	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// TestMain runs the tests. The test program also serves as the child process that extracts texts of
// documents.
func TestMain(m *testing.M) {
	extract.Child(os.Args)
	dbtest.Main(m, webtest.Stop)
}

// each runs a test on both engines. With go test -short, it uses only SQLite.
func each(t *testing.T, f func(t *testing.T, url string)) {
	t.Helper()
	if testing.Short() {
		t.Run("sqlite", func(t *testing.T) { f(t, dbtest.SQLiteURL(t)) })
		return
	}
	dbtest.EachURL(t, f)
}

// whole skips the test with go test -short. It is for tests that take long, such as a walk through
// all pages.
func whole(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: go test ./test/journey")
	}
}
