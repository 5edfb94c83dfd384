// Package i18n owns translations, plurals, and the writing and reading of dates, numbers, addresses and languages.
package i18n

import (
	"strconv"
	"strings"
	"time"
)

// Words formats texts for one reader at one time.
type Words struct {
	Language Language
	// Zone is the reader's time zone. If it is nil, times are in UTC.
	Zone *time.Location
	// Home is the country of the office (ISO 3166-1). If it is empty, the country is Germany.
	Home string
	// Now is the current time, from which "today" follows.
	Now time.Time
}

// Say returns a text in the reader's language. values replace its verbs, as in fmt.Sprintf.
func (w Words) Say(t Text, values ...any) string {
	return w.Language.Say(t, values...)
}

// English reports whether dates and numbers have their English form. Only German has another form.
func (w Words) English() bool { return w.Language != German && w.Language != "" }

// Link returns the path of a page with the query parameter lang, which selects a language.
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

// Docs returns the path of a public page, such as the guide, in the reader's language. Public pages
// have no session. Without the parameter lang, they would choose the language of the browser.
func (w Words) Docs(path string) string { return Link(path, w.Language) }

// Plural returns one or many in the reader's language, whichever fits n. The formatted number
// replaces %d.
func (w Words) Plural(n int, one, many Text) string {
	return counting(one, many, int64(n), w.Number(n), w.Language)
}

// List joins names in the reader's language: "A", "A und B", "A, B und C".
func (w Words) List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + w.Say(" and ") + names[last]
}

// Number returns n with the thousands separators of the language: 1.284 in German, 1,284 in
// English.
func (w Words) Number(n int) string { return grouped(int64(n), w.Language) }

// grouped returns n with the thousands separators of the language.
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

// Decimal returns n with this number of decimal places: 3,1 in German, 3.1 in English.
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

// noBreak is a space at which lines do not break. It stands between a number and its unit.
const noBreak = "\u00a0"

// Bytes returns the size of a file as text: 210 KB, 3,1 MB. A KB has 1000 bytes, as in the list of
// downloads of browsers.
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
