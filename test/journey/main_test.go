package journey

import (
	"os"
	"testing"

	"kartei/extract"
	"kartei/test/dbtest"
	"kartei/test/webtest"
)

// The test binary is also the child process that reads documents.
func TestMain(m *testing.M) {
	extract.Child(os.Args)
	dbtest.Main(m, webtest.Stop)
}

// each runs a story on both engines. A short run (go test -short) takes SQLite alone.
func each(t *testing.T, f func(t *testing.T, url string)) {
	t.Helper()
	if testing.Short() {
		t.Run("sqlite", func(t *testing.T) { f(t, dbtest.SQLiteURL(t)) })
		return
	}
	dbtest.EachURL(t, f)
}

// whole skips what takes long in a short run: a walk through all pages, or the move of a
// whole office.
func whole(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: go test ./test/journey")
	}
}
