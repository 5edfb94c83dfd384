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

// Recent are the attempts at an endpoint in this hour and the 23 before it.
type Recent struct {
	// Hours are in the order of time; the last one goes on.
	Hours []Hour `json:"hours"`
	// P95Ms is the time that 95 of 100 answers stay below, of the latest 200 of these
	// hours. It is zero if there was none.
	P95Ms int64 `json:"p95Ms"`
}

// Hour counts the attempts of an hour. Each number is at most MaxCounted, which then
// means that many or more.
type Hour struct {
	At        clock.Micros `json:"at"`
	Succeeded int64        `json:"succeeded"`
	Failed    int64        `json:"failed"`
}

const (
	// MaxCounted bounds what is counted: attempts of an hour, events that were missed.
	MaxCounted = 1000
	// recentHours is the number of hours in Recent.
	recentHours = 24
	// timed is the number of answers of which P95Ms is taken.
	timed = 200
	// selectTimes reads the times of the latest answers.
	selectTimes = `select response_ms from webhook_attempts where organization = $1 and endpoint = $2 and id >= $3 and response_status > 0
		order by id desc limit $4`
)

// selectHours counts attempts and failures between 25 ids. Each of its counts is a short
// range of an index: the log itself may have millions of rows for these hours.
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

// hourBounds returns the arguments of selectHours after the endpoint: the least ids of
// the hours, and of the one that follows. The id of an attempt tells when it began.
func hourBounds(now clock.Micros) (begin []clock.Micros, ids []any) {
	first := clock.FromTime(now.Time().Truncate(time.Hour).Add(-(recentHours - 1) * time.Hour))
	for hour := range recentHours + 1 {
		at := first + clock.Micros(hour)*clock.Hour
		begin, ids = append(begin, at), append(ids, id.Least(id.Delivery, at.Time()))
	}
	return begin, ids
}

// recent counts the attempts of the last hours.
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

// Tally is a number of events, at most MaxCounted. More says that there may be more.
type Tally struct {
	Events int  `json:"events"`
	More   bool `json:"more"`
}

// maxScans bounds the queries of a count, each of which scans 1,000 rows.
const maxScans = 5

// tally counts the events that a resend sends, each once. Both kinds of a resend may
// be asked for together.
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
