package record

import (
	"slices"
	"strings"
	"testing"

	"kartei/kit/clock"
)

// TestNameKey checks the order of names by their keys, and that equal names have the same key.
func TestNameKey(t *testing.T) {
	one := func(name string) string { return NameKey(&name) }
	ordered := []string{
		"0 Anfang", "§ 5", "Äpfel", "Afrika", "Anlage 2", "Anlage 02b", "Anlage 10", "Anlage 1234567890",
		"Anlage 1234567891", "Anlage A", "Anlagen", "Bär", "Bar",
	}
	if got := slices.SortedStableFunc(slices.Values(ordered),
		func(a, b string) int { return strings.Compare(one(a), one(b)) }); !slices.Equal(got, ordered) {
		t.Errorf("%q", got)
	}
	for _, same := range [][2]string{
		{"Müller", "MUELLER"},
		{"Groß-Meier", "gross  meier"},
		{"Émile", "emile"},
		{"Ångström", "angstroem"},
		{"a\u0308", "ae"},
		{"Anlage 007", "Anlage 7"},
	} {
		if one(same[0]) != one(same[1]) {
			t.Errorf("%q: %q, %q: %q", same[0], one(same[0]), same[1], one(same[1]))
		}
	}
	last, first, other := "Müller", "Zoe", "Müller-Thal"
	if a, b := NameKey(&last, &first), NameKey(&other, nil); a >= b {
		t.Errorf("%q is not before %q", a, b)
	}
	for _, long := range []string{strings.Repeat("ﷺ", 200), strings.Repeat("9", 200), strings.Repeat("ß1", 100), ""} {
		if key := one(long); len(key) > keyBytes {
			t.Errorf("%.20q has a key of %d bytes", long, len(key))
		}
	}
}

// TestTimeKey checks the order of times by their keys. It also checks that justBelow returns a
// text between a key and all smaller keys.
func TestTimeKey(t *testing.T) {
	times := []clock.Micros{-62_135_596_800_000_000, -1, 0, 1, 253_402_300_799_999_999}
	before := ""
	for _, at := range times {
		if key := TimeKey(&at); key <= before {
			t.Errorf("%d has the key %q, behind %q", at, key, before)
		} else {
			before = key
		}
	}
	if none := TimeKey(nil); none <= before {
		t.Errorf("no time has the key %q", none)
	}
	if low := justBelow("a\tcon_b"); low >= "a\tcon_b" || low <= "a\tcon_a" {
		t.Errorf("%q", low)
	}
}
