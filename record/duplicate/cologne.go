package duplicate

import "strings"

// cologne returns the code of a folded word in Cologne phonetics: words that sound alike in German
// have the same code. It is empty for a word without Latin letters. Umlauts count as their vowels.
//
// The rules are by Hans Joachim Postel, "Die Kölner Phonetik", IBM-Nachrichten 19 (1969), pages 925 to
// 931.
func cologne(word string) string {
	letters := strings.Map(latin, word)
	var code strings.Builder
	var last byte
	for i := range len(letters) {
		for _, digit := range []byte(soundOf(letters, i)) {
			if digit != last && (digit != '0' || code.Len() == 0) {
				code.WriteByte(digit)
			}
			last = digit
		}
	}
	return code.String()
}

// latin drops all characters but Latin letters in lower case.
func latin(r rune) rune {
	if r < 'a' || r > 'z' {
		return -1
	}
	return r
}

// soundOf returns the digits for one letter of a word. They depend on the letters beside it.
func soundOf(word string, i int) string {
	before, after := letterAt(word, i-1), letterAt(word, i+1)
	switch c := word[i]; c {
	case 'a', 'e', 'i', 'j', 'o', 'u', 'y':
		return "0"
	case 'b':
		return "1"
	case 'p':
		return either(after == 'h', "3", "1")
	case 'd', 't':
		return either(isOneOf(after, "csz"), "8", "2")
	case 'f', 'v', 'w':
		return "3"
	case 'g', 'k', 'q':
		return "4"
	case 'c':
		return soundOfC(i == 0, before, after)
	case 'x':
		return either(isOneOf(before, "ckq"), "8", "48")
	case 'l':
		return "5"
	case 'm', 'n':
		return "6"
	case 'r':
		return "7"
	case 's', 'z':
		return "8"
	}
	return "" // h
}

// soundOfC returns the digit for the letter c.
func soundOfC(first bool, before, after byte) string {
	if first {
		return either(isOneOf(after, "ahkloqrux"), "4", "8")
	}
	return either(!isOneOf(before, "sz") && isOneOf(after, "ahkoqux"), "4", "8")
}

// letterAt returns a letter of a word, or 0 outside of it.
func letterAt(word string, i int) byte {
	if i < 0 || i >= len(word) {
		return 0
	}
	return word[i]
}

func isOneOf(c byte, set string) bool { return c != 0 && strings.IndexByte(set, c) >= 0 }

func either(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}
