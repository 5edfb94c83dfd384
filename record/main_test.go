package record_test

import (
	"flag"
	"testing"

	"kartei/test/dbtest"
)

// TestMain runs ten lives of an office in TestModel; -rapid.checks says otherwise.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		flag.Set("rapid.checks", "10")
	}
	dbtest.Main(m)
}
