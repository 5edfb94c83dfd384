// Package seed owns the random numbers of tests: a new seed for each run, and an old one from KARTEI_TEST_SEED.
package seed

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Variable is the environment variable that sets the seed of every test.
const Variable = "KARTEI_TEST_SEED"

// Of returns the seed of a test. If the test fails, its log says how to repeat it with this seed.
func Of(t testing.TB) uint64 {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv(Variable); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s is %q: it must be a number that a failed test has shown", Variable, text)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("run again with %s=%d", Variable, n)
		}
	})
	return n
}

// Rand returns a source of random numbers for one goroutine of a test.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Of(t), 0))
}

// Check calls rapid.Check with a seed of this package. The seed is a flag of the process, so tests
// that call Check must not be parallel.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	if f := flag.Lookup("rapid.seed"); f.Value.String() == f.DefValue {
		if err := f.Value.Set(strconv.FormatUint(Of(t), 10)); err != nil {
			t.Fatal(err)
		}
		defer f.Value.Set(f.DefValue)
	}
	rapid.Check(t, property)
}
