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

// pagesAreDone skips a story unless KARTEI_JOURNEYS is set: pages that are still
// being built do not pass all stories yet. The last page takes this away.
func pagesAreDone(t *testing.T) {
	t.Helper()
	if os.Getenv("KARTEI_JOURNEYS") == "" {
		t.Skip("KARTEI_JOURNEYS is not set")
	}
}
