package i18n

import (
	"strconv"
	"time"
)

// months and weekdays are the short names. German dates are numbers.
var (
	months   = [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
	weekdays = [...]Text{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}
)

// here returns t in the reader's zone.
func (w Words) here(t time.Time) time.Time {
	if w.Zone == nil {
		return t.UTC()
	}
	return t.In(w.Zone)
}

// Time returns day and clock: "22.11.2026, 20:01", "22 Nov 2026, 20:01".
func (w Words) Time(t time.Time) string { return w.Day(t) + ", " + w.Clock(t) }

// Day returns the day: "22.11.2026", "22 Nov 2026".
func (w Words) Day(t time.Time) string {
	t = w.here(t)
	if w.English() {
		return strconv.Itoa(t.Day()) + " " + months[t.Month()-1] + " " + strconv.Itoa(t.Year())
	}
	return t.Format("02.01.2006")
}

// Short returns the day without the present year: "22.11.", "22 Nov".
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

// Ago returns how long t is past, up to a day; then "gestern", the day, and in
// another year the day with its year. A page gives the whole time as a title.
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

// Days returns how many days of the calendar t is after today: 1 is tomorrow.
func (w Words) Days(t time.Time) int {
	return int(noon(w.here(t)).Sub(noon(w.here(w.Now))) / (24 * time.Hour))
}

// noon returns the noon of a day in UTC. Noons are whole days apart, even if a day
// between them has 23 hours.
func noon(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 12, 0, 0, 0, time.UTC)
}

// Due returns a due date as people say it: "heute 16:00", "morgen", "Do", "20.11.".
// clock is whether the hour matters.
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

// HasClock reports whether a due date names a time of the day. The last minute of a
// day, and its first, stand for the day alone: see ReadDue.
func (w Words) HasClock(t time.Time) bool {
	h, m, _ := w.here(t).Clock()
	return !(h == 23 && m == 59 || h == 0 && m == 0)
}

// DueText returns a due date as a field shows it, in words that ReadDue reads:
// "24.11.2026 10:00", "2026-11-24 10:00".
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

// Weekday returns the short name of the day: "Do", "Thu".
func (w Words) Weekday(t time.Time) string {
	return w.Say(weekdays[w.here(t).Weekday()])
}

// Machine returns t for the datetime attribute.
func Machine(t time.Time) string { return t.UTC().Format(time.RFC3339) }
