package record

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded returns the form in which names are ordered and tags are compared: in
// lower case and without diacritics. Umlauts are written out, as in the order of
// German names (DIN 5007-2): Müller comes beside Mueller.
//
// The index of a search folds further: there the words 'neue' and 'neu' coincide.
func folded(s string) string {
	b := make([]byte, 0, len(s)+8)
	for _, r := range norm.NFC.String(s) {
		r = unicode.ToLower(r)
		switch {
		case r < utf8.RuneSelf:
			b = append(b, byte(r))
		case written[r] != "":
			b = append(b, written[r]...)
		default:
			b = appendPlain(b, r)
		}
	}
	return string(b)
}

// written has the letters that are written out.
var written = map[rune]string{
	'ä': "ae", 'ö': "oe", 'ü': "ue", 'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "oe",
	'đ': "d", 'ð': "d", 'ł': "l", 'ħ': "h", 'ı': "i", 'þ': "th", 'ŧ': "t", 'ς': "σ",
}

// appendPlain appends a rune without its diacritics.
func appendPlain(b []byte, r rune) []byte {
	for _, part := range norm.NFKD.String(string(r)) {
		if part < 0x300 || part > 0x36f { // the diacritics of European scripts
			b = utf8.AppendRune(b, unicode.ToLower(part))
		}
	}
	return b
}
