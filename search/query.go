package search

import (
	"cmp"
	"slices"
	"strings"
)

// Query is what a person typed, as words. Every one must match.
type Query struct{ words []term }

// term is one word of a query.
type term struct {
	text string
	// prefix also takes the words that begin with text.
	prefix bool
}

// Parse reads what a person typed. The last word is always a prefix, so hits
// appear while it is being typed. A text without a letter or digit holds no
// word, and such a query finds nothing.
func Parse(q string) Query {
	var words []term
	queryWords(fold(q), func(word string, prefix bool) {
		words = append(words, term{word, prefix})
	})
	if len(words) > 0 {
		words[len(words)-1].prefix = true
	}
	return Query{distinct(words)}
}

// distinct keeps each word once, as a whole word where it is asked for as one:
// that matches no more than the prefix does.
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

// matches reports whether t takes word.
func (t term) matches(word string) bool {
	return word == t.text || t.prefix && strings.HasPrefix(word, t.text)
}

// end returns the first text after all words that t takes. No word holds a
// control character or the last code point.
func (t term) end() string {
	if t.prefix {
		return t.text + "\U0010FFFF"
	}
	return t.text + "\x01"
}

// best returns the first posting in a record's words that t takes. As words
// stand by rank and then by bytes, it is the first at its rank that does not
// stand before t: the whole word where the rank has it.
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

// key is a hit's place among others: the lower, the further up.
type key struct {
	// Score is the sum of the ranks of the words found.
	Score int `json:"s"`
	// Longer is how many words were found only as the beginning of a longer one.
	Longer int `json:"l"`
	// Position is that of the record: the newest first.
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
