// Package search owns finding records by words: folding of text, the index of postings, the order of hits.
package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold returns s as it is indexed and asked for: compatibility forms
// decomposed (NFKD), lower case, diacritics gone, German spellings made one.
// What remains are the runes of words, ASCII punctuation and spaces, so
// fold(fold(s)) == fold(s).
//
// 'ae', 'oe' and 'ue' become 'a', 'o' and 'u', as 'ä', 'ö' and 'ü' do, in
// every word and not only in German ones: index and query fold alike, so
// 'Bauer' still finds 'Bauer', and a few more words coincide. The rule looks
// only at what stands before, so the fold of a text's beginning is the
// beginning of the text's fold: 'm', 'mu', 'mue', 'muel' all begin 'muller'.
func fold(s string) string {
	if isFolded(s) {
		return s
	}
	f := folder{b: make([]byte, 0, len(s)+8)}
	if isASCII(s) {
		for i := range len(s) {
			f.ascii(s[i])
		}
	} else {
		for _, r := range norm.NFKD.String(strings.ToValidUTF8(s, " ")) {
			f.rune(r)
		}
	}
	return string(f.b)
}

// folder collects folded text.
type folder struct{ b []byte }

// rune takes one rune of decomposed text.
func (f *folder) rune(r rune) {
	if r < utf8.RuneSelf {
		f.ascii(byte(r))
		return
	}
	switch lower := unicode.ToLower(r); {
	case letters[lower] != "":
		for i := range len(letters[lower]) {
			f.ascii(letters[lower][i])
		}
	case isDiacritic(lower):
	case isWordRune(lower):
		f.b = utf8.AppendRune(f.b, lower)
	default:
		f.b = append(f.b, ' ')
	}
}

// ascii takes one ASCII character.
func (f *folder) ascii(c byte) {
	switch {
	case c >= 'A' && c <= 'Z':
		c += 'a' - 'A'
	case c < ' ' || c == 0x7f:
		c = ' '
	}
	if c == 'e' && len(f.b) > 0 && isUmlautBase(f.b[len(f.b)-1]) {
		return
	}
	f.b = append(f.b, c)
}

func isUmlautBase(c byte) bool { return c == 'a' || c == 'o' || c == 'u' }

// letters spells out the lower-case letters that are variants of others but
// that Unicode does not decompose. An 'æ' or 'œ' is 'ae' or 'oe'.
var letters = map[rune]string{
	'ß': "ss", 'æ': "a", 'œ': "o", 'ø': "o", 'đ': "d", 'ð': "d", 'ł': "l",
	'ħ': "h", 'ı': "i", 'þ': "th", 'ŧ': "t", 'ς': "σ",
}

// isDiacritic reports whether r is a mark that a writer may leave out: accents
// (combining classes 200 and above) and the vowel points of Hebrew and Arabic
// (10 to 35). Marks of other classes, such as the vowels of Thai or the
// voicing of kana, make another word and stay.
func isDiacritic(r rune) bool {
	if !unicode.Is(unicode.Mn, r) {
		return false
	}
	var b [utf8.UTFMax]byte
	class := norm.NFKD.Properties(b[:utf8.EncodeRune(b[:], r)]).CCC()
	return class >= 200 || class >= 10 && class <= 35
}

// isWordRune reports whether r, of folded text, can be part of a word.
func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isFolded reports whether s is ASCII that folding would not change.
func isFolded(s string) bool {
	var before byte
	for i := range len(s) {
		c := s[i]
		if c >= 0x7f || c < ' ' || c >= 'A' && c <= 'Z' || c == 'e' && isUmlautBase(before) {
			return false
		}
		before = c
	}
	return true
}

// cut returns the first n runes of s.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// isUnspaced reports whether r belongs to a script that is written without
// spaces between words.
func isUnspaced(r rune) bool {
	return r >= 0xe00 && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// trim returns s without what cannot begin or end a word.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return !isWordRune(r) })
}
