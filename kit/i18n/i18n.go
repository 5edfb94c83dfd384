// Package i18n owns how the product speaks: its texts and their translations, plurals, dates, numbers, addresses.
package i18n

import (
	"strconv"
	"strings"
	"time"
)

// Words speak to one reader at one moment.
type Words struct {
	Language Language
	// Zone is the reader's time zone. Without one it is UTC.
	Zone *time.Location
	// Home is the country of the office, by its code. Without one it is Germany.
	Home string
	// Now is the moment of the answer. The meaning of "today" follows from it.
	Now time.Time
}

// Say returns the text in the reader's language, with values in the places of its verbs.
func (w Words) Say(t Text, values ...any) string {
	return w.Language.Say(t, values...)
}

// English reports whether dates and numbers are written as in English: in each language but
// German.
func (w Words) English() bool { return w.Language != German && w.Language != "" }

// Link returns the address of a page in a language.
func Link(path string, l Language) string {
	path, fragment, found := strings.Cut(path, "#")
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	path += separator + "lang=" + string(l)
	if found {
		path += "#" + fragment
	}
	return path
}

// Docs returns the address of a public page, such as the guide, in the reader's language. Public
// pages know no session, and would ask the browser.
func (w Words) Docs(path string) string { return Link(path, w.Language) }

// Plural returns the text that fits n, with the number in the place of %d. English and German
// both say "0 contacts" and "1 contact".
func (w Words) Plural(n int, one, many Text) string {
	return counting(one, many, int64(n), w.Number(n), w.Language)
}

// List joins names: "A", "A und B", "A, B und C".
func (w Words) List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + w.Say(" and ") + names[last]
}

// Number returns 1.284 in German and 1,284 in English.
func (w Words) Number(n int) string { return grouped(int64(n), w.Language) }

// grouped returns n with the language's thousands separator.
func grouped(n int64, l Language) string {
	digits := strconv.FormatInt(n, 10)
	from := 0
	if n < 0 {
		from = 1
	}
	separator := "."
	if l != German && l != "" {
		separator = ","
	}
	var b strings.Builder
	for i, d := range digits {
		if left := len(digits) - i; i > from && left%3 == 0 {
			b.WriteString(separator)
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Decimal returns n with the given number of places: 3,1 in German and 3.1 in
// English.
func (w Words) Decimal(n float64, places int) string {
	whole, part, found := strings.Cut(strconv.FormatFloat(n, 'f', places, 64), ".")
	if i, err := strconv.Atoi(whole); err == nil && i != 0 {
		whole = w.Number(i)
	}
	if !found {
		return whole
	}
	if !w.English() {
		return whole + "," + part
	}
	return whole + "." + part
}

// noBreak keeps a number and its unit in one line.
const noBreak = "\u00a0"

// Bytes returns the size of a file: 210 KB, 3,1 MB. A kilobyte has 1000 bytes, as
// in the browsers' own lists of downloads.
func (w Words) Bytes(n int64) string {
	if n < 1000 {
		return w.Plural(int(n), "%d"+noBreak+"byte", "%d"+noBreak+"bytes")
	}
	units := []string{"KB", "MB", "GB", "TB"}
	size := float64(n) / 1000
	for len(units) > 1 && size >= 999.5 {
		size, units = size/1000, units[1:]
	}
	places := 0
	if size < 9.95 && units[0] != "KB" {
		places = 1
	}
	return w.Decimal(size, places) + noBreak + units[0]
}
