package office

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// numberFormat is the format of the numbers in a cell of a workbook (ECMA-376 part 1, section
// 18.8.31).
//
// A day is written as in ISO 8601, whatever its format is. So a date such as 5/4/1984 cannot be
// misread. The format decides about the places of digits, because postal codes and telephone
// numbers have leading zeros. Other numbers are written with all their digits.
type numberFormat struct {
	// layout is the layout of a date or a time, as in package time. It is empty for numbers.
	layout   string
	sections []section
}

// general is the format of cells that have no other format.
var general = &numberFormat{}

// Layouts of dates and times. The layout without a year is vCard's. Its cells contain the year in
// which a person typed the day, and this year has no meaning.
const (
	layoutDay    = time.DateOnly
	layoutMonth  = "2006-01"
	layoutYear   = "2006"
	layoutNoYear = "--01-02"
	layoutTime   = "15:04"
	layoutMoment = "2006-01-02 15:04"
)

// formatOf returns the format with a number and a code. Section 18.8.30 lists the numbers that have
// no code. Excel shows some of them according to the language of the system.
func formatOf(id int, code string) *numberFormat {
	if code == "" {
		switch {
		case id >= 14 && id <= 15, id >= 27 && id <= 31, id == 36, id >= 50 && id <= 54, id >= 57 && id <= 58:
			return &numberFormat{layout: layoutDay}
		case id == 16:
			return &numberFormat{layout: layoutNoYear}
		case id == 17:
			return &numberFormat{layout: layoutMonth}
		case id == 22:
			return &numberFormat{layout: layoutMoment}
		case id >= 18 && id <= 21, id >= 32 && id <= 35, id >= 45 && id <= 47, id >= 55 && id <= 56:
			return &numberFormat{layout: layoutTime}
		}
		return general
	}
	if strings.EqualFold(code, "general") || code == "@" {
		return general
	}
	f := &numberFormat{sections: sectionsOf(code)}
	if len(f.sections) > 0 {
		f.layout = f.sections[0].layout()
	}
	return f
}

// glyph is a character of a format. If shown is set, the character is written as it is. Otherwise
// it stands for a digit or a part of a date.
type glyph struct {
	char  rune
	shown bool
}

// section is a section of a format. Its condition, such as <=9999999, says to which numbers the
// section applies.
type section struct {
	glyphs    []glyph
	condition string
}

// sectionsOf splits the code of a format into its sections.
func sectionsOf(code string) []section {
	list := []section{{}}
	last := &list[0]
	runes := []rune(code)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; r {
		case ';':
			list = append(list, section{})
			last = &list[len(list)-1]
		case '\\':
			if i++; i < len(runes) {
				last.glyphs = append(last.glyphs, glyph{runes[i], true})
			}
		case '_', '*': // the next character is the width of a gap, or a filling
			i++
		case '"':
			for i++; i < len(runes) && runes[i] != '"'; i++ {
				last.glyphs = append(last.glyphs, glyph{runes[i], true})
			}
		case '[':
			begin := i + 1
			for i < len(runes) && runes[i] != ']' {
				i++
			}
			last.bracket(string(runes[min(begin, len(runes)):min(i, len(runes))]))
		default:
			shown := strings.ContainsRune("-+() :$€", r)
			last.glyphs = append(last.glyphs, glyph{r, shown})
		}
	}
	return list
}

// bracket handles the text in brackets: a condition, a currency or an elapsed time. It ignores
// colours and languages.
func (s *section) bracket(text string) {
	switch {
	case strings.HasPrefix(text, "$"):
		symbol, _, _ := strings.Cut(text[1:], "-")
		for _, r := range symbol {
			s.glyphs = append(s.glyphs, glyph{r, true})
		}
	case text != "" && strings.ContainsRune("<>=", rune(text[0])):
		s.condition = text
	case text != "" && strings.Trim(strings.ToLower(text), "hms") == "":
		s.glyphs = append(s.glyphs, glyph{rune(text[0]), false})
	}
}

// has reports whether a section has a placeholder that is one of chars.
func (s *section) has(chars string) bool {
	for _, m := range s.glyphs {
		if !m.shown && strings.ContainsRune(chars, m.char) {
			return true
		}
	}
	return false
}

// layout returns the layout of a section that shows dates or times. It returns an empty string for
// other sections.
func (s *section) layout() string {
	if s.has("0#?@") && !s.has("yYdD") {
		return ""
	}
	year, month, day, hour := s.has("yY"), s.has("mM"), s.has("dD"), s.has("hH")
	switch {
	case hour && (year || day):
		return layoutMoment
	case hour, s.has("sS"):
		return layoutTime
	case year && day:
		return layoutDay
	case day && month:
		return layoutNoYear
	case year && month:
		return layoutMonth
	case year:
		return layoutYear
	case day, month: // the cell has the rest of the date
		return layoutDay
	}
	return ""
}

// lastDay is the 31st of December 9999, the last day of Excel.
const lastDay = 2_958_465

// show returns the text that a cell with the number text shows. since1904 says that the days of the
// workbook count from 1904.
func (f *numberFormat) show(text string, since1904 bool) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return text
	}
	if f.layout != "" && n >= 0 && n <= lastDay {
		return f.day(n, since1904)
	}
	s, n, sign := f.section(n)
	if s == nil || !s.has("0#?") || s.has(".,%eE/") || math.Abs(n) >= 1e15 {
		return sign + plainNumber(n)
	}
	return strings.TrimSpace(sign + s.place(strconv.FormatFloat(math.Round(n), 'f', 0, 64)))
}

// day returns the date or time of a day number. Excel counts days from 1900, and counts a 29th of
// February 1900, which did not exist.
func (f *numberFormat) day(n float64, since1904 bool) string {
	days, part := math.Modf(n)
	switch {
	case since1904:
		days += 1462
	case days < 60:
		days++
	}
	seconds := time.Duration(math.Round(part*86400)) * time.Second
	at := time.Date(1899, time.December, 30, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(days)).Add(seconds)
	layout := f.layout
	if layout == layoutMoment && seconds == 0 {
		layout = layoutDay
	}
	return at.Format(layout)
}

// section returns the section that applies to a number, and the absolute number. The result sign is
// the minus sign if the section does not write one.
func (f *numberFormat) section(n float64) (s *section, shown float64, sign string) {
	if n < 0 {
		sign = "-"
	}
	for i := range f.sections {
		if c := f.sections[i].condition; c != "" && meets(n, c) {
			return &f.sections[i], math.Abs(n), sign
		}
	}
	switch {
	case len(f.sections) == 0:
		return nil, math.Abs(n), sign
	case f.sections[0].condition != "": // the last section applies to the other numbers
		return &f.sections[len(f.sections)-1], math.Abs(n), sign
	case n < 0 && len(f.sections) > 1:
		return &f.sections[1], -n, ""
	case n == 0 && len(f.sections) > 2:
		return &f.sections[2], n, ""
	}
	return &f.sections[0], math.Abs(n), sign
}

// meets reports whether a number meets a condition.
func meets(n float64, condition string) bool {
	value := strings.TrimLeft(condition, "<>=")
	than, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return false
	}
	switch condition[:len(condition)-len(value)] {
	case "<":
		return n < than
	case "<=":
		return n <= than
	case ">":
		return n > than
	case ">=":
		return n >= than
	case "<>":
		return n != than
	}
	return n == than
}

// place writes digits into the places of a section, from the last digit on. If there are more
// digits than places, the others come before the first place.
func (s *section) place(digits string) string {
	first := len(s.glyphs)
	for i := len(s.glyphs) - 1; i >= 0; i-- {
		if m := s.glyphs[i]; !m.shown && strings.ContainsRune("0#?", m.char) {
			first = i
		}
	}
	if digits == "0" && !s.has("0") {
		digits = ""
	}
	out := ""
	for i := len(s.glyphs) - 1; i >= 0; i-- {
		m := s.glyphs[i]
		switch {
		case m.shown || !strings.ContainsRune("0#?", m.char):
			out = string(m.char) + out
		case digits == "" && m.char == '0':
			out = "0" + out
		case digits != "":
			out, digits = digits[len(digits)-1:]+out, digits[:len(digits)-1]
		}
		if i == first {
			out, digits = digits+out, ""
		}
	}
	return out
}

// plainNumber returns the absolute number with the 15 digits that Excel keeps, without an exponent.
func plainNumber(n float64) string {
	n = math.Abs(n)
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 15, 64), 64); err == nil && n < 1e15 {
		n = rounded
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}
