package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Marker finds the parts of a text that match a query. It folds and splits the text like the
// index. So it marks exactly the words by which a search finds the text.
type Marker struct{ words []term }

// MarkerOf returns the marker for one or more queries.
func MarkerOf(queries ...Query) Marker {
	var m Marker
	for _, q := range queries {
		m.words = append(m.words, q.words...)
	}
	return m
}

// MarkerFor returns the marker for whole words, which must be folded.
func MarkerFor(words []string) Marker {
	var m Marker
	for _, word := range words {
		m.words = append(m.words, term{text: word})
	}
	return m
}

// Text returns the parts of a text that match a word of the queries, in order. The parts do not
// overlap, and they begin and end between characters.
func (m Marker) Text(text string) []Span { return m.marks(text, false) }

// Phone is Text for a telephone number that was indexed by AddPhone. It marks a number from its
// beginning, because a typed zero may stand for the country code.
func (m Marker) Phone(text string) []Span { return m.marks(text, true) }

func (m Marker) marks(text string, phone bool) []Span {
	if len(m.words) == 0 || !utf8.ValidString(text) { // the text of a record is valid UTF-8
		return nil
	}
	f := foldWithOrigin(text)
	var found []Span
	mark := func(at Span) {
		if at[0] < at[1] {
			found = append(found, f.origin(at))
		}
	}
	split(f.text, func(at Span, national string) {
		m.number(f.text, at, national, mark)
		if phone {
			m.end(f.text, at, national, mark)
		} else {
			parts(f.text, at, false, m.word(f.text, mark))
		}
	}, func(at Span) {
		if whole, from := address(f.text, at); whole != "" {
			m.address(whole, from, mark)
		}
		parts(f.text, at, false, m.word(f.text, mark))
		if !phone {
			inner(f.text, at, m.word(f.text, mark))
			compounds(f.text, at, m.compound(f.text, mark))
		}
	})
	if phone {
		m.phone(f.text, mark)
	}
	return joined(found)
}

// compound returns a function that marks the beginning of a name with hyphens or apostrophes. The
// query has the name without these.
func (m Marker) compound(folded string, mark func(Span)) func(word string, from []int) {
	return func(word string, from []int) {
		for _, t := range m.words {
			if t.matches(word) {
				last := from[len(t.text)-1]
				_, size := utf8.DecodeRuneInString(folded[last:])
				mark(Span{from[0], last + size})
			}
		}
	}
}

// word returns a sink that marks plain words. A word may lack the leading zeros of the text.
func (m Marker) word(folded string, mark func(Span)) sink {
	return func(word string, _ bool, at Span) {
		zeros := strings.Index(folded[at[0]:at[1]], word)
		for _, t := range m.words {
			if t.matches(word) && zeros >= 0 {
				mark(Span{at[0], at[0] + zeros + len(t.text)})
			}
		}
	}
}

// address marks the beginning of an email address. The indexed word begins with an additional
// '@'.
func (m Marker) address(word string, at Span, mark func(Span)) {
	for _, t := range m.words {
		if t.matches(word) {
			mark(Span{at[0], at[0] + len(t.text) - 1})
		}
	}
}

// number marks the beginning of a telephone number up to the typed digits. at is the number in
// the folded text, and national is its national form.
func (m Marker) number(folded string, at Span, national string, mark func(Span)) {
	var digits []int
	for i := at[0]; i < at[1]; i++ {
		if isDigit(folded[i]) {
			digits = append(digits, i)
		}
	}
	for _, t := range m.words {
		if national != "" && t.matches(national) {
			mark(Span{at[0], digits[len(digits)-len(national)+len(t.text)-1] + 1})
		}
	}
}

// phone marks the first number in a text, as AddPhone indexes it.
func (m Marker) phone(folded string, mark func(Span)) {
	if national, at := firstNumber(folded); national != "" {
		m.number(folded, at, national, mark)
		m.end(folded, at, national, mark)
	}
}

// end marks the last digits of a telephone number if the query matches them.
func (m Marker) end(folded string, at Span, national string, mark func(Span)) {
	if len(national) < leastLocal {
		return
	}
	var digits []int
	for i := at[0]; i < at[1]; i++ {
		if isDigit(folded[i]) {
			digits = append(digits, i)
		}
	}
	for _, t := range m.words {
		if t.matches(backwards(national)) {
			mark(Span{digits[len(digits)-len(t.text)+1], digits[len(digits)-1] + 1})
		}
	}
}

// joined sorts spans and joins spans that overlap or touch.
func joined(list []Span) []Span {
	slices.SortFunc(list, func(a, b Span) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	var out []Span
	for _, s := range list {
		if n := len(out); n > 0 && s[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], s[1])
			continue
		}
		out = append(out, s)
	}
	return out
}

// foldedText is a folded text with the origin of each byte.
type foldedText struct {
	text string
	// from has, for each byte of text, the part of the original text from which it comes.
	from []Span
}

// foldWithOrigin returns the folded text with the origin of each byte. A character that folding
// removes, such as an accent or the 'e' of 'ae', counts as a part of the byte before.
func foldWithOrigin(s string) foldedText {
	f := folder{b: make([]byte, 0, len(s)+8)}
	var from []Span
	var it norm.Iter
	it.InitString(norm.NFKD, s)
	for !it.Done() {
		start := it.Pos()
		for _, r := range string(it.Next()) {
			f.rune(r)
		}
		at := Span{start, it.Pos()}
		if len(f.b) == len(from) && len(from) > 0 {
			from[len(from)-1][1] = at[1]
		}
		for len(from) < len(f.b) {
			from = append(from, at)
		}
	}
	return foldedText{string(f.b), from}
}

// origin returns the part of the original text for a part of the folded text.
func (f *foldedText) origin(at Span) Span { return Span{f.from[at[0]][0], f.from[at[1]-1][1]} }
