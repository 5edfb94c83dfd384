package record_test

import (
	"flag"
	"testing"

	"kartei/test/dbtest"
)

// TestMain lets TestModel make ten runs, unless the flag -rapid.checks is given.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		flag.Set("rapid.checks", "10")
	}
	dbtest.Main(m)
}
