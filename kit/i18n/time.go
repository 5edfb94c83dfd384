package i18n

import (
	"strconv"
	"time"
)

// months and weekdays are the short English names. months has no translations, because German dates
// have numbers.
var (
	months   = [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
	weekdays = [...]Text{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}
)

// here returns t in the reader's time zone.
func (w Words) here(t time.Time) time.Time {
	if w.Zone == nil {
		return t.UTC()
	}
	return t.In(w.Zone)
}

// Time returns the day and the time of the day: "22.11.2026, 20:01", "22 Nov 2026, 20:01".
func (w Words) Time(t time.Time) string { return w.Day(t) + ", " + w.Clock(t) }

// Day returns the day: "22.11.2026", "22 Nov 2026".
func (w Words) Day(t time.Time) string {
	t = w.here(t)
	if w.English() {
		return strconv.Itoa(t.Day()) + " " + months[t.Month()-1] + " " + strconv.Itoa(t.Year())
	}
	return t.Format("02.01.2006")
}

// Short returns the day, without the year if it is the current year: "22.11.", "22 Nov".
func (w Words) Short(t time.Time) string {
	here := w.here(t)
	if here.Year() != w.here(w.Now).Year() {
		return w.Day(t)
	}
	if w.English() {
		return strconv.Itoa(here.Day()) + " " + months[here.Month()-1]
	}
	return here.Format("02.01.")
}

// Clock returns the time of the day: "20:01".
func (w Words) Clock(t time.Time) string { return w.here(t).Format("15:04") }

// Ago returns the time since t in words, if it is less than 24 hours. For an earlier t it returns
// "yesterday" or the day as in Short. If t is in the future, it returns t as in Time.
func (w Words) Ago(t time.Time) string {
	past := w.Now.Sub(t)
	switch {
	case past < -time.Minute:
		return w.Time(t)
	case past < time.Minute:
		return w.Say("just now")
	case past < time.Hour:
		minutes := strconv.Itoa(int(past / time.Minute))
		return w.Say("%s"+noBreak+"min ago", minutes)
	case past < 24*time.Hour:
		hours := strconv.Itoa(int(past / time.Hour))
		return w.Say("%s"+noBreak+"h ago", hours)
	case w.Days(t) == -1:
		return w.Say("yesterday")
	}
	return w.Short(t)
}

// Days returns the number of calendar days from today to t: 1 is tomorrow, -1 yesterday.
func (w Words) Days(t time.Time) int {
	return int(noon(w.here(t)).Sub(noon(w.here(w.Now))) / (24 * time.Hour))
}

// noon returns noon in UTC on the calendar day of t. The difference of two noons is a multiple of
// 24 hours, even if a day between them has 23 hours in the reader's time zone.
func noon(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, time.UTC)
}

// Due returns a due date in words: "heute 16:00", "morgen", "Do", "20.11.". It includes the time of
// the day if clock is true.
func (w Words) Due(t time.Time, clock bool) string {
	var day string
	switch days := w.Days(t); {
	case days == -1:
		day = w.Say("yesterday")
	case days == 0:
		day = w.Say("today")
	case days == 1:
		day = w.Say("tomorrow")
	case days > 1 && days < 7:
		day = w.Weekday(t)
	default:
		day = w.Short(t)
	}
	if clock {
		return day + " " + w.Clock(t)
	}
	return day
}

// HasClock reports whether a due date has a time of the day. 23:59 and 0:00 stand for a whole day:
// see ReadDue.
func (w Words) HasClock(t time.Time) bool {
	h, m, _ := w.here(t).Clock()
	return !(h == 23 && m == 59 || h == 0 && m == 0)
}

// DueText returns a due date for a form field: "24.11.2026 10:00", "2026-11-24 10:00". ReadDue
// parses this form.
func (w Words) DueText(t time.Time) string {
	dueFormat := time.DateOnly
	if !w.English() {
		dueFormat = "02.01.2006"
	}
	text := w.here(t).Format(dueFormat)
	if w.HasClock(t) {
		text += " " + w.Clock(t)
	}
	return text
}

// Weekday returns the short name of the day of the week: "Do", "Thu".
func (w Words) Weekday(t time.Time) string {
	return w.Say(weekdays[w.here(t).Weekday()])
}

// Machine returns t in RFC 3339 for the attribute datetime of HTML.
func Machine(t time.Time) string { return t.UTC().Format(time.RFC3339) }
