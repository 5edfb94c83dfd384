package journey

import (
	"os"
	"testing"

	"kartei/extract"
	"kartei/test/dbtest"
)

// The test binary is also the child process that reads documents.
func TestMain(m *testing.M) {
	extract.Child(os.Args)
	dbtest.Main(m)
}

// pagesAreDone once skipped stories whose pages were being built. All stories run.
func pagesAreDone(t *testing.T) { t.Helper() }
