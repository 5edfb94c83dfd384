package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Longer words are cut, in the index and in a query alike.
const (
	maxWord    = 64  // runes
	maxAddress = 254 // runes, the longest email address (RFC 5321)
)

// sink receives a word. With prefix set, a query matches every word with that prefix.
type sink func(word string, prefix bool)

// indexText passes the words of a folded text to add.
//
// A word is a run of letters, digits and marks. An email address is also a word as a
// whole, and digits that look like a telephone number are also a word in their
// national form. A whole address has an '@' before it, so a search for the name at its
// beginning does not walk it. With inNumbers set, the groups of such digits are words
// too.
func indexText(folded string, inNumbers bool, add sink) {
	split(folded, func(written, national string) {
		add(national, true)
		if inNumbers {
			parts(written, false, add)
		}
	}, func(chunk string) {
		if whole := address(chunk); whole != "" {
			add(whole, false)
		}
		parts(chunk, false, add)
	})
}

// queryWords passes the words of a folded query to add. An address or a number is
// searched as a whole and not by its parts.
func queryWords(folded string, add sink) {
	split(folded, func(_, national string) {
		if national != "" {
			add(national, true)
		}
	}, func(chunk string) {
		if whole := address(chunk); whole != "" {
			add(whole, false)
			return
		}
		parts(chunk, true, add)
	})
}

// split cuts a folded text into telephone numbers and the other runs between
// gaps. A number is passed as written and in its national form. Index and query
// must cut alike, or a text would not find itself.
func split(folded string, phone func(written, national string), other func(chunk string)) {
	for i := 0; i < len(folded); {
		if isGap(folded[i]) {
			i++
			continue
		}
		if national, n := number(folded[i:]); n > 0 {
			phone(folded[i:i+n], national)
			i += n
			continue
		}
		end := i + 1
		for end < len(folded) && !isGap(folded[end]) {
			end++
		}
		other(folded[i:end])
		i = end
	}
}

// address returns the word for chunk as a whole; "" if it has no '@'.
func address(chunk string) string {
	if whole := trim(chunk); strings.Contains(whole, "@") {
		return "@" + cut(whole, maxAddress)
	}
	return ""
}

// isGap reports whether c separates addresses and numbers: a space, or one of the
// specials of RFC 5322 except '@' and '.'.
func isGap(c byte) bool {
	switch c {
	case ' ', '(', ')', '<', '>', '[', ']', ':', ';', '\\', ',', '"':
		return true
	}
	return false
}

// parts passes the plain words of a folded text to add.
func parts(folded string, query bool, add sink) {
	start, unspaced := -1, false
	flush := func(end int) {
		switch {
		case start < 0:
		case unspaced:
			pairs(folded[start:end], query, add)
		default:
			add(plainNumber(cut(folded[start:end], maxWord)), false)
		}
		start = -1
	}
	for i, r := range folded {
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
	flush(len(folded))
}

// pairs passes a run of a script without spaces to add as bigrams: every character
// with the next one and, in the index, the last one alone. So any part of the run is
// found: two characters and more by their bigrams, and one as the prefix of a
// bigram.
func pairs(run string, query bool, add sink) {
	first, second := 0, unit(run)
	if query && second == len(run) {
		add(cut(run, maxWord), true)
		return
	}
	for second < len(run) {
		end := second + unit(run[second:])
		add(cut(run[first:end], maxWord), false)
		first, second = second, end
	}
	if !query {
		add(cut(run[first:], maxWord), false)
	}
}

// unit returns the length of the first character of run with its marks.
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
