package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"kartei/store/db"
)

// Query has the words of a search. Every word must match.
type Query struct{ words []term }

// term is one word of a query.
type term struct {
	text string
	// prefix also matches words that begin with text.
	prefix bool
}

// Parse returns the query of a typed text. The last word is always a prefix, so hits
// appear while it is being typed. A text without a letter or digit has no word, and
// finds nothing.
func Parse(q string) Query {
	var words []term
	queryWords(fold(q), func(word string, prefix bool, _ Span) {
		words = append(words, term{word, prefix})
	})
	if len(words) > 0 {
		words[len(words)-1].prefix = true
	}
	return Query{distinct(words)}
}

// Readings returns the queries that a typed text may mean, the most usual first. A
// text of digits has up to three more readings:
//
//   - a telephone number without its prefix and leading zeros
//   - a number with a country code but no plus sign, from withCountry digits on
//   - the end of a telephone number, from leastLocal digits on
//
// The last two need a text that begins with neither zero nor plus.
func Readings(q string) []Query {
	list := []Query{Parse(q)}
	if !IsNumber(q) {
		return list
	}
	text := strings.TrimSpace(fold(q))
	digits := digitsOf(text)
	forms := []string{nationalForm(digits, text[0] == '+')}
	if text[0] != '+' && text[0] != '0' && len(digits) >= withCountry {
		forms = append(forms, nationalForm(digits, true))
	}
	for _, form := range forms {
		reading := Query{[]term{{form, true}}}
		if form != "" && !slices.ContainsFunc(list, func(o Query) bool { return slices.Equal(o.words, reading.words) }) {
			list = append(list, reading)
		}
	}
	if text[0] != '+' && text[0] != '0' && len(digits) >= leastLocal {
		list = append(list, Query{[]term{{backwards(digits), true}}})
	}
	return list
}

// Meant returns the reading of a typed text that a list shows: the first one that finds a
// record.
func Meant(ctx context.Context, tx db.Tx, s Scope, typed string) (Query, error) {
	readings := Readings(typed)
	if len(readings) == 1 {
		return readings[0], nil
	}
	x, err := openIndex(ctx, tx, s)
	if err != nil {
		return Query{}, err
	}
	for _, q := range readings {
		if q.Empty() {
			continue
		}
		hits, err := defaultBounds.findIn(x, q, nil, 1)
		if err != nil {
			return Query{}, err
		}
		if len(hits.IDs) > 0 || hits.More {
			return q, nil
		}
	}
	return readings[0], nil
}

// IsNumber reports whether a text is a telephone number or its beginning: digits and
// what separates them.
func IsNumber(text string) bool {
	text = strings.TrimSpace(fold(text))
	n := len(digitsOf(text))
	return strings.Trim(text, "0123456789 +()/.-") == "" && n >= leastReading && n <= maxDigits && !isDate(text)
}

// NumberKey returns a form in which two telephone numbers are equal if they may be the
// same: without a country code and separators. It is empty for what is no number.
func NumberKey(text string) string {
	national, _ := firstNumber(fold(text))
	if len(national) < leastReading {
		return ""
	}
	return national
}

func digitsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

const (
	// leastReading is how many digits in groups count as the beginning of a number.
	leastReading = 4
	// withCountry is how many digits a number with its country code has at least.
	withCountry = 10
)

// isDate reports whether a text of digits may be a date or an amount: dots, and no
// other separator.
func isDate(text string) bool {
	return strings.Contains(text, ".") && !strings.ContainsAny(text, " +()/-")
}

// Holds reports whether a record of these words alone is a hit of q.
func (q Query) Holds(d *Document) bool { return q.matches(d.String()) }

// HoldsWords is Holds for the words that Document.String wrote.
func (q Query) HoldsWords(words string) bool { return q.matches(words) }

func (q Query) matches(words string) bool {
	_, is := q.rate(words, 0)
	return is && !q.Empty()
}

// IsNumberOf reports whether one of the readings of a text is the telephone number at
// the beginning of another text, however both are written. Two country codes must be
// the same; a number without one may be of any country.
func IsNumberOf(text string, readings []Query, phone string) bool {
	national, _ := firstNumber(fold(phone))
	if len(national) < leastReading || !slices.ContainsFunc(readings,
		func(q Query) bool { return len(q.words) == 1 && q.words[0].text == national }) {
		return false
	}
	here, there := countryOf(text), countryOf(phone)
	return here == "" || there == "" || here == there
}

// IsEndOf reports whether the digits of a text, which have no area code, are the end of the
// telephone number at the beginning of another text.
func IsEndOf(text, phone string) bool {
	text = strings.TrimSpace(fold(text))
	digits := digitsOf(text)
	national, _ := firstNumber(fold(phone))
	return len(digits) >= leastLocal && text[0] != '+' && text[0] != '0' && len(national) > len(digits) &&
		strings.HasSuffix(national, digits)
}

// Whole returns the query of a text whose last word is complete too.
func Whole(text string) Query {
	q := Parse(text)
	for i := range q.words {
		q.words[i].prefix = false
	}
	return q
}

// Numbers returns the queries for a whole telephone number: as AddPhone indexes it
// and, if many digits begin without a plus sign, also without a country code.
func Numbers(text string) (list []Query) {
	forms := []string{}
	if national, at := firstNumber(fold(text)); len(national) >= leastReading {
		forms = append(forms, national)
		if start := fold(text)[at[0]]; start != '+' && start != '0' && len(national) >= withCountry {
			forms = append(forms, nationalForm(national, true))
		}
	}
	for _, form := range forms {
		list = append(list, Query{[]term{{form, false}}})
	}
	return list
}

// Trunks returns the queries for the telephone number of an office that has a number
// as an extension: with up to four digits less at its end, and a zero or nothing in
// their place. The longest comes first.
func Trunks(number string) (list []Query) {
	for _, q := range Numbers(number) {
		national := q.words[0].text
		for n := len(national) - 1; n >= max(leastTrunk, len(national)-4); n-- {
			for _, form := range []string{national[:n] + "0", national[:n]} {
				if form != national {
					list = append(list, Query{[]term{{form, false}}})
				}
			}
		}
	}
	return list
}

// leastTrunk is how many digits the number of an office has at least without its
// extension, with the area code: 30 12345.
const leastTrunk = 7

// Same reports whether two texts are the same for a search.
func Same(a, b string) bool { return fold(strings.TrimSpace(a)) == fold(strings.TrimSpace(b)) }

// distinct keeps each word once. A whole word replaces the same word as a prefix,
// since it matches less.
func distinct(words []term) []term {
	var list []term
	for _, w := range words {
		i := slices.IndexFunc(list, func(t term) bool { return t.text == w.text })
		if i < 0 {
			list = append(list, w)
			continue
		}
		list[i].prefix = list[i].prefix && w.prefix
	}
	return list
}

// Empty reports whether the query holds no word and so finds nothing.
func (q Query) Empty() bool { return len(q.words) == 0 }

// matches reports whether t matches a word.
func (t term) matches(word string) bool {
	return word == t.text || t.prefix && strings.HasPrefix(word, t.text)
}

// end returns the first text after all words that t matches. No word contains a
// control character or the last code point.
func (t term) end() string {
	if t.prefix {
		return t.text + "\U0010FFFF"
	}
	return t.text + "\x01"
}

// best returns the first posting in a record's words that t matches. Words are sorted
// by rank and then by bytes, so within a rank the whole word comes before longer
// ones.
func (t term) best(words string) (posting, bool) {
	for rank := range Rank(ranks) {
		if words = from(words, posting{rank, t.text}); words == "" {
			break
		}
		if p, _ := next(words); p.rank == rank && t.matches(p.word) {
			return p, true
		}
	}
	return posting{}, false
}

// key orders hits: the lowest comes first.
type key struct {
	// Score is the sum of the ranks of the words found.
	Score int `json:"s"`
	// Longer is how many words were found only as a prefix of a longer one.
	Longer int `json:"l"`
	// Position is the record's position; newer records have lower ones.
	Position int64 `json:"p"`
}

// compare orders keys, the best hit first.
func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.Score, o.Score), cmp.Compare(k.Longer, o.Longer), cmp.Compare(k.Position, o.Position))
}

// rate returns the key of a record, and false if a word of q does not match.
func (q Query) rate(words string, position int64) (key, bool) {
	k := key{Position: position}
	for _, t := range q.words {
		p, found := t.best(words)
		if !found {
			return key{}, false
		}
		k.Score += int(p.rank)
		if p.word != t.text {
			k.Longer++
		}
	}
	return k, true
}
