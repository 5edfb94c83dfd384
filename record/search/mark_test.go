package search

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// marked returns a text with brackets around its marks.
func marked(text string, marks []Span) string {
	var b strings.Builder
	end := 0
	for _, s := range marks {
		b.WriteString(text[end:s[0]] + "[" + text[s[0]:s[1]] + "]")
		end = s[1]
	}
	return b.String() + text[end:]
}

func TestMarks(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"Mueller", "Brigitte [Müller]"},
		{"Müller", "Brigitte [Mueller]"},
		{"mül", "Brigitte [Muel]ler"},
		{"muel", "Brigitte [Mül]ler"},
		{"gross", "[Groß]mann"},
		{"gros", "[Groß]mann"},
		{"anna berg", "[Anna] [Berg]mann"},
		{"anna berg", "[Anna] [Berg]mann-Vogt, [Berg]"},
		{"francois", "[François]"},
		{"soren", "Dr. [Søren] Ost"},
		{"0221 98", "[+49 221 98]76543"},
		{"0221/98", "Tel. [0221-98]7 65"},
		{"+49221", "[0049 (0)221]/9876543"},
		{"0221", "[0221]/9876543"},
		{"brigitte.m", "[brigitte].[m]ueller@example.net"},
		{"brigitte.mueller@ex", "[brigitte.müller@ex]ample.net"},
		{"BRIGITTE.MUELLER@EXAMPLE.NET", "<[brigitte.mueller@example.net]>"},
		{"007", "Akte [00007]"},
		{"渋谷", "東京都[渋谷]区"},
		{"ﬁscher", "[Fischer]"},
		{"fi", "[ﬁ]scher"},
		{"xyz", "Anna Berg"},
		{"karlheinz", "[Karl-Heinz] Berg"}, {"karlhe", "[Karl-He]inz"}, {"obrien", "[O’Brien]"}, {"obri", "[O'Bri]en"},
		{"joellen", "[Jo-Ellen]"},
		{"muellerluedenscheidt", "[Müller-Lüdenscheidt]"}, {"민수", "김[민수]"}, {"schröder", "[Schr\u00adöder]"},
		{"", "Anna Berg"},
	} {
		text := strings.NewReplacer("[", "", "]", "").Replace(c.want)
		if got := marked(text, MarkerOf(Parse(c.query)).Text(text)); got != c.want {
			t.Errorf("%q marks %q, want %q", c.query, got, c.want)
		}
	}
}

func TestMarksOfTelephoneNumbers(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"0221 98", "[+49 221 98]76543"},
		{"0221 98", "Zentrale [221 98]765"},
		{"221 98", "[+49 221 98]76543"},
		{"492219876543", "[0221 9876543]"},
		{"+49 (0)221 987", "[0221/987]6543"},
		{"0221 99", "+49 221 9876543"},
		{"zentrale", "[Zentrale] 0221 9876543"},
		{"778899", "0221 [778899]"}, {"77 88 99", "+49 (0)221/[77 88-99]"}, {"778899", "0221 55[778899]"},
		{"99999", "0221 123456 oder 0171 99[99999]"},
	} {
		text := strings.NewReplacer("[", "", "]", "").Replace(c.want)
		if got := marked(text, MarkerOf(Readings(c.query)...).Phone(text)); got != c.want {
			t.Errorf("%q marks %q, want %q", c.query, got, c.want)
		}
	}
}

func TestReadings(t *testing.T) {
	for q, want := range map[string][]string{
		"0221 98":       {"22198"},
		"221 98":        {"221 98", "22198", "#89122"},
		"492219876543":  {"492219876543", "2219876543", "#345678912294"},
		" 492219876543": {"492219876543", "2219876543", "#345678912294"},
		"+492219876543": {"2219876543"},
		"52066":         {"52066", "#66025"},
		"4711":          {"4711"},
		"23.11.2026":    {"23 11 2026"},
		"2026":          {"2026"},
		"Anna 98 76":    {"anna 98 76"},
		"":              {""},
	} {
		var got []string
		for _, r := range Readings(q) {
			var words []string
			for _, w := range r.words {
				words = append(words, w.text)
			}
			got = append(got, strings.Join(words, " "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("Readings(%q) = %q, want %q", q, got, want)
		}
	}
}

func TestIsNumberOf(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"+49 221 9876543", "0221/9876543", true},
		{"0049 (0)221 98 76 543", "0221-9876543", true},
		{"492219876543", "0221/9876543", true},
		{"+43 221 9876543", "+49 221 9876543", false},
		{"0043 221 9876543", "+49 221 9876543", false},
		{"+43 221 9876543", "0221 9876543", true},
		{"0221 9876543", "+43 221 9876543", true},
		{"221 98 76 543", "0221/9876543", true},
		{"0221 9876543", "0221 987654", false},
		{"0221 987654", "0221 9876543", false},
		{"0221 9876543 Anna", "0221 9876543", false},
		{"", "", false},
		{"Durchwahl 12", "12", false},
	} {
		if IsNumberOf(c.a, Readings(c.a), c.b) != c.same {
			t.Errorf("%q is the number %q: not %t", c.a, c.b, c.same)
		}
	}
}

// FuzzMarks checks that a text has marks exactly if the index finds it. It also checks that marks
// begin and end between characters, and that foldWithOrigin folds like fold.
func FuzzMarks(f *testing.F) {
	for _, s := range [][2]string{
		{"Mueller", "Brigitte Müller"}, {"0221 98", "+49 221 9876543"}, {"a@b.example", "<A@B.example>"},
		{"渋谷", "東京都渋谷区"}, {"0", "00 0"}, {"obrien", "O’Brien"}, {"joellen", "Jo-Ellen"}, {"민수", "김민수"},
		{"77889", "0221 77889"}, {"e", "äe\u0301"}, {"+4", "+49"}, {"x", "\xff"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, query, text string) {
		if len(query) > 300 || len(text) > 3000 {
			return
		}
		if utf8.ValidString(text) {
			if got, want := foldWithOrigin(text).text, fold(text); got != want {
				t.Fatalf("%q folds to %q with origins, and to %q", text, got, want)
			}
		}
		for _, phone := range []bool{false, true} {
			d := new(Document)
			if phone {
				d.AddPhone(Name, text)
			} else {
				d.Add(Name, text)
			}
			for _, q := range Readings(query) {
				for _, w := range q.words {
					one := Query{[]term{w}}
					m := MarkerOf(one)
					marks := m.marks(text, phone)
					if found := one.Holds(d); utf8.ValidString(text) && found != (len(marks) > 0) {
						t.Fatalf("%q in %q (telephone number: %t): found %t, marks %v", w.text, text, phone, found, marks)
					}
					end := -1
					for _, s := range marks {
						if s[0] <= end || s[1] <= s[0] || s[1] > len(text) || !utf8.RuneStart(text[s[0]]) ||
							s[1] < len(text) && !utf8.RuneStart(text[s[1]]) {
							t.Fatalf("%q in %q: marks %v", w.text, text, marks)
						}
						end = s[1]
					}
				}
			}
		}
	})
}
