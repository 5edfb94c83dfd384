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

// sink takes a word. With prefix set, a query takes every word that begins so.
type sink func(word string, prefix bool)

// split hands the words of a folded text to add.
//
// A word is a run of letters, digits and marks. What holds an '@' is also a
// word as a whole, and digits that look like a telephone number are also a
// word in their national form. In a query such a whole stands instead of its
// parts: whoever asks for an address wants that address and no other. A whole
// address has an '@' before it, so that it is not walked by those who ask for
// the name that it begins with.
func split(folded string, query bool, add sink) {
	numberEnd := 0
	for i := 0; i < len(folded); {
		if isGap(folded[i]) {
			i++
			continue
		}
		if i >= numberEnd {
			if national, n := number(folded[i:]); n > 0 {
				if national != "" {
					add(national, true)
				}
				numberEnd = i + n
				if query {
					i = numberEnd
					continue
				}
			}
		}
		end := i + 1
		for end < len(folded) && !isGap(folded[end]) {
			end++
		}
		if address := trim(folded[i:end]); strings.Contains(address, "@") {
			add("@"+cut(address, maxAddress), false)
			if query {
				i = end
				continue
			}
		}
		parts(folded[i:end], query, add)
		i = end
	}
}

// isGap reports whether c stands between the things that are also words as a
// whole: a space or one of the specials of RFC 5322, without '@' and '.'.
func isGap(c byte) bool {
	switch c {
	case ' ', '(', ')', '<', '>', '[', ']', ':', ';', '\\', ',', '"':
		return true
	}
	return false
}

// parts hands the plain words of folded to add.
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

// pairs hands a run of a script without spaces to add: every character with
// the one after it and, in the index, the last one alone. So any part of the
// run is found: two characters and more by their pairs, and one because some
// word begins with it.
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
