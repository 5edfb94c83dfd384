package duplicate_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kartei/record/duplicate"
	"kartei/record/search"
	"kartei/test/seed"
)

// TestSpellings checks that each name of a group finds all others of it.
func TestSpellings(t *testing.T) {
	for _, group := range []string{
		"Maier Mayer Meier Meyer Mair Mayr Meir Majer",
		"Schmidt Schmitt Schmid Schmied Schmit",
		"Hoffmann Hofmann Hoffman Hofman",
		"Müller Mueller Müler",
		"Kaiser Kayser Keiser Keyser",
		"Christof Christoph", "Kristof Kristoph",
		"Becker Beker Bekker", "Schulze Schultze", "Weiß Weiss Weis Waiss", "Voss Foss", "Kohl Kool Kol Cohl",
		"Seitz Seiz Saitz", "Jansen Janssen", "Mathias Matthias", "Sachs Sax Saks", "Fuchs Fux",
	} {
		names := strings.Fields(search.Fold(group))
		for _, a := range names {
			for _, b := range names {
				if got := duplicate.Spellings(a); got[0] != a || !slices.Contains(got, b) {
					t.Errorf("spellings of %s: %v, without %s", a, got, b)
				}
			}
		}
	}
	for _, other := range [][2]string{
		{"Berg", "Burg"}, {"Maier", "Maurer"}, {"Kohl", "Kuhl"}, {"Jan", "Jana"}, {"Fischer", "Vischler"},
	} {
		if got := duplicate.Spellings(search.Fold(other[0])); slices.Contains(got, search.Fold(other[1])) {
			t.Errorf("spellings of %s: %v", other[0], got)
		}
	}
}

// TestSpellingsOfAnyWord checks that a word is its own first spelling, that no spelling occurs twice, and that
// their number is bounded.
func TestSpellingsOfAnyWord(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		word := search.Fold(rapid.OneOf(
			rapid.StringMatching(`[a-z]{1,64}`),
			rapid.StringMatching(`(ei|ey|tz|ck|ph|er|dt|ss|k|f|i|a|h|l){1,20}`),
			rapid.String(),
		).Draw(t, "word"))
		got := duplicate.Spellings(word)
		if got[0] != word || len(got) > 16 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
			t.Fatalf("%q: %q", word, got)
		}
	})
}

func TestSignificant(t *testing.T) {
	for _, row := range []struct{ name, want string }{
		{"Frau Dr. Anna von Berg", "anna berg"},
		{"Müller & Söhne Gesellschaft mit beschränkter Haftung & Co. KG", "muller sohne"},
		{"GmbH", "gmbh"},
		{"Dr.", "dr"},
		{"Anna Le", "anna le"},
		{"C&A", "c a"},
		{"E.ON SE", "e on"},
		{"Anna M. Maier", "anna maier"},
		{"0221 / 4711-800", "2214711800"},
		{"01067 Dresden", "1067 dresden"},
		{"./.", ""},
	} {
		if got := strings.Join(duplicate.Significant(row.name), " "); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}
