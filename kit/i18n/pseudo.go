package i18n

import (
	"strings"
	"unicode/utf8"
)

// Pseudo is the pseudo-locale of the Unicode CLDR. Its texts are the English texts in brackets,
// longer by a third. With it, tests check that pages have room for longer texts and that all texts
// come from the catalogs.
const Pseudo Language = "en-XA"

// stretch returns an English text in brackets, longer by a third.
func stretch(text string) string {
	if strings.TrimSpace(text) == "" {
		return text
	}
	more := utf8.RuneCountInString(text)/3 + 1
	return "[" + text + " " + strings.Repeat(numerals, more/len(numerals)+1)[:more] + "]"
}

// numerals has the words that stretch appends. Lines can break between them.
const numerals = "one two three four five six seven eight nine ten "
