package lookup

import (
	"strings"
	"testing"
	"unicode/utf8"

	"kartei/record/search"
)

// FuzzAround checks the part of a long text around its first mark. The part is valid and short,
// and its marks are marks of the text.
func FuzzAround(f *testing.F) {
	for _, s := range [][2]string{
		{
			"Heizung",
			strings.Repeat("Langer Vorspann. ", 20) + "Die Heizung wird angestellt. " + strings.Repeat("Und so weiter. ", 20),
		},
		{"ß", strings.Repeat("ß", 500)}, {"b", strings.Repeat("a", 300) + " b"}, {"a", "a"},
		{"渋谷", strings.Repeat("東京都渋谷区", 60)},
		{"x", "x\n" + strings.Repeat("y", 300) + " x"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, query, text string) {
		if len(query) > 200 || len(text) > 5000 || !utf8.ValidString(text) {
			return
		}
		marks := search.MarkerOf(search.Parse(query)).Text(text)
		part, in := around(text, marks)
		if len(marks) == 0 {
			if part != "" || in != nil {
				t.Fatalf("without a mark: %q %v", part, in)
			}
			return
		}
		if !utf8.ValidString(part) || len(in) == 0 || len(part) > before+after+(marks[0][1]-marks[0][0])+16 {
			t.Fatalf("%q %v", part, in)
		}
		for i, m := range in {
			if m[1] > len(part) || part[m[0]:m[1]] != text[marks[i][0]:marks[i][1]] {
				t.Fatalf("%q: mark %d is %v, and that of the text is %q", part, i, m, text[marks[i][0]:marks[i][1]])
			}
		}
	})
}
