package shell

import (
	"net/url"
	"time"

	"kartei/kit/clock"
	"kartei/web/ui"
)

// days is the value of the select for a range of two days. The other values are durations up to
// now.
const days = "days"

// PeriodFilters are the query parameters that PeriodIn reads.
var PeriodFilters = []string{"since", "from", "to"}

// Period is a filter by time. A zero bound does not restrict.
type Period struct {
	Since, Until clock.Micros
	// Wrong is the error text for invalid days, or empty. Invalid days do not restrict.
	Wrong string
}

// PeriodIn reads a filter by time from query parameters, and normalizes these parameters. The
// filter is a duration up to now, or a first and a last day, both inclusive, in the person's time
// zone. Forms always send the days; they count only if since is "days" or absent.
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

// DaysIn returns the period from a first day to a last day of the person's time zone, both
// inclusive. An empty day does not restrict.
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

// nextDay returns the start of the day after t, in the person's time zone.
func (v *Request) nextDay(t time.Time) time.Time {
	year, month, day := t.In(v.Zone()).Date()
	return time.Date(year, month, day+1, 0, 0, 0, 0, v.Zone())
}

// PeriodOptions returns the options of the select for a period.
func PeriodOptions(v *Request, periods []Option) []ui.Option {
	return append(OptionList(v, periods), ui.Option{Value: days, Text: v.Words.Say("from … to …")})
}

// Moment parses a date or a time in the person's time zone. An empty text is zero. wrong reports an
// invalid text.
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
