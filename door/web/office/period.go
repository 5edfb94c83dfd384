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

// periodIn reads a filter by time: one of the periods up to now, or two days of the
// person's time zone, both inclusive. Each bound is zero where nothing bounds. What is
// none of the choices or no day does not restrict, and leaves the parameters.
func (v *request) periodIn(q url.Values, periods []option) (since, until clock.Micros) {
	from, noDay := v.moment(q.Get("from"))
	if noDay {
		q.Del("from")
	}
	to, noDay := v.moment(q.Get("to"))
	if noDay {
		q.Del("to")
	}
	if from != 0 || to != 0 {
		q.Set("since", days)
		if to != 0 {
			until = clock.FromTime(v.nextDay(to.Time()))
		}
		return from, until
	}
	q.Set("since", offered(periods, q.Get("since")))
	if ago, err := time.ParseDuration(q.Get("since")); err == nil {
		since = clock.FromTime(v.words.Now.Add(-ago))
	}
	return since, 0
}

// periodOptions are the choices of a filter by time.
func periodOptions(v *request, periods []option) []look.Option {
	return append(optionList(v, periods), look.Option{Value: days, Text: v.words.Say("von … bis …", "from … to …")})
}
