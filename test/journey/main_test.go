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
