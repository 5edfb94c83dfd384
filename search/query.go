package search

import (
	"cmp"
	"slices"
	"strings"
)

// Query is what a person typed, as words. Every one must match.
type Query struct {
	words []term
	// whole and prefixes are the numbers of the words that match as a whole,
	// in the order of their texts, and of those that match as a beginning.
	whole, prefixes []int
}

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
	split(fold(q), true, func(word string, prefix bool) {
		words = append(words, term{word, prefix})
	})
	if len(words) > 0 {
		words[len(words)-1].prefix = true
	}
	return queryOf(distinct(words))
}

func queryOf(words []term) Query {
	q := Query{words: words}
	for i, t := range words {
		if t.prefix {
			q.prefixes = append(q.prefixes, i)
		} else {
			q.whole = append(q.whole, i)
		}
	}
	slices.SortFunc(q.whole, func(a, b int) int { return strings.Compare(words[a].text, words[b].text) })
	return q
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
// stand by rank and then by bytes, it is the whole word where its rank has it:
// so it is the first place in the text where one begins as t does. A search
// for it takes a twentieth of the time of reading the words, and documents have
// thousands.
func (t term) best(words string) (posting, bool) {
	var buffer [64]byte
	for rank := range Rank(ranks) {
		begin := append(append(buffer[:0], ' ', '0'+byte(rank)), t.text...)
		rest := words
		if !strings.HasPrefix(words, string(begin[1:])) {
			i := strings.Index(words, string(begin))
			if i < 0 {
				continue
			}
			rest = words[i+1:]
		}
		if p, _ := next(rest); t.matches(p.word) {
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

// lookedFor is how many words of a query are looked for each by itself. Where
// there are more, the first are looked for as plain text: most records lack one
// of them, and that is quickly seen.
const lookedFor = 4

// rate returns the key of a record, and false if a word of q does not match.
func (q Query) rate(words string, position int64) (key, bool) {
	for _, t := range q.words[:min(lookedFor, len(q.words))] {
		if !strings.Contains(words, t.text) {
			return key{}, false
		}
	}
	if len(q.words) > lookedFor {
		return q.rateAtOnce(words, position)
	}
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

// rateAtOnce is rate for many words: it goes over the record's words once. As
// they stand by rank and then by bytes, the first that matches is the best.
func (q Query) rateAtOnce(words string, position int64) (key, bool) {
	k, found, left := key{Position: position}, make([]bool, len(q.words)), len(q.words)
	take := func(i int, p posting) {
		if found[i] {
			return
		}
		found[i] = true
		left--
		k.Score += int(p.rank)
		if p.word != q.words[i].text {
			k.Longer++
		}
	}
	for words != "" && left > 0 {
		var p posting
		p, words = next(words)
		if n, is := slices.BinarySearchFunc(q.whole, p.word, func(i int, word string) int {
			return strings.Compare(q.words[i].text, word)
		}); is {
			take(q.whole[n], p)
		}
		for _, i := range q.prefixes {
			if strings.HasPrefix(p.word, q.words[i].text) {
				take(i, p)
			}
		}
	}
	return k, left == 0
}
