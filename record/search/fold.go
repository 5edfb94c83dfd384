// Package search owns finding records by words: folding of text, the index of postings, the order of hits.
//
// It is an inverted index in tables of the database. fold and tokens cut a text
// into words; words.go is the set of words of a record, each with a rank. A
// posting is a word, its rank, the audience that may see the record, and the
// record's position. Postings are packed into blocks of about 780 bytes, with
// delta encoding (package packed). The key of a block is its last posting, so a
// reader can skip to any posting by the primary key of the table.
//
// Blocks are grouped into segments by the age of their records: a log-structured
// merge tree. Put writes only a row of words. The Merger packs such rows into a
// segment, and merges segments into larger ones (segment.go). A search merges the
// sorted runs of all segments with a heap (postings.go), intersects the words of a
// query by walking the rarest one and checking the words of each record (find.go),
// and ranks the hits. Its work is bounded, and cursors continue it. Changes of
// words or visibility are applied at once for a few words, and by a Mover for the
// rest (moves.go). docs/decisions/0007 has the reasons and the figures.
package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"kartei/kit/invisible"
)

// fold returns the form of s that is indexed and searched: decomposed (NFKD), in lower
// case, without diacritics and invisible characters, with German spellings unified. Only
// runes of words, ASCII punctuation and spaces remain, so fold(fold(s)) == fold(s).
//
// 'ae', 'oe' and 'ue' become 'a', 'o' and 'u', as 'ä', 'ö' and 'ü' do, in every word
// and not only in German ones. Index and query fold alike, so 'Bauer' still finds
// 'Bauer', and a few more words coincide. The rule depends only on preceding runes, so
// the fold of a prefix is a prefix of the fold: 'm', 'mu', 'mue' and 'muel' are all
// prefixes of 'muller'.
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

// rune adds one rune of decomposed text.
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
	case r == acute && len(f.b) > 0 && f.b[len(f.b)-1] == ' ': // the accent alone, typed for an apostrophe
		f.b[len(f.b)-1] = '\''
	case isDiacritic(lower), invisible.Is(lower):
	case isWordRune(lower):
		f.b = utf8.AppendRune(f.b, lower)
	default:
		f.b = append(f.b, ' ')
	}
}

// ascii adds one ASCII character.
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

// acute is the accent into which NFKD decomposes '´', behind a space.
const acute = '\u0301'

// letters has the lower-case letters that are variants of others but that Unicode does
// not decompose. 'æ' is 'ae', and 'œ' is 'oe'. The apostrophes and hyphens of typesetters
// are variants of those that people type.
var letters = map[rune]string{
	'ß': "ss", 'æ': "a", 'œ': "o", 'ø': "o", 'đ': "d", 'ð': "d", 'ł': "l",
	'ħ': "h", 'ı': "i", 'þ': "th", 'ŧ': "t", 'ς': "σ",
	'‘': "'", '’': "'", '‛': "'", '′': "'", 'ʹ': "'", 'ʻ': "'", 'ʼ': "'", 'ʽ': "'", 'ʾ': "'", 'ʿ': "'", 'ˈ': "'",
	'‐': "-", '‒': "-", '–': "-", '—': "-", '−': "-", '⁃': "-", '־': "-",
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

// trim removes characters that cannot begin or end a word from both ends of s.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return !isWordRune(r) })
}
