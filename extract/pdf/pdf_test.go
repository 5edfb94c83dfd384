package pdf

import "testing"

// TestHyphens checks whether a hyphen at the end of a line stays. It stays in a name and in 'Haus-
// und'. It is removed if it divided a word.
func TestHyphens(t *testing.T) {
	for _, c := range []struct{ text, next, want string }{
		{"Müller\ufffe", "Lüdenscheidt", "Müller-Lüdenscheidt"}, {"Haus\x02", "ratsversicherung", "Hausratsversicherung"},
		{"Haus\ufffe", "und Grundbesitz", "Haus- und Grundbesitz"}, {"Haus\ufffe", "unden", "Hausunden"},
		{"BGB\ufffe", "2", "BGB-2"}, {"Ende\ufffe", "", "Ende"},
	} {
		got, runes := "", []rune(c.text+c.next)
		for i, r := range runes {
			got += lineEnd(r, runes[i+1:])
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
