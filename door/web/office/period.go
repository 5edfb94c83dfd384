package office

import (
	"net/url"
	"time"

	"kartei/door/web/look"
	"kartei/kit/clock"
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
	from, noFrom := v.moment(q.Get("from"))
	to, noTo := v.moment(q.Get("to"))
	switch {
	case noFrom || noTo:
		p.wrong = v.words.Say("Einen dieser Tage gibt es nicht. Gezeigt wird alles.", "One of these days does not exist. Everything is shown.")
	case from == 0 && to == 0:
		p.wrong = v.words.Say("Wählen Sie den ersten oder den letzten Tag. Gezeigt wird alles.", "Choose the first or the last day. Everything is shown.")
	case to != 0 && from > to:
		p.wrong = v.words.Say("Der erste Tag liegt nach dem letzten. Gezeigt wird alles.", "The first day is after the last one. Everything is shown.")
	default:
		p.since = from
		if to != 0 {
			p.until = clock.FromTime(v.nextDay(to.Time()))
		}
	}
	return p
}

// periodOptions are the choices of a filter by time.
func periodOptions(v *request, periods []option) []look.Option {
	return append(optionList(v, periods), look.Option{Value: days, Text: v.words.Say("von … bis …", "from … to …")})
}
