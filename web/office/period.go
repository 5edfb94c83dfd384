package office

import (
	"net/url"
	"time"

	"kartei/kit/clock"
	"kartei/web/ui"
)

// days is the choice of a filter by time that takes two days in place of a period.
const days = "days"

// periodFilters are the parameters of the address that periodIn reads.
var periodFilters = []string{"since", "from", "to"}

// period is a filter by time. Each bound is zero if nothing bounds.
type period struct {
	since, until clock.Micros
	// wrong says what is wrong with the days, which then do not restrict.
	wrong string
}

// periodIn reads a filter by time: one of the periods up to now, or two days of the
// person's time zone, both inclusive. Of another choice than days, the form still sends
// the days; an address needs no choice to name days.
func (v *request) periodIn(q url.Values, periods []option) (p period) {
	if chosen := q.Get("since"); chosen != days && (q.Has("since") || q.Get("from")+q.Get("to") == "") {
		q.Set("since", offered(periods, chosen))
		q.Del("from")
		q.Del("to")
		if ago, err := time.ParseDuration(q.Get("since")); err == nil {
			p.since = clock.FromTime(v.words.Now.Add(-ago))
		}
		return p
	}
	q.Set("since", days)
	if p = v.daysIn(q.Get("from"), q.Get("to")); p.wrong == "" && p.since == 0 && p.until == 0 {
		p.wrong = v.words.Say("Wählen Sie den ersten oder den letzten Tag. Gezeigt wird alles.", "Choose the first or the last day. Everything is shown.")
	}
	return p
}

// daysIn reads a first and a last day of the person's time zone, both inclusive. An empty
// one does not bound.
func (v *request) daysIn(first, last string) (p period) {
	from, noFrom := v.moment(first)
	to, noTo := v.moment(last)
	switch {
	case noFrom || noTo:
		p.wrong = v.words.Say("Einen dieser Tage gibt es nicht. Gezeigt wird alles.", "One of these days does not exist. Everything is shown.")
		return p
	case to != 0 && from > to:
		p.wrong = v.words.Say("Der erste Tag liegt nach dem letzten. Gezeigt wird alles.", "The first day is after the last one. Everything is shown.")
		return p
	case to != 0:
		p.until = clock.FromTime(v.nextDay(to.Time()))
	}
	p.since = from
	return p
}

// nextDay returns the beginning of the day after a time, in the person's time zone.
func (v *request) nextDay(t time.Time) time.Time {
	year, month, day := t.In(v.zone()).Date()
	return time.Date(year, month, day+1, 0, 0, 0, 0, v.zone())
}

// periodOptions are the choices of a filter by time.
func periodOptions(v *request, periods []option) []ui.Option {
	return append(optionList(v, periods), ui.Option{Value: days, Text: v.words.Say("von … bis …", "from … to …")})
}

// moment returns a time that a person typed, in their time zone; zero if nothing was.
func (v *request) moment(typed string) (at clock.Micros, wrong bool) {
	if typed == "" {
		return 0, false
	}
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02"} {
		if t, err := time.ParseInLocation(form, typed, v.zone()); err == nil {
			return clock.FromTime(t), false
		}
	}
	return 0, true
}
