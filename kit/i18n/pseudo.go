package i18n

import (
	"strings"
	"unicode/utf8"
)

// Pseudo is a language that nobody speaks, by the tag that the Unicode CLDR has for it. Its
// texts are the English ones in brackets, longer by a third. A page that shows it has
// room for other languages, and says what the catalogs say.
const Pseudo Language = "en-XA"

// stretch returns an English text in the pseudo-locale.
func stretch(text string) string {
	if strings.TrimSpace(text) == "" {
		return text
	}
	more := utf8.RuneCountInString(text)/3 + 1
	return "[" + text + " " + strings.Repeat(numerals, more/len(numerals)+1)[:more] + "]"
}

// numerals make a text longer. Lines break between them.
const numerals = "one two three four five six seven eight nine ten "
