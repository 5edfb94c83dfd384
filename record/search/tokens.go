package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord and maxAddress are the maximum lengths of words. Longer words are cut, in the index and
// in a query alike.
const (
	maxWord    = 64  // runes
	maxAddress = 254 // runes, the longest email address (RFC 5321)
)

// Span is a part of a text. It has the index of the first byte and the index after the last byte.
type Span [2]int

// sink receives a word and its place in the folded text. If prefix is true, the word of a query
// also matches longer words.
type sink func(word string, prefix bool, at Span)

// indexText calls add with each word of a folded text.
//
// A word is a run of letters, digits and marks. An email address is also a word as a whole.
// Digits that look like a telephone number are also a word in their national form. Their groups
// are words too. The word of an address has an additional '@' at its beginning. So a search for
// the name at the beginning of addresses does not walk the addresses. If isName is true, the
// additional words of names are words too (see names.go).
func indexText(folded string, isName bool, add sink) {
	split(folded, func(at Span, national string) {
		add(national, true, at)
		parts(folded, at, false, add)
	}, func(at Span) {
		if whole, from := address(folded, at); whole != "" {
			add(whole, false, from)
		}
		parts(folded, at, false, add)
		if isName {
			inner(folded, at, add)
			compounds(folded, at, func(word string, from []int) { add(word, false, at) })
		}
	})
}

// queryWords calls add with each word of a folded query. An address or a telephone number is one
// word, without the words of its parts.
func queryWords(folded string, add sink) {
	split(folded, func(at Span, national string) {
		if national != "" {
			add(national, true, at)
		}
	}, func(at Span) {
		if whole, from := address(folded, at); whole != "" {
			add(whole, false, from)
			return
		}
		parts(folded, at, true, add)
	})
}

// Words returns the words of a text, folded and in their order. An email address is one word that begins with
// an additional '@'.
func Words(text string) (words []string) {
	queryWords(fold(scheme.ReplaceAllString(text, " ")), func(word string, _ bool, _ Span) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	})
	return words
}

// split divides a folded text into telephone numbers and other runs between gaps. It calls phone
// with each number and its national form, and other with each other run. Index and query must
// split alike. Otherwise a text would not find itself.
func split(folded string, phone func(at Span, national string), other func(at Span)) {
	for i := 0; i < len(folded); {
		if isGap(folded[i]) {
			i++
			continue
		}
		if national, n := number(folded[i:]); n > 0 {
			phone(Span{i, i + n}, national)
			i += n
			continue
		}
		end := i + 1
		for end < len(folded) && !isGap(folded[end]) {
			end++
		}
		other(Span{i, end})
		i = end
	}
}

// address returns the word for a part of a folded text that is an email address. The word has an
// additional '@' at its beginning, and from is its place in the text. The word is "" if the part
// is not an address.
func address(folded string, at Span) (word string, from Span) {
	part := folded[at[0]:at[1]]
	whole := trim(part)
	if !strings.Contains(whole, "@") {
		return "", at
	}
	start := at[0] + strings.Index(part, whole)
	whole = cut(whole, maxAddress)
	return "@" + whole, Span{start, start + len(whole)}
}

// isGap reports whether c separates addresses and numbers. Gaps are the space and the specials of
// RFC 5322 except '@' and '.'.
func isGap(c byte) bool {
	switch c {
	case ' ', '(', ')', '<', '>', '[', ']', ':', ';', '\\', ',', '"':
		return true
	}
	return false
}

// parts calls add with each plain word of a part of a folded text.
func parts(folded string, at Span, query bool, add sink) {
	start, unspaced := -1, false
	flush := func(end int) {
		switch {
		case start < 0:
		case unspaced:
			pairs(folded, Span{start, end}, query, add)
		default:
			add(plainNumber(cut(folded[start:end], maxWord)), false, Span{start, end})
		}
		start = -1
	}
	for i, r := range folded[at[0]:at[1]] {
		i += at[0]
		switch {
		case !isWordRune(r):
			flush(i)
		case start < 0:
			start, unspaced = i, isUnspaced(r)
		case isUnspaced(r) != unspaced && !unicode.IsMark(r):
			flush(i)
			start, unspaced = i, isUnspaced(r)
		}
	}
	flush(at[1])
}

// pairs calls add with the bigrams of a run of a script without spaces. Each bigram is a
// character with the next one. In the index, the last character alone is a word too. So a query
// finds any part of the run. It finds two or more characters by their bigrams, and one character
// as the prefix of a bigram.
func pairs(folded string, at Span, query bool, add sink) {
	run := folded[at[0]:at[1]]
	first, second := 0, unit(run)
	pass := func(end int, prefix bool) {
		add(cut(run[first:end], maxWord), prefix, Span{at[0] + first, at[0] + end})
	}
	if query && second == len(run) {
		pass(len(run), true)
		return
	}
	for second < len(run) {
		end := second + unit(run[second:])
		pass(end, false)
		first, second = second, end
	}
	if !query {
		pass(len(run), false)
	}
}

// unit returns the length in bytes of the first character of run, with its marks.
func unit(run string) int {
	_, n := utf8.DecodeRuneInString(run)
	for n < len(run) {
		r, size := utf8.DecodeRuneInString(run[n:])
		if !unicode.IsMark(r) {
			break
		}
		n += size
	}
	return n
}
