// Package search owns the search index of records: folding of text, packed postings and the order of hits.
//
// The index is an inverted index in tables of the database. A text is folded (fold.go) and split
// into words (tokens.go). words.go has the set of words of a record, each with a rank. A posting
// consists of a word, its rank, the audience that may see the record, and the record's position.
// Postings are packed into blocks of about 780 bytes with delta encoding (package packed). The
// key of a block is its last posting, so a reader can skip to any posting by the primary key of
// the table.
//
// Segments contain the blocks of records of a similar age, as in a log-structured merge tree. Put
// writes only one row with the words of a record. The Merger packs these rows into a segment, and
// merges segments into larger ones (segment.go).
//
// A search merges the sorted runs of all segments with a heap (postings.go). It walks the
// postings of the query's rarest word and checks the other words in each record (find.go). Its
// work is bounded, and a cursor continues it. A change of a few words or of the visibility of a
// short record is applied at once. A Mover applies the rest of a longer change (moves.go).
// docs/decisions/0007 has the reasons and the figures.
package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"kartei/kit/invisible"
)

// fold returns the form of s that is indexed and searched. It is decomposed (NFKD), in lower
// case, without diacritics and invisible characters, and with uniform German spellings. Only
// runes of words, ASCII punctuation and spaces remain, so fold(fold(s)) == fold(s).
//
// 'ae', 'oe' and 'ue' become 'a', 'o' and 'u', like 'ä', 'ö' and 'ü'. This applies to every word,
// German or not. Index and query fold alike, so 'Bauer' still finds 'Bauer', and a few more words
// are equal. The rule depends only on preceding runes, so the fold of a prefix is a prefix of the
// fold. For example, 'm', 'mu', 'mue' and 'muel' are all prefixes of 'muller'.
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

// Fold returns the form of a text that the index has: in lower case, without diacritics, and with
// 'a', 'o' and 'u' for 'ä', 'ae', 'ö', 'oe', 'ü' and 'ue'. Fold(Fold(s)) equals Fold(s).
func Fold(s string) string { return fold(s) }

// folder builds a folded text.
type folder struct{ b []byte }

// rune appends one rune of decomposed text.
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
	case r == acute && len(f.b) > 0 && f.b[len(f.b)-1] == ' ': // an accent without a letter, typed as an apostrophe
		f.b[len(f.b)-1] = '\''
	case isDiacritic(lower), invisible.Is(lower):
	case isWordRune(lower):
		f.b = utf8.AppendRune(f.b, lower)
	default:
		f.b = append(f.b, ' ')
	}
}

// ascii appends one ASCII character.
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

// acute is the combining accent in the NFKD form of '´', where it follows a space.
const acute = '\u0301'

// letters has lower-case letters that Unicode does not decompose, each with its replacement. 'æ'
// stands for 'ae', and 'œ' for 'oe'. The map also replaces typographic apostrophes and hyphens by
// the characters on a keyboard.
var letters = map[rune]string{
	'ß': "ss", 'æ': "a", 'œ': "o", 'ø': "o", 'đ': "d", 'ð': "d", 'ł': "l",
	'ħ': "h", 'ı': "i", 'þ': "th", 'ŧ': "t", 'ς': "σ",
	'‘': "'", '’': "'", '‛': "'", '′': "'", 'ʹ': "'", 'ʻ': "'", 'ʼ': "'", 'ʽ': "'", 'ʾ': "'", 'ʿ': "'", 'ˈ': "'",
	'‐': "-", '‒': "-", '–': "-", '—': "-", '−': "-", '⁃': "-", '־': "-",
}

// isDiacritic reports whether r is a mark that a writer may leave out. These marks are accents
// (combining classes 200 and above) and the vowel points of Hebrew and Arabic (10 to 35). Marks
// of other classes, such as the vowels of Thai or the voicing of kana, change the word and stay.
func isDiacritic(r rune) bool {
	if !unicode.Is(unicode.Mn, r) {
		return false
	}
	var b [utf8.UTFMax]byte
	class := norm.NFKD.Properties(b[:utf8.EncodeRune(b[:], r)]).CCC()
	return class >= 200 || class >= 10 && class <= 35
}

// isWordRune reports whether a rune of folded text can be part of a word.
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

// isUnspaced reports whether r belongs to a script that has no spaces between words.
func isUnspaced(r rune) bool {
	return r >= 0xe00 && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// trim removes characters that cannot begin or end a word from both ends of s.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return !isWordRune(r) })
}
