// Package i18n owns how pages speak: sentences, plurals, dates, numbers, addresses, in German and in English.
package i18n

import (
	"strconv"
	"strings"
	"time"

	"kartei/kit/fault"
)

// Words speak to one reader at one moment.
type Words struct {
	Language fault.Language
	// Zone is the reader's time zone. Without one it is UTC.
	Zone *time.Location
	// Home is the country of the office, by its code. Without one it is Germany.
	Home string
	// Now is the moment of the answer. The meaning of "today" follows from it.
	Now time.Time
}

// Say returns the sentence in the reader's language.
func (w Words) Say(de, en string) string { return w.In(fault.Text{DE: de, EN: en}) }

// In returns a text in the reader's language.
func (w Words) In(t fault.Text) string { return t.In(w.Language) }

// English reports whether the reader reads English.
func (w Words) English() bool { return w.Language == fault.English }

// Link returns the address of a page in a language.
func Link(path string, l fault.Language) string {
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

// Plural returns the sentence that fits n, with the number in place of %d. German
// and English both say "0 Kontakte" and "1 Kontakt".
func (w Words) Plural(n int, deOne, deMany, enOne, enMany string) string {
	sentence := w.Say(deMany, enMany)
	if n == 1 {
		sentence = w.Say(deOne, enOne)
	}
	return strings.ReplaceAll(sentence, "%d", w.Number(n))
}

// List joins names: "A", "A und B", "A, B und C".
func (w Words) List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + w.Say(" und ", " and ") + names[last]
}

// Number returns 1.284 in German and 1,284 in English.
func (w Words) Number(n int) string {
	digits := strconv.Itoa(n)
	from := 0
	if n < 0 {
		from = 1
	}
	separator := w.Say(".", ",")
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
	return whole + w.Say(",", ".") + part
}

// noBreak keeps a number and its unit in one line.
const noBreak = "\u00a0"

// Bytes returns the size of a file: 210 KB, 3,1 MB. A kilobyte has 1000 bytes, as
// in the browsers' own lists of downloads.
func (w Words) Bytes(n int64) string {
	if n < 1000 {
		return w.Plural(int(n), "%d"+noBreak+"Byte", "%d"+noBreak+"Byte", "%d"+noBreak+"byte", "%d"+noBreak+"bytes")
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
