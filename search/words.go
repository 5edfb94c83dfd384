package search

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Rank is how much a word weighs: the lower, the further up its record stands.
type Rank int

// The ranks of open-points.md: names weigh more than email and company, those
// more than notes.
const (
	Name Rank = iota
	Detail
	Note
	ranks = 3
)

// maxWords is how many different words a record is found by. Ten thousand
// characters hold fewer than three thousand, so it binds only the content of
// documents, of which the first words are kept: a German contract of a hundred
// pages has six to nine thousand.
const maxWords = 10_000

// Document is the words by which a record is found. The zero value is empty
// and ready. Add what weighs most first.
type Document struct {
	words map[string]Rank
}

// Add takes the words of text. An email address and a telephone number in it
// are also found as a whole.
func (d *Document) Add(rank Rank, text string) {
	indexText(fold(text), true, d.sink(rank))
}

// AddDocument takes all words of another document, at the ranks that they have
// there. What d has does not count towards the bound of either, so that no new
// name of a record costs it a word of its content.
func (d *Document) AddDocument(o *Document) {
	if d.words == nil {
		d.words = make(map[string]Rank, len(o.words))
	}
	for word, rank := range o.words {
		if before, known := d.words[word]; !known || rank < before {
			d.words[word] = rank
		}
	}
}

// ParseDocument reads what String wrote.
func ParseDocument(text string) *Document {
	d := new(Document)
	for _, p := range parse(text) {
		d.add(p.rank, p.word)
	}
	return d
}

// Same reports whether two documents have the same words.
func (d *Document) Same(o *Document) bool { return maps.Equal(d.words, o.words) }

// String returns the words, each behind its rank.
func (d *Document) String() string { return join(d.postings()) }

// AddAll takes the words of those texts that are set.
func (d *Document) AddAll(rank Rank, texts ...*string) {
	for _, text := range texts {
		if text != nil {
			d.Add(rank, *text)
		}
	}
}

// AddEmail takes an email address: found as a whole and by its parts.
func (d *Document) AddEmail(rank Rank, address string) { d.Add(rank, address) }

// AddPhone takes a telephone number: found in any way of writing it, with and
// without the country's code and the leading zero, once its beginning is
// typed. Anything else in text is found by its words.
func (d *Document) AddPhone(rank Rank, text string) {
	folded := fold(text)
	indexText(folded, false, d.sink(rank))
	start := strings.IndexAny(folded, "+0123456789")
	if start < 0 {
		return
	}
	// The first digits are a number behind a letter too, and without a leading zero.
	national, n := number(folded[start:])
	if n == 0 {
		national, _, _ = digitGroups(folded[start:], true)
	}
	d.add(rank, national)
}

func (d *Document) sink(rank Rank) sink {
	return func(word string, _ bool) { d.add(rank, word) }
}

func (d *Document) add(rank Rank, word string) {
	if word == "" {
		return
	}
	before, known := d.words[word]
	switch {
	case known && before <= rank, !known && len(d.words) >= maxWords:
		return
	case d.words == nil:
		d.words = make(map[string]Rank, 24)
	}
	d.words[word] = rank
}

// posting is one word of a record at its rank.
type posting struct {
	rank Rank
	word string
}

func (p posting) compare(o posting) int {
	if p.rank != o.rank {
		return cmp.Compare(p.rank, o.rank)
	}
	return strings.Compare(p.word, o.word)
}

// postings returns the words, those that weigh most first, then by bytes.
func (d *Document) postings() []posting {
	list := make([]posting, 0, len(d.words))
	for word, rank := range d.words {
		list = append(list, posting{rank, word})
	}
	slices.SortFunc(list, posting.compare)
	return list
}

// join writes postings as one text: '0anna 0berg 1kanzlei'.
func join(list []posting) string {
	var b strings.Builder
	for i, p := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('0' + byte(p.rank))
		b.WriteString(p.word)
	}
	return b.String()
}

// next cuts the first posting off a text that join wrote.
func next(text string) (p posting, rest string) {
	word, rest, _ := strings.Cut(text, " ")
	return posting{Rank(word[0] - '0'), word[1:]}, rest
}

// from returns what is left of a text that join wrote from the first posting on
// that does not stand before p. It halves the text, as a document has pages of
// words.
func from(text string, p posting) string {
	low, high := 0, len(text)
	for low < high {
		middle := low + (high-low)/2
		start := low + strings.LastIndexByte(text[low:middle], ' ') + 1
		end := high
		if n := strings.IndexByte(text[middle:high], ' '); n >= 0 {
			end = middle + n
		}
		if (posting{Rank(text[start] - '0'), text[start+1 : end]}).compare(p) < 0 {
			low = min(end+1, high)
		} else {
			high = start
		}
	}
	return text[low:]
}

// holds reports whether a text that join wrote has p.
func holds(text string, p posting) bool {
	rest := from(text, p)
	if rest == "" {
		return false
	}
	first, _ := next(rest)
	return first == p
}

// parse reads what join wrote.
func parse(text string) []posting {
	list := make([]posting, 0, strings.Count(text, " ")+1)
	for text != "" {
		var p posting
		p, text = next(text)
		list = append(list, p)
	}
	return list
}
