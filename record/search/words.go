package search

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Rank is the weight of a word. Records with words of a lower rank come first.
type Rank int

// The ranks of words. Names weigh more than details, such as email addresses, and details weigh
// more than notes.
const (
	Name Rank = iota
	Detail
	Note
	ranks = 3
)

// maxWords is the maximum number of different words that Add adds to a record. A text of ten
// thousand characters has fewer than three thousand words. So only the content of documents can
// exceed the limit. Then only the first words are indexed. A German contract of a hundred pages
// has six to nine thousand words.
const maxWords = 10_000

// Document is the set of search words of a record. The zero value is empty and ready to use. Add
// words of a lower rank first, because the number of words is limited.
type Document struct {
	words map[string]Rank
}

// Add adds the words of a text. Email addresses and telephone numbers in the text also become
// words as a whole.
func (d *Document) Add(rank Rank, text string) {
	indexText(fold(text), rank == Name, d.sink(rank))
}

// AddDocument adds all words of another document with their ranks. It ignores the limit on words,
// so that a new name of a record does not remove words of its content.
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

// ParseDocument returns the document that String has written.
func ParseDocument(text string) *Document {
	d := new(Document)
	for _, p := range parse(text) {
		d.add(p.rank, p.word)
	}
	return d
}

// Has reports whether the record has a word, which must be folded.
func (d *Document) Has(word string) bool {
	_, has := d.words[word]
	return has
}

// Same reports whether two documents have the same words.
func (d *Document) Same(o *Document) bool { return maps.Equal(d.words, o.words) }

// String returns the words, each preceded by its rank, in the format of join.
func (d *Document) String() string { return join(d.postings()) }

// AddAll adds the words of the texts that are not nil.
func (d *Document) AddAll(rank Rank, texts ...*string) {
	for _, text := range texts {
		if text != nil {
			d.Add(rank, *text)
		}
	}
}

// AddEmail adds an email address, which is found as a whole and by its parts.
func (d *Document) AddEmail(rank Rank, address string) { d.Add(rank, address) }

// AddWebsite adds a web address without its scheme. It adds nothing if the address is nil.
func (d *Document) AddWebsite(rank Rank, address *string) {
	if address != nil {
		d.Add(rank, scheme.ReplaceAllString(*address, ""))
	}
}

// scheme matches the scheme of a web address. Documents and queries lack it, since people rarely
// know it.
var scheme = regexp.MustCompile(`(?i)\bhttps?://`)

// AddPhone adds a telephone number. A search finds it by its beginning in any notation, with or
// without the country code and the leading zero. A search also finds it by its last digits,
// because people omit their own area code. Other text in it is found by its words.
func (d *Document) AddPhone(rank Rank, text string) {
	folded := fold(text)
	add := d.sink(rank)
	split(folded, func(_ Span, national string) {
		d.addNumber(rank, national)
	}, func(at Span) {
		if whole, from := address(folded, at); whole != "" {
			add(whole, false, from)
		}
		parts(folded, at, false, add)
	})
	national, _ := firstNumber(folded)
	d.addNumber(rank, national)
}

// addNumber adds a telephone number in its national form and in the form of backwards.
func (d *Document) addNumber(rank Rank, national string) {
	d.add(rank, national)
	if len(national) >= leastLocal {
		d.add(rank, backwards(national))
	}
}

func (d *Document) sink(rank Rank) sink {
	return func(word string, _ bool, _ Span) { d.add(rank, word) }
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

// posting is one word of a record with its rank.
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

// postings returns the words, sorted by rank and then by bytes.
func (d *Document) postings() []posting {
	list := make([]posting, 0, len(d.words))
	for word, rank := range d.words {
		list = append(list, posting{rank, word})
	}
	slices.SortFunc(list, posting.compare)
	return list
}

// join returns postings as one text, for example '0anna 0berg 1kanzlei'.
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

// next returns the first posting of a text made by join, and the rest of the text.
func next(text string) (p posting, rest string) {
	word, rest, _ := strings.Cut(text, " ")
	return posting{Rank(word[0] - '0'), word[1:]}, rest
}

// from returns the part of a text made by join that begins with the first posting not less than
// p. It is a binary search, because the text of a document is long.
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

// holds reports whether a text made by join contains p.
func holds(text string, p posting) bool {
	rest := from(text, p)
	if rest == "" {
		return false
	}
	first, _ := next(rest)
	return first == p
}

// parse returns the postings in a text made by join.
func parse(text string) []posting {
	list := make([]posting, 0, strings.Count(text, " ")+1)
	for text != "" {
		var p posting
		p, text = next(text)
		list = append(list, p)
	}
	return list
}
