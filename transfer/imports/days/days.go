// Package days owns how a day is read, as people and programs write it.
package days

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Order is the order of day and month in the values of a column.
type Order string

// The orders. The Order of a column is empty if no value proves one. It is bothOrders if values
// prove different ones.
const (
	DayFirst   Order = "dayFirst"
	MonthFirst Order = "monthFirst"
	bothOrders Order = "both"
)

// slashed matches a date with slashes or hyphens, in which the order of day and month is open.
var slashed = regexp.MustCompile(`^\s*(\d{1,2})[/-](\d{1,2})[/-]\d{2,4}\b`)

// Learn returns the order of a column after one more value. For example, 5/17/1984 proves that the
// month comes first.
func (o Order) Learn(text string) Order {
	m := slashed.FindStringSubmatch(text)
	if m == nil {
		return o
	}
	a, _ := strconv.Atoi(m[1]) // Atoi cannot fail for digits
	b, _ := strconv.Atoi(m[2])
	says := o
	switch {
	case a > 12 && b <= 12:
		says = DayFirst
	case b > 12 && a <= 12:
		says = MonthFirst
	}
	if o != "" && says != o {
		return bothOrders
	}
	return says
}

// months maps the beginnings of the names of months in German, English, French, Italian, Spanish
// and Dutch to their numbers.
var months = map[string]int{
	"jan": 1, "jän": 1, "gen": 1, "ene": 1, "feb": 2, "fév": 2, "fev": 2, "mär": 3, "mar": 3, "mrz": 3, "mae": 3,
	"maa": 3, "apr": 4, "avr": 4, "abr": 4,
	"mai": 5, "may": 5, "mag": 5, "mei": 5, "jun": 6, "giu": 6, "jul": 7, "lug": 7, "aug": 8, "aoû": 8, "aou": 8, "ago": 8,
	"sep": 9, "set": 9, "okt": 10, "oct": 10, "ott": 10, "nov": 11, "dez": 12, "dec": 12, "déc": 12, "dic": 12,
}

var (
	// worded matches 17. Mai 1984 and 17-May-1984. wordedFirst matches May 17, 1984.
	worded      = regexp.MustCompile(`^(\d{1,2})(?:st|nd|rd|th|er|º)?[. -]+(?:de )?(\p{L}{3,})[. ,-]+(?:de )?(\d{2,4})$`)
	wordedFirst = regexp.MustCompile(`^(\p{L}{3,})[. ]+(\d{1,2})(?:st|nd|rd|th)?[, ]+(\d{4})$`)
	weekday     = regexp.MustCompile(`^(?i)(mo|di|mi|do|fr|sa|so|mon|tue|wed|thu|fri|sat|sun)\p{L}*\.?,? +`)
	// clockTime matches a time after a day.
	clockTime = regexp.MustCompile(`(T\d{2}|[ ,]+\d{1,2}:)\d{2}.*$|T\d{2}:\d{2}.*$|[ ,]+\d{1,2}\.\d{2} *(Uhr|h)$`)
	// midnight matches a time of zero, which programs add to days.
	midnight = regexp.MustCompile(`^[T ,]*(0?0|12(:00)+ ?AM$)?[:.0]*( *(Z|Uhr|h|AM|[+-]\d\d:?\d\d))?$`)
	parted   = regexp.MustCompile(`^(\d{1,4}) ?[./-] ?(\d{1,2}) ?[./-] ?(\d{1,4})\.?$`)
	// serial matches the number of a day in a spreadsheet.
	serial = regexp.MustCompile(`^\d{5}(\.0+)?$`)
	// noDay matches values that programs write if the day is missing.
	noDay = regexp.MustCompile(`^(0{1,4}[./-]0{1,4}[./-]0{1,4}|0+|0?1[./-]0?1[./-](0001|1601)|0001-01-01|1601-01-01|4501-01-01|0?1[./-]0?1[./-]4501|[./-]+)$`)
)

// Read parses a day, and returns it in the format of the API, 1984-05-17. day is empty if the text
// means a missing day. known is false if the text is not a day. guessed is true if the text has
// another possible meaning, or contains a time too.
//
// order is the order that the column proves. If it proves none, first says that the month comes
// first. year is the present year, because a year of two digits cannot be in the future.
func Read(text string, order Order, first bool, year int) (day string, known, guessed bool) {
	text = strings.TrimSpace(text)
	guessed = !midnight.MatchString(clockTime.FindString(text))
	text = strings.TrimSpace(clockTime.ReplaceAllString(text, ""))
	text = weekday.ReplaceAllString(text, "")
	if len(text) == 8 && strings.Trim(text, "0123456789") == "" { // 19840517, from cards
		text = text[:4] + "-" + text[4:6] + "-" + text[6:]
	}
	if noDay.MatchString(text) {
		return "", true, false
	}
	var d, m, y int
	var short bool
	number := func(s string) int {
		n, _ := strconv.Atoi(s) // Atoi cannot fail for digits
		return n
	}
	if p := parted.FindStringSubmatch(text); p != nil {
		a, b := number(p[1]), number(p[2])
		switch {
		case len(p[1]) >= 3 && len(p[3]) <= 2:
			y, m, d = a, b, number(p[3])
		case len(p[1]) <= 2:
			d, m, y, short = a, b, number(p[3]), len(p[3]) <= 2
			swap := !strings.Contains(text, ".") && (order == MonthFirst || order != DayFirst && first)
			guessed = guessed || short || swap && a > 12 || !swap && b > 12
			if (swap || m > 12) && d <= 12 && !strings.Contains(text, ".") {
				d, m = m, d
			}
			if m > 12 && d <= 12 && strings.Contains(text, "/") { // only possible with day and month swapped
				d, m = m, d
			}
		default:
			return "", false, false
		}
	} else if p := worded.FindStringSubmatch(text); p != nil {
		d, m, y, short = number(p[1]), monthOf(p[2]), number(p[3]), len(p[3]) == 2
		guessed = guessed || short
	} else if p := wordedFirst.FindStringSubmatch(text); p != nil {
		d, m, y = number(p[2]), monthOf(p[1]), number(p[3])
	} else if serial.MatchString(text) {
		n := number(text[:5])
		at := time.Date(1899, 12, 30+n, 0, 0, 0, 0, time.UTC)
		if n < 10000 || at.Year() > year { // from 1927 on: smaller numbers are probably codes
			return "", false, false
		}
		y, m, d, guessed = at.Year(), int(at.Month()), at.Day(), true
	} else {
		return "", false, false
	}
	if short { // 84 means 1984, because a birthday is not in the future
		if y += 2000; y > year {
			y -= 100
		}
	}
	if y < 1000 || m < 1 || m > 12 || d < 1 || d > time.Date(y, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day() {
		return "", false, false
	}
	return fmt.Sprintf("%04d-%02d-%02d", y, m, d), true, guessed
}

// monthOf returns the number of a month, or 0 for an unknown name.
func monthOf(name string) int {
	runes := []rune(strings.ToLower(name))
	if s := string(runes); strings.HasPrefix(s, "juil") {
		return 7
	} else if strings.HasPrefix(s, "juin") {
		return 6
	}
	return months[string(runes[:3])]
}

// yearless matches a day without a year: --0412, --04-12, 1604-04-12.
var yearless = regexp.MustCompile(`^(?:--|1604-?)(\d\d)-?(\d\d)$`)

// Words returns a day without a year in the form 12.4. for --0412. It returns other texts
// unchanged.
func Words(text string) string {
	if m := yearless.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
		return m[2] + "." + m[1] + "."
	}
	return text
}
