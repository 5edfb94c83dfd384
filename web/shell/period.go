package shell

import (
	"net/url"
	"time"

	"kartei/kit/clock"
	"kartei/web/ui"
)

// days is the choice of a filter by time that takes two days in place of a period.
const days = "days"

// PeriodFilters are the parameters of the address that PeriodIn reads.
var PeriodFilters = []string{"since", "from", "to"}

// Period is a filter by time. Each bound is zero if nothing bounds.
type Period struct {
	Since, Until clock.Micros
	// Wrong says what is wrong with the days, which then do not restrict.
	Wrong string
}

// PeriodIn reads a filter by time: one of the periods up to now, or two days of the
// person's time zone, both inclusive. Of another choice than days, the form still sends
// the days; an address needs no choice to name days.
func (v *Request) PeriodIn(q url.Values, periods []Option) (p Period) {
	if chosen := q.Get("since"); chosen != days && (q.Has("since") || q.Get("from")+q.Get("to") == "") {
		q.Set("since", Offered(periods, chosen))
		q.Del("from")
		q.Del("to")
		if ago, err := time.ParseDuration(q.Get("since")); err == nil {
			p.Since = clock.FromTime(v.Words.Now.Add(-ago))
		}
		return p
	}
	q.Set("since", days)
	if p = v.DaysIn(q.Get("from"), q.Get("to")); p.Wrong == "" && p.Since == 0 && p.Until == 0 {
		p.Wrong = v.Words.Say("Choose the first or the last day. Everything is shown.")
	}
	return p
}

// DaysIn reads a first and a last day of the person's time zone, both inclusive. An empty
// one does not bound.
func (v *Request) DaysIn(first, last string) (p Period) {
	from, noFrom := v.Moment(first)
	to, noTo := v.Moment(last)
	switch {
	case noFrom || noTo:
		p.Wrong = v.Words.Say("One of these days does not exist. Everything is shown.")
		return p
	case to != 0 && from > to:
		p.Wrong = v.Words.Say("The first day is after the last one. Everything is shown.")
		return p
	case to != 0:
		p.Until = clock.FromTime(v.nextDay(to.Time()))
	}
	p.Since = from
	return p
}

// nextDay returns the beginning of the day after a time, in the person's time zone.
func (v *Request) nextDay(t time.Time) time.Time {
	year, month, day := t.In(v.Zone()).Date()
	return time.Date(year, month, day+1, 0, 0, 0, 0, v.Zone())
}

// PeriodOptions are the choices of a filter by time.
func PeriodOptions(v *Request, periods []Option) []ui.Option {
	return append(OptionList(v, periods), ui.Option{Value: days, Text: v.Words.Say("from … to …")})
}

// Moment returns a time that a person typed, in their time zone; zero if nothing was.
func (v *Request) Moment(typed string) (at clock.Micros, wrong bool) {
	if typed == "" {
		return 0, false
	}
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02"} {
		if t, err := time.ParseInLocation(form, typed, v.Zone()); err == nil {
			return clock.FromTime(t), false
		}
	}
	return 0, true
}
