package search

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// contact returns the words of the contact in these tests.
func contact() *Document {
	var d Document
	d.Add(Name, "Jörg Müller-Lüdenscheidt")
	d.AddEmail(Detail, "joerg.mueller@kanzlei-morgenstern.de")
	d.AddPhone(Detail, "+49 (0)30 1234567")
	d.Add(Detail, "Rechtsanwältin für Straßenrecht")
	d.Add(Detail, "10115 Berlin")
	d.Add(Note, "Mandantin seit 31.12.2019, Az. 012/345/67890, bitte an eva@beispiel.de schreiben; 田中さん empfohlen")
	return &d
}

// finds reports whether q finds a record with the words of d.
func finds(q string, d *Document) (key, bool) {
	query := Parse(q)
	if query.Empty() {
		return key{}, false
	}
	return query.rate(join(d.postings()), 0)
}

func wantFound(t *testing.T, q, text string, d *Document) {
	t.Helper()
	if _, found := finds(q, d); !found {
		t.Errorf("%q (%v) does not find %q: %s", q, Parse(q), text, d.String())
	}
}

func TestFinds(t *testing.T) {
	d := contact()
	for _, q := range []string{
		"müller", "mueller", "muller", "MÜLLER", "Jörg Müller", "müller jörg", "Joerg Mueller", "jorg mull",
		"Müller-Lüdenscheidt", "lued", "Lüdenscheidt Müller", "müller ", " müller", "müller, jörg",
		"joerg.mueller@kanzlei-morgenstern.de", "jörg.müller@kanzlei-morgenstern.de",
		"<joerg.mueller@kanzlei-morgenstern.de>",
		"joerg.mueller@", "joerg.mueller@kanz", "@kanzlei-morgenstern.de", "kanzlei-morgenstern.de", "kanzlei",
		"morgenstern.de",
		"JOERG.MUELLER@KANZLEI-MORGENSTERN.DE müller", "joerg.mueller",
		"+49 müller", "30", "+49 30 1234567", "+49301234567", "0049 30 1234567", "0049301234567", "030 1234567",
		"030/1234567", "(030) 1234567",
		"030-123 45 67", "0301234567", "+49 (0)30 1234567", "030 12", "+49 3", "030", "03", "301234567", "+493",
		"030 123 Müller", "Müller 030 1234567", "030.1234567", "030.123.45.67", "+49.30.1234567", "0049.30.123 45 67",
		"+49 (0)30.1234567",
		"rechtsanwaeltin", "Rechtsanwältin Berlin", "strassenrecht", "straßen",
		"10115", "101", "10115 berlin", "berlin 10115",
		"31.12.2019", "2019", "012/345/67890", "012/345", "67890", "eva@beispiel.de", "eva", "beispiel",
		"田中", "田", "中", "さん", "中さ", "田中さん", "田 müller",
		"jörg jörg", "müller mül",
	} {
		if _, found := finds(q, d); !found {
			t.Errorf("%q (%v) does not find the contact", q, Parse(q))
		}
	}
	for _, q := range []string{
		"", " ", "***", "-", "@", "+49", "üller", "jörg meier", "jör müller", "mull jorg",
		"mueller.joerg@kanzlei-morgenstern.de", "jo.mueller@kanzlei-morgenstern.de", "joerg.mueller@kanzlei.de",
		"mueller@kanzlei-morgenstern.de", "030 7654321", "+49 40 1234567", "234567", "20115", "31.11.2019",
		"中田", "さ田", "müllerin", "müller müllerin", "mül müller",
	} {
		if _, found := finds(q, d); found {
			t.Errorf("%q (%v) finds the contact", q, Parse(q))
		}
	}
}

// TestFindsNames checks that names are found without hyphens and apostrophes. A given name after
// the family name is found too.
func TestFindsNames(t *testing.T) {
	for name, queries := range map[string][]string{
		"Karl-Heinz Berg":        {"karlheinz", "Karl-Heinz", "karl heinz", "heinz", "karlh", "karlheinz berg"},
		"Karl\u2011Heinz":        {"karlheinz", "heinz"},
		"O'Brien":                {"obrien", "o'brien", "O’Brien", "brien", "obri"},
		"O’Brien":                {"obrien", "o'brien"},
		"O´Brien":                {"obrien", "o'brien"},
		"d'Artagnan":             {"dartagnan", "artagnan", "d’Artagnan"},
		"Müller-Lüdenscheidt":    {"muellerluedenscheidt", "müllerlüdenscheidt", "lüdenscheidt"},
		"Jo-Ellen":               {"joellen", "ellen"},
		"Schr\u00adöder":         {"Schröder", "schroe"},
		"Schr\u200böder":         {"Schröder"},
		"Schröder":               {"Schr\u00adöder", "\u2060Schröder\ufeff"},
		"Sant’Anna-De-Luca":      {"santannadeluca", "anna"},
		"김민수":                    {"민수", "김민수", "김", "수", "김민"},
		"남궁민수":                   {"민수", "남궁"},
		"王小明":                    {"小明", "王"},
		"Weingut Haas & L’Oréal": {"loreal", "oreal"},
	} {
		d := new(Document)
		d.Add(Name, name)
		for _, q := range queries {
			wantFound(t, q, name, d)
		}
	}
	for name, queries := range map[string][]string{
		"Karl-Heinz": {"karlotto", "einz"}, "2026-11-28": {"20261128"}, "김민수": {"민우", "ㅣ"}, "a-b-c-d-e-f-g": {"abcdefg"},
	} {
		d := new(Document)
		d.Add(Name, name)
		for _, q := range queries {
			if _, found := finds(q, d); found {
				t.Errorf("%q finds %q: %s", q, name, d)
			}
		}
	}
}

// TestWordsOfNames checks the words of names. Only names with hyphens and the like have
// additional words.
func TestWordsOfNames(t *testing.T) {
	for name, want := range map[string]string{
		"Anna Berg": "0anna 0berg", "Karl-Heinz Berg": "0berg 0heinz 0karl 0karlheinz", "Müller": "0muller",
	} {
		d := new(Document)
		d.Add(Name, name)
		if got := d.String(); got != want {
			t.Errorf("%q has the words %q, want %q", name, got, want)
		}
		note := new(Document)
		note.Add(Note, name)
		if got := strings.Count(note.String(), " "); got > 2 {
			t.Errorf("a note with %q has the words %q", name, note)
		}
	}
}

// TestFindsWhileTyping checks that every beginning of a name finds the record.
func TestFindsWhileTyping(t *testing.T) {
	for name, spellings := range map[string][]string{
		"Müller":               {"Müller", "Mueller", "Muller"},
		"Mueller":              {"Müller", "Mueller", "Muller"},
		"Muller":               {"Müller", "Mueller", "Muller"},
		"Haefner":              {"Haefner", "Häfner"},
		"Großmann":             {"Großmann", "Grossmann"},
		"Goethe":               {"Goethe", "Göthe"},
		"Bauer":                {"Bauer"},
		"Boeing":               {"Boeing"},
		"Zoë Ælfric-Quell":     {"Zoë Ælfric-Quell", "Zoe Aelfric Quell"},
		"anna.berg@kanzlei.de": {"anna.berg@kanzlei.de", "ANNA.BERG@KANZLEI.DE"},
		"김철수":                  {"김철수"},
		"田中さん":                 {"田中さん"},
	} {
		var d Document
		d.Add(Name, name)
		for _, s := range spellings {
			for end := range s {
				if end == 0 {
					continue
				}
				if _, found := finds(s[:end], &d); !found {
					t.Errorf("%q does not find %q", s[:end], name)
				}
			}
			if _, found := finds(s, &d); !found {
				t.Errorf("%q does not find %q", s, name)
			}
		}
	}
}

// TestNumbersAreFoundInAnyWriting checks that any notation of a telephone number finds any other
// notation.
func TestNumbersAreFoundInAnyWriting(t *testing.T) {
	writings := []string{
		"+49 30 1234567", "+49 (0)30 1234567", "+49.30.1234567", "0049-30-1234567", "00 49 30 1234567", "00.49.30.1234567",
		"030 1234567", "030/123 45 67", "030.1234567", "030.12.34.567", "(030) 1234567", "0301234567",
	}
	for _, written := range writings {
		var d Document
		d.AddPhone(Detail, written)
		for _, q := range writings {
			wantFound(t, q, written, &d)
		}
	}
	for written, q := range map[string]string{
		"01.23.45.67.89":   "01 23 45 67 89", // a number in France
		"Tel. 030 1234567": "030.1234567",
		"Tel.030 1234567":  "030.1234567",
		"30 1234567":       "030 1234567",
		"30.1234567":       "+49 30 1234567",
		// The first number is recognized only because a second one follows.
		"30 1234567 / 0170 7654321": "030 1234567",
		"030 1234567 (Büro)":        "Büro",
	} {
		var d Document
		d.AddPhone(Detail, written)
		wantFound(t, q, written, &d)
	}
}

// TestDatesAreNoNumbers checks that a date is found as a date, although it resembles a telephone
// number.
func TestDatesAreNoNumbers(t *testing.T) {
	for text, q := range map[string]string{
		"am 01.02.2024":         "1.2.2024",
		"am 1.2.2024":           "01.02.2024",
		"01.02.-05.02.2024":     "05.02.2024",
		"01.02.2024 05.02.2024": "05.02.2024",
		"030.1234567 am 01.02.": "01.02.",
		"030 123456 01.02.2024": "01.02.2024",
		"0.5 0.75":              "0.75",
	} {
		var d Document
		d.Add(Note, text)
		wantFound(t, q, text, &d)
	}
	var d Document
	d.Add(Note, "5 Prozent")
	if _, found := finds("0.5", &d); found {
		t.Errorf("0.5 (%v) finds 5", Parse("0.5"))
	}
}

// TestEveryTextFindsItself checks that a text of up to five of these tokens finds itself, both in
// a text and in a telephone number.
func TestEveryTextFindsItself(t *testing.T) {
	tokens := []string{"0", "030", "+49", "1234567", "12", "a", "@", ".", "/", "-", " ", "(0)", "中"}
	in := map[string]func(*Document, Rank, string){"a text": (*Document).Add, "a number": (*Document).AddPhone}
	var try func(text string, more int)
	try = func(text string, more int) {
		if q := Parse(text); !q.Empty() {
			for where, add := range in {
				var d Document
				add(&d, Name, text)
				if _, found := q.rate(d.String(), 0); !found {
					t.Fatalf("%q (%v) does not find itself in %s: %s", text, q.words, where, d.String())
				}
			}
		}
		if more > 0 {
			for _, token := range tokens {
				try(text+token, more-1)
			}
		}
	}
	try("", 5)
}

func TestRate(t *testing.T) {
	d := contact()
	for q, want := range map[string]key{
		"Jörg Müller":                          {},
		"jörg mül":                             {Longer: 1},
		"joerg.mueller@kanzlei-morgenstern.de": {Score: 1},
		"kanzlei müller":                       {Score: 1},
		"mandantin berlin":                     {Score: 3},
		"eva bei":                              {Score: 4, Longer: 1},
	} {
		if got, found := finds(q, d); !found || got != want {
			t.Errorf("%q: %+v, %v; want %+v", q, got, found, want)
		}
	}
}

// TestBounds checks that words beyond the maximum length are cut alike in the index and in a
// query, and that all bounds hold.
func TestBounds(t *testing.T) {
	var d Document
	long := strings.Repeat("donaudampfschifffahrt", 20)
	address := strings.Repeat("x", 64) + "@" + strings.Repeat("y", 185) + ".de"
	d.Add(Name, long)
	d.AddEmail(Detail, address)
	for _, q := range []string{long, long[:200], long[:10], address, address[:100]} {
		if _, found := finds(q, &d); !found {
			t.Errorf("%.20q, %d long, finds nothing", q, len(q))
		}
	}
	for _, p := range d.postings() {
		if n := utf8.RuneCountInString(p.word); n > maxAddress+1 || n > maxWord && !strings.Contains(p.word, "@") {
			t.Errorf("a word of %d characters", n)
		}
	}
	var note strings.Builder
	for i := 0; note.Len() < 10_000; i++ {
		note.WriteString(strings.ToLower(string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) +
			" "))
	}
	d = Document{}
	d.Add(Note, note.String()[:10_000])
	if n := len(d.words); n != 2500 {
		t.Errorf("a note of 10,000 characters and 2,500 words gives %d", n)
	}
	for range 40 {
		note.WriteString(note.String()[:10])
		d.Add(Note, strings.ReplaceAll(note.String(), " ", string(rune('a'+len(d.words)%26))+" "))
	}
	if n := len(d.words); n > maxWords {
		t.Errorf("a record of %d words", n)
	}
}

func TestBestRankOfAWordCounts(t *testing.T) {
	var d Document
	d.Add(Note, "Berg")
	d.Add(Name, "Berg")
	d.Add(Detail, "Berg")
	if got := join(d.postings()); got != "0berg" {
		t.Errorf("got %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"Jörg Müller", "a@b@c", "+49 (0)30 12 34", "00", "+", "田中a中", "0 0 0 0", "0 12/7@9", "030.12",
		"+49.30.12", "\u0301 \u3099", "a@", "\xff@\xff", "ー",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var d, phone Document
		d.Add(Name, s)
		phone.AddPhone(Name, s)
		q := Parse(s)
		for _, words := range [][]posting{d.postings(), phone.postings()} {
			for _, p := range words {
				checkWord(t, p.word)
			}
			text := join(words)
			if text != "" && !slices.Equal(parse(text), words) {
				t.Errorf("%q is read as %v", text, parse(text))
			}
			// The words of a text must find the text.
			if _, found := q.rate(text, 0); !found && len(words) < maxWords {
				t.Errorf("%q (%v) does not find itself: %s", s, q.words, text)
			}
		}
		for i, w := range q.words {
			checkWord(t, w.text)
			if !(term{w.text, false}).matches(w.text) || w.text >= w.end() {
				t.Errorf("%q does not match itself", w.text)
			}
			if slices.ContainsFunc(q.words[:i], func(o term) bool { return o.text == w.text }) {
				t.Errorf("%q stands twice in %v", w.text, q.words)
			}
		}
	})
}

func checkWord(t *testing.T, word string) {
	t.Helper()
	word = strings.TrimPrefix(word, "@")
	if word == "" || strings.ContainsAny(word, " \x00\n") || !utf8.ValidString(word) || len(word) > 4*maxAddress {
		t.Errorf("%q is no word", word)
	}
	if fold(word) != word {
		t.Errorf("%q is not folded", word)
	}
}
