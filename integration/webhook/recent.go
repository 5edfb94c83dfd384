package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"kartei/integration/event"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// Recent are the attempts at an endpoint in the current hour and the 23 hours before.
type Recent struct {
	// Hours are in chronological order. The last hour is the current hour.
	Hours []Hour `json:"hours"`
	// P95Ms is the 95th percentile of the response times in milliseconds. It is taken from the
	// latest 200 responses in these hours, and is zero if there are none.
	P95Ms int64 `json:"p95Ms"`
}

// Hour has the numbers of attempts in one hour. Each number is at most MaxCounted, which means that
// many or more.
type Hour struct {
	At        clock.Micros `json:"at"`
	Succeeded int64        `json:"succeeded"`
	Failed    int64        `json:"failed"`
}

const (
	// MaxCounted is the maximum of a count of attempts in an hour or of missed events.
	MaxCounted = 1000
	// recentHours is the number of hours in Recent.
	recentHours = 24
	// timed is the number of responses from which P95Ms is taken.
	timed = 200
	// selectTimes reads the response times of the latest responses.
	selectTimes = `select response_ms from webhook_attempts where organization = $1 and endpoint = $2 and id >= $3 and response_status > 0
		order by id desc limit $4`
)

// selectHours counts the attempts and the failures between 25 ids. Each count reads a short range
// of an index, because the log may have millions of rows in these hours.
var selectHours = func() string {
	var hours []string
	for hour := range recentHours {
		counted := func(condition string) string {
			return fmt.Sprintf(`(select count(*) from (select 1 from webhook_attempts where organization = $1 and endpoint = $2
				and id >= $%d and id < $%d%s limit %d) as a)`, hour+3, hour+4, condition, MaxCounted)
		}
		hours = append(hours, fmt.Sprintf("select %d, %s, %s", hour, counted(""), counted(" and status = 'failed'")))
	}
	return strings.Join(hours, " union all ")
}()

// hourBounds returns the beginnings of the hours, and the smallest attempt ids of the hours. Both
// lists also have the hour after the last. The id of an attempt contains the time when it began.
func hourBounds(now clock.Micros) (begin []clock.Micros, ids []any) {
	first := clock.FromTime(now.Time().Truncate(time.Hour).Add(-(recentHours - 1) * time.Hour))
	for hour := range recentHours + 1 {
		at := first + clock.Micros(hour)*clock.Hour
		begin, ids = append(begin, at), append(ids, id.Least(id.Delivery, at.Time()))
	}
	return begin, ids
}

// recent returns the numbers of attempts in the last hours.
func (r *Row) recent(ctx context.Context, tx db.Tx, now clock.Micros) (*Recent, error) {
	begin, ids := hourBounds(now)
	out := &Recent{Hours: make([]Hour, recentHours)}
	for hour := range out.Hours {
		out.Hours[hour].At = begin[hour]
	}
	rows, err := tx.Query(ctx, selectHours, append([]any{r.Organization, r.ID}, ids...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var hour, all, failed int64
		if err := rows.Scan(&hour, &all, &failed); err != nil {
			return nil, err
		}
		out.Hours[hour].Succeeded, out.Hours[hour].Failed = max(0, all-failed), failed
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	rows.Close()
	times, err := db.List(ctx, tx, func(row db.Row) (ms int64, err error) { return ms, row.Scan(&ms) }, selectTimes,
		r.Organization, r.ID, ids[0], timed)
	if len(times) > 0 {
		slices.Sort(times)
		out.P95Ms = times[(len(times)*95-1)/100]
	}
	return out, err
}

// Tally is a number of events, at most MaxCounted. More says that there may be more events.
type Tally struct {
	Events int  `json:"events"`
	More   bool `json:"more"`
}

// maxScans is the maximum number of queries for one count. Each query scans 1,000 rows.
const maxScans = 5

// tally counts the distinct events that one or more resends would send. It stops at its bounds, and
// then sets More.
func (r resendStep) tally(ctx context.Context, tx db.Tx, sees string, froms ...resendFrom) (t Tally, err error) {
	found := map[string]bool{}
	for _, from := range froms {
		next := &from
		for range maxScans {
			var events []event.Event
			at := *next
			if from.Failed {
				err = r.nextFailed(ctx, tx, at, sees, &events, &next)
			} else {
				err = r.nextRange(ctx, tx, at, sees, &events, &next)
			}
			if err != nil {
				return t, err
			}
			for _, e := range events {
				found[e.ID] = true
			}
			if next == nil || len(found) >= MaxCounted {
				break
			}
		}
		t.More = t.More || next != nil
	}
	t.Events = len(found)
	if t.Events > MaxCounted {
		t.Events, t.More = MaxCounted, true
	}
	return t, nil
}
