package entry

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/transfer/imports/source"
)

// Cells with an unpaired quote were damaged by hand. The quote has no meaning.

// withoutOpenQuote removes an unpaired quote from the beginning or the end of a cell. It reports
// what it removed.
func (e *Entry) withoutOpenQuote(i item, text string) string {
	rest := text
	if opensOnly(text) {
		rest = text[1:]
	} else if closesOnly(i.member, text) {
		rest = text[:len(text)-1]
	}
	rest = strings.TrimSpace(rest)
	if len(rest) == len(text) {
		return text
	}
	fate := Altered
	if rest == "" {
		fate = LeftOut
	}
	e.tell(fate, i.member, i, fault.InvalidFormat, openQuote)
	return rest
}

var openQuote = i18n.Text("A quote without its other half is left out. Something of this value may be missing.")

// halves are typographic quotes that people pair with a plain quote.
const halves = "„“”«»‟"

// opensOnly reports whether a text begins with a quote that is not closed.
func opensOnly(text string) bool {
	rest, begins := strings.CutPrefix(text, `"`)
	if !begins || strings.ContainsAny(rest, halves) {
		return false
	}
	before, after, more := strings.Cut(rest, `"`)
	return !more || opensAt(before, after)
}

// closesOnly reports whether a value ends with a quote that was not opened. Notes and other texts
// may end with the inch sign, so they do not count.
func closesOnly(member, text string) bool {
	rest, ends := strings.CutSuffix(text, `"`)
	if !ends || strings.ContainsAny(rest, halves) || member == "note" || member == source.Other || member == "tags" {
		return false
	}
	at := strings.LastIndexByte(rest, '"')
	return at < 0 || at > 0 && !opensAt(rest[:at], rest[at+1:])
}

// opensAt reports whether a quote between two texts is an opening quote.
func opensAt(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return (unicode.IsSpace(last) || last == '(') && (unicode.IsLetter(next) || unicode.IsDigit(next))
}
