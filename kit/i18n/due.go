package i18n

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// days maps German and English words to a number of days from today. Readers of one language may
// use words of the other.
var days = map[string]int{"heute": 0, "today": 0, "morgen": 1, "tomorrow": 1, "übermorgen": 2, "uebermorgen": 2}

// weekdayWords are the German and English words for the days of the week, beginning with Sunday.
var weekdayWords = [7][]string{
	{"so", "sonntag", "sun", "sunday"}, {"mo", "montag", "mon", "monday"}, {"di", "dienstag", "tue", "tuesday"},
	{"mi", "mittwoch", "wed", "wednesday"},
	{"do", "donnerstag", "thu", "thursday"}, {"fr", "freitag", "fri", "friday"},
	{"sa", "samstag", "sonnabend", "sat", "saturday"},
}

var (
	dotted   = regexp.MustCompile(`^(\d{1,2})\.(\d{1,2})\.(\d{4}|\d{2})?$`)
	iso      = regexp.MustCompile(`^(\d{4})-(\d{2})-(\d{2})$`)
	later    = regexp.MustCompile(`^\+(\d{1,3})([tdwm])$`)
	hour     = regexp.MustCompile(`^(\d{1,2})(?:[:.](\d{2}))?(am|pm)?$`)
	halves   = map[string]string{"am": "am", "a.m.": "am", "pm": "pm", "p.m.": "pm"}
	hourWord = []string{"uhr", "h", "o'clock"}

	// coming are words before a weekday, as in "nächsten Freitag". All of them mean the next such
	// weekday after today.
	coming = []string{
		"nächsten", "nächster", "nächste", "naechsten", "kommenden", "kommender", "diesen", "dieser", "next",
		"this", "coming",
	}
	// spans maps words for units of time to the letter of the unit, as in "+3d".
	spans = map[string]string{
		"tag": "d", "tage": "d", "tagen": "d", "day": "d", "days": "d", "woche": "w", "wochen": "w", "week": "w",
		"weeks": "w",
		"monat": "m", "monate": "m", "monaten": "m", "month": "m", "months": "m",
	}
	// ones are the words for the number one before a unit of time.
	ones = []string{"einem", "einer", "a", "one"}
)

// ReadDue parses a due date as people type it: "morgen", "fr 16:30", "15.12.", "+3d", "nächsten
// Freitag um 10 Uhr", "in 2 Wochen", "tomorrow 10", "2026-12-15". The result due is in the reader's
// time zone. clock says whether the text has a time. Without a time, due is 23:59 on that day. A
// date without a year means the next such date. ok is false for other texts.
func (w Words) ReadDue(text string) (due time.Time, clock, ok bool) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) > 1 && slices.Contains(hourWord, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	if last := len(words) - 1; last > 0 && halves[words[last]] != "" { // for example: 10 am
		words = append(words[:last-1:last-1], words[last-1]+halves[words[last]])
	}
	if len(words) == 0 || len(words) > maxDueWords {
		return time.Time{}, false, false
	}
	day, rest, ok := w.readDays(words)
	if !ok {
		return time.Time{}, false, false
	}
	if len(rest) == 2 && (rest[0] == "um" || rest[0] == "at") {
		rest = rest[1:]
	}
	h, m := 23, 59
	switch len(rest) {
	case 0:
	case 1:
		if h, m, ok = readClock(rest[0]); !ok {
			return time.Time{}, false, false
		}
	default:
		return time.Time{}, false, false
	}
	return time.Date(day.Year(), day.Month(), day.Day(), h, m, 0, 0, day.Location()), len(rest) == 1, true
}

// maxDueWords is the maximum number of words in a due date, as in "in 2 wochen um 10 uhr".
const maxDueWords = 6

// readDays parses the day at the beginning of words, and returns it with the remaining words.
func (w Words) readDays(words []string) (day time.Time, rest []string, ok bool) {
	if len(words) > 2 && words[0] == "in" && spans[words[2]] != "" {
		number := words[1]
		if slices.Contains(ones, number) {
			number = "1"
		}
		day, ok = w.readDay("+" + number + spans[words[2]])
		return day, words[3:], ok
	}
	if len(words) > 1 && slices.Contains(coming, words[0]) {
		for _, names := range weekdayWords {
			if slices.Contains(names, strings.TrimSuffix(words[1], ".")) {
				day, ok = w.readDay(words[1])
				return day, words[2:], ok
			}
		}
		return time.Time{}, nil, false
	}
	day, ok = w.readDay(words[0])
	return day, words[1:], ok
}

// before are words before a due date that TakeDue removes with the date.
var before = []string{"am", "bis", "zum", "on", "by", "until"}

// TakeDue splits a due date off the end of a line: the line "Klage prüfen morgen 10" has the rest
// "Klage prüfen". ok is false if the line has no due date, or nothing but a due date.
func (w Words) TakeDue(line string) (rest string, due time.Time, clock, ok bool) {
	words := strings.Fields(line)
	for take := min(maxDueWords, len(words)-1); take > 0; take-- {
		at := len(words) - take
		if due, clock, ok = w.ReadDue(strings.Join(words[at:], " ")); ok {
			if at > 1 && slices.Contains(before, strings.ToLower(words[at-1])) {
				at--
			}
			return strings.Join(words[:at], " "), due, clock, true
		}
	}
	return strings.Join(words, " "), time.Time{}, false, false
}

// Misread returns the end of a line if it looks like a due date but is invalid, such as "31.02." or
// "morgen 25". Otherwise it returns an empty text. With the result, a page can point out that the
// date was not understood.
func (w Words) Misread(line string) string {
	words := strings.Fields(line)
	for take := min(maxDueWords, len(words)-1); take > 0; take-- {
		tail := words[len(words)-take:]
		if first := tail[0]; dotted.MatchString(first) || iso.MatchString(first) {
			_, _, ok := w.ReadDue(strings.Join(tail, " "))
			_, _, alike := w.ReadDue("heute " + strings.Join(tail[1:], " "))
			if !ok && alike {
				return strings.Join(tail, " ")
			}
		}
		if _, clock, ok := w.ReadDue(strings.Join(tail[:take-1], " ")); ok && !clock &&
			hour.MatchString(strings.ToLower(tail[take-1])) {
			if _, _, whole := w.ReadDue(strings.Join(tail, " ")); !whole {
				return strings.Join(tail, " ")
			}
		}
	}
	return ""
}

// readDay parses a word for a day and returns a time on this day, in the reader's time zone.
func (w Words) readDay(word string) (time.Time, bool) {
	today := w.here(w.Now)
	if n, ok := days[word]; ok {
		return today.AddDate(0, 0, n), true
	}
	for weekday, names := range weekdayWords {
		if slices.Contains(names, strings.TrimSuffix(word, ".")) {
			ahead := (weekday - int(today.Weekday()) + 7) % 7
			if ahead == 0 {
				ahead = 7
			}
			return today.AddDate(0, 0, ahead), true
		}
	}
	if m := later.FindStringSubmatch(word); m != nil {
		n, _ := strconv.Atoi(m[1])
		switch m[2] {
		case "w":
			return today.AddDate(0, 0, 7*n), true
		case "m":
			return today.AddDate(0, n, 0), true
		}
		return today.AddDate(0, 0, n), true
	}
	if m := iso.FindStringSubmatch(word); m != nil {
		return date(m[1], m[2], m[3], today.Location())
	}
	if m := dotted.FindStringSubmatch(word); m != nil {
		return w.readDotted(m[1], m[2], m[3])
	}
	return time.Time{}, false
}

// readDotted returns noon of a date such as "15.12." or "15.12.26". Without a year, the date is the
// next such date from today on.
func (w Words) readDotted(day, month, year string) (time.Time, bool) {
	today := w.here(w.Now)
	switch len(year) {
	case 4:
		return date(year, month, day, today.Location())
	case 2:
		return date("20"+year, month, day, today.Location())
	}
	// The next 29 February is at most eight years away.
	for y := today.Year(); y <= today.Year()+8; y++ {
		if d, ok := date(strconv.Itoa(y), month, day, today.Location()); ok && w.Days(d) >= 0 {
			return d, true
		}
	}
	return time.Time{}, false
}

// date returns noon of a day in a time zone. It returns false if the day does not exist, or if its
// year is before 1900.
func date(year, month, day string, zone *time.Location) (time.Time, bool) {
	y, _ := strconv.Atoi(year)
	m, _ := strconv.Atoi(month)
	d, _ := strconv.Atoi(day)
	t := time.Date(y, time.Month(m), d, 12, 0, 0, 0, zone)
	return t, t.Day() == d && int(t.Month()) == m && y >= 1900
}

// readClock parses a time such as "10", "16:30", "16.30" or "4:30pm".
func readClock(word string) (h, m int, ok bool) {
	found := hour.FindStringSubmatch(word)
	if found == nil {
		return 0, 0, false
	}
	h, _ = strconv.Atoi(found[1])
	m, _ = strconv.Atoi(found[2])
	if found[3] == "" {
		return h, m, h < 24 && m < 60
	}
	ok = 1 <= h && h <= 12 && m < 60
	h %= 12 // 12 am is 0:00
	if found[3] == "pm" {
		h += 12
	}
	return h, m, ok
}
