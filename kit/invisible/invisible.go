// Package invisible owns the invisible characters of Unicode: which they are, and where one has a meaning.
//
// Text copied from address books, web pages and word processors often contains them. Examples are
// marks of direction around a number, a soft hyphen within a name and a space without width.
package invisible

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Is reports whether r has the property Default_Ignorable_Code_Point (DerivedCoreProperties of the
// Unicode Character Database). Such characters are the soft hyphen, joiners, marks of direction,
// variation selectors, the byte order mark and fillers.
func Is(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r >= 0xfff9 && r <= 0xfffb, r >= 0x13430 && r <= 0x13440:
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// Remove returns s without its invisible characters. It is for numbers, addresses and codes, in
// which invisible characters have no meaning.
func Remove(s string) string {
	if !has(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if Is(r) {
			return -1
		}
		return r
	}, s)
}

// Tidy returns s without the invisible characters that do not change the display of a name. It
// keeps joiners within words of scripts that need them, the parts of an emoji, and the variants of
// Han characters. It also keeps fillers within Hangul syllables.
func Tidy(s string) string {
	if !has(s) {
		return s
	}
	var b strings.Builder
	var before rune
	for i, r := range s {
		_, width := utf8.DecodeRuneInString(s[i:]) // 1 for an invalid byte
		next, _ := utf8.DecodeRuneInString(s[i+width:])
		if Is(r) && !means(before, r, next) {
			continue
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// has reports whether s has an invisible character.
func has(s string) bool { return strings.ContainsFunc(s, Is) }

// The joiners, and the emoji that begins the flag of a region.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	blackFlag = '\U0001F3F4'
)

// means reports whether the invisible character r has a meaning between before and next.
func means(before, r, next rune) bool {
	switch {
	case r == joiner || r == nonJoiner:
		return joins(before) && (r == joiner || joins(next)) || r == joiner && isSymbol(before) && isSymbol(next)
	case r >= 0x180b && r <= 0x180f:
		return unicode.Is(unicode.Mongolian, before)
	case r >= 0xe0020 && r <= 0xe007f: // the region of a flag
		return before == blackFlag || before >= 0xe0020 && before <= 0xe007f
	case unicode.Is(unicode.Variation_Selector, r):
		return isSymbol(before) || unicode.Is(unicode.Han, before)
	case r == 0x115f || r == 0x1160:
		return isJamo(before) || isJamo(next)
	}
	return false
}

// joins reports whether r belongs to a script in which a joiner changes the look of a word.
func joins(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Nko, unicode.Mongolian, unicode.Phags_Pa,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
		unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}

// isSymbol reports whether r is an emoji or a part of an emoji. Parts are the colour of the skin,
// the digit of a key cap and the variation selector after them.
func isSymbol(r rune) bool {
	return unicode.In(r, unicode.So, unicode.Sk) || r == 0xfe0f || r == 0x203c || r == 0x2049 ||
		r == '#' || r == '*' || r >= '0' && r <= '9' || r >= 0x2190 && r <= 0x21ff || r >= 0x25a0 && r <= 0x25ff ||
		r >= 0x2934 && r <= 0x2935
}

func isJamo(r rune) bool { return r >= 0x1100 && r <= 0x11ff }
