package seed_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

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

func TestCheckDrawsTheSame(t *testing.T) {
	draw := func(seeded string) (drawn []uint64) {
		t.Setenv(seed.Variable, seeded)
		seed.Check(t, func(t *rapid.T) { drawn = append(drawn, rapid.Uint64().Draw(t, "number")) })
		return drawn
	}
	one, again, other := draw("1"), draw("1"), draw("2")
	if !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Errorf("seed 1 draws %v, then %v; seed 2 draws %v", one, again, other)
	}
}

func TestSeedsDiffer(t *testing.T) {
	t.Setenv(seed.Variable, "")
	if a, b := seed.Of(t), seed.Of(t); a == b {
		t.Errorf("both seeds are %d", a)
	}
}
