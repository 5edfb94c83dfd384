package seed_test

import (
	"testing"

	"kartei/test/seed"
)

func TestSeedFromTheEnvironment(t *testing.T) {
	t.Setenv(seed.Variable, "18446744073709551615")
	if n := seed.Of(t); n != 1<<64-1 {
		t.Errorf("the seed is %d", n)
	}
	if a, b := seed.Rand(t).Uint64(), seed.Rand(t).Uint64(); a != b {
		t.Errorf("one seed gave %d and %d", a, b)
	}
}

func TestSeedsDiffer(t *testing.T) {
	t.Setenv(seed.Variable, "")
	if a, b := seed.Of(t), seed.Of(t); a == b {
		t.Errorf("both seeds are %d", a)
	}
}
