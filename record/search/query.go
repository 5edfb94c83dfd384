package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"kartei/store/db"
)

// Query has the words of a search. A record matches if it has every word.
type Query struct{ words []term }

// term is one word of a query.
type term struct {
	text string
	// prefix says that words which begin with text match too.
	prefix bool
}

// Parse returns the query for a typed text. The last word is always a prefix, so hits appear
// while the user types. A text without letters and digits gives an empty query, which finds
// nothing.
func Parse(q string) Query {
	var words []term
	queryWords(fold(scheme.ReplaceAllString(q, " ")), func(word string, prefix bool, _ Span) {
		words = append(words, term{word, prefix})
	})
	if len(words) > 0 {
		words[len(words)-1].prefix = true
	}
	return Query{distinct(words)}
}

// Readings returns the queries that a typed text may mean, the most usual first. A text of digits
// has up to three more readings:
//   - a telephone number without its prefix and leading zeros
//   - a number with a country code but without a plus sign, if it has at least withCountry
//     digits
//   - the end of a telephone number, if it has at least leastLocal digits
//
// The last two need a text that does not begin with a zero or a plus sign.
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

// Meant returns the first reading of a typed text that finds a record. If none does, it returns
// the first reading.
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

// IsNumber reports whether a text is a telephone number, or the beginning of a telephone number.
// Such a text has digits and their usual separators.
func IsNumber(text string) bool {
	text = strings.TrimSpace(fold(text))
	n := len(digitsOf(text))
	return strings.Trim(text, "0123456789 +()/.-") == "" && n >= leastReading && n <= maxDigits && !isDate(text)
}

// NumberKey returns a form in which two telephone numbers are equal if they may be the same. It
// has no country code and no separators. It is "" if the text is not a telephone number.
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
	// leastReading is the minimum number of digits that count as the beginning of a telephone
	// number.
	leastReading = 4
	// withCountry is the minimum number of digits of a telephone number with its country code.
	withCountry = 10
)

// isDate reports whether a text of digits may be a date or an amount. Such a text has dots and no
// other separator.
func isDate(text string) bool {
	return strings.Contains(text, ".") && !strings.ContainsAny(text, " +()/-")
}

// Holds reports whether q matches a record with the words in d.
func (q Query) Holds(d *Document) bool { return q.matches(d.String()) }

// HoldsWords reports whether q matches a record with these words. words has the format of
// Document.String.
func (q Query) HoldsWords(words string) bool { return q.matches(words) }

func (q Query) matches(words string) bool {
	_, is := q.rate(words, 0)
	return is && !q.Empty()
}

// IsNumberOf reports whether one of the readings of text is the first telephone number in phone,
// in any notation. If both have a country code, the codes must be equal.
func IsNumberOf(text string, readings []Query, phone string) bool {
	national, _ := firstNumber(fold(phone))
	if len(national) < leastReading || !slices.ContainsFunc(readings,
		func(q Query) bool { return len(q.words) == 1 && q.words[0].text == national }) {
		return false
	}
	here, there := CountryOf(text), CountryOf(phone)
	return here == "" || there == "" || here == there
}

// IsEndOf reports whether the digits of text are the end of the first telephone number in phone.
// It returns false if text begins with a plus sign or a zero, or has fewer than leastLocal
// digits.
func IsEndOf(text, phone string) bool {
	text = strings.TrimSpace(fold(text))
	digits := digitsOf(text)
	national, _ := firstNumber(fold(phone))
	return len(digits) >= leastLocal && text[0] != '+' && text[0] != '0' && len(national) > len(digits) &&
		strings.HasSuffix(national, digits)
}

// Whole returns the query for a text whose last word is complete.
func Whole(text string) Query {
	q := Parse(text)
	for i := range q.words {
		q.words[i].prefix = false
	}
	return q
}

// Numbers returns the queries for a whole telephone number in the form that AddPhone indexes. If
// the number has many digits and no plus sign, it also returns a query without the country code.
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

// Trunks returns queries for the main telephone number of an office, of which number is an
// extension. They have up to four digits fewer at the end, with or without a zero in their place.
// The longest comes first.
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

// leastTrunk is the minimum number of digits of a main number, with its area code and without an
// extension: 30 12345.
const leastTrunk = 7

// Same reports whether two texts are equal after folding.
func Same(a, b string) bool { return fold(strings.TrimSpace(a)) == fold(strings.TrimSpace(b)) }

// distinct returns the words without duplicates. If a word occurs both whole and as a prefix, the
// whole word stays, because it matches less.
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

// Empty reports whether the query has no words. An empty query finds nothing.
func (q Query) Empty() bool { return len(q.words) == 0 }

// matches reports whether t matches a word.
func (t term) matches(word string) bool {
	return word == t.text || t.prefix && strings.HasPrefix(word, t.text)
}

// end returns the first text after all words that t matches. It relies on words not containing
// control characters or the last code point.
func (t term) end() string {
	if t.prefix {
		return t.text + "\U0010FFFF"
	}
	return t.text + "\x01"
}

// best returns the first posting among a record's words that t matches, and whether there is one.
// Words are sorted by rank and then by bytes. So within a rank, the exact word comes before
// longer words.
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

// key is the sort key of a hit. The lowest comes first.
type key struct {
	// Score is the sum of the ranks of the matching words.
	Score int `json:"s"`
	// Longer is the number of words of the query that match only a longer word.
	Longer int `json:"l"`
	// Position is the position of the record. A newer record has a lower position.
	Position int64 `json:"p"`
}

// compare compares two keys. The better hit is less.
func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.Score, o.Score), cmp.Compare(k.Longer, o.Longer), cmp.Compare(k.Position, o.Position))
}

// rate returns the key of a record. The second result is false if a word of q does not match.
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
