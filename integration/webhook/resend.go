package webhook

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"kartei/api/op"
	"kartei/integration/event"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/job"
)

// ResendKind is the kind of job that sends many events again.
const ResendKind = "webhooks.resend"

const (
	// resendPiece is the maximum number of events that one transaction queues.
	resendPiece = 200
	// maxResend is the number of due deliveries of an endpoint at which a resend job waits for
	// resendPause.
	maxResend   = 1000
	resendPause = 2 * time.Second
)

// resendFrom is the payload of a resend job: the position of its next piece. Each piece has its own
// job. The transaction that queues the piece also enqueues the job of the next piece.
type resendFrom struct {
	Endpoint string `json:"endpoint"`
	Failed   bool   `json:"failed,omitempty"`
	// After is the id of the last attempt in the previous pieces. It is used if Failed is set.
	After string `json:"after,omitempty"`
	// Since is the last tick of the previous pieces, and Until is the last tick of the whole
	// resend. They are used if Failed is not set.
	Since clock.Micros `json:"since,omitempty"`
	Until clock.Micros `json:"until,omitempty"`
}

const (
	// resendDelivery begins a new series of attempts. If an attempt runs, it is the first attempt
	// of the series, and the next one follows after the first gap. If a dead process has claimed
	// the delivery, the next attempt is due at once.
	resendDelivery = `insert into webhook_deliveries (organization, endpoint, event_id, tick, type, object, record_id, revision, changed, request_id, attempts, due_at, claim, created_at)
		select organization, cast($2 as text), id, tick, type, object, record_id, revision, changed, request_id, 0, cast($5 as bigint), 0, cast($5 as bigint)
		from events where organization = $1 and tick = $4 and id = $3 on conflict (organization, endpoint, event_id)
		do update set attempts = 0, due_at = case when webhook_deliveries.claim % 2 = 0 or webhook_deliveries.due_at <= excluded.due_at
			then excluded.due_at else webhook_deliveries.due_at end`
	countDue = `select count(*) from (select 1 from webhook_deliveries where organization = $1 and endpoint = $2 and due_at <= $3 limit $4) as d`
	// selectFailed reads the next failed attempts. again is 1 if the event never succeeded and does
	// not wait for another attempt.
	selectFailed = `select a.id, a.event_id, case
			when exists (select 1 from webhook_attempts as s where s.organization = $1 and s.endpoint = $2 and s.event_id = a.event_id and s.status = 'succeeded') then 0
			when exists (select 1 from webhook_deliveries as w where w.organization = $1 and w.endpoint = $2 and w.event_id = a.event_id) then 0
			else 1 end as again
		from webhook_attempts as a where a.organization = $1 and a.endpoint = $2 and a.status = 'failed' and a.id > $3 order by a.id limit $4`
)

// from returns the position at which the first job begins.
func (in *ResendInput) from(r *Row, now clock.Micros) resendFrom {
	from := resendFrom{Endpoint: r.ID, Failed: in.Failed, Since: in.Since, Until: in.Until}
	if from.Until == 0 {
		from.Until = max(now, r.Cursor) // after many changes at once, ticks are ahead of the clock
	}
	return from
}

// spec returns the job for the next piece. The key prevents two jobs of the same resend at the same
// time.
func (f resendFrom) spec(since clock.Micros) job.Spec {
	key := f.Endpoint + " failed"
	if !f.Failed {
		key = f.Endpoint + " " + strconv.FormatInt(int64(since), 10) + " " + strconv.FormatInt(int64(f.Until), 10)
	}
	return job.Spec{Kind: ResendKind, Key: key, Payload: f}
}

// Resender runs the jobs that send many events again.
type Resender struct {
	DB    db.DB
	Clock clock.Clock
	// Families are the families of records whose events are sent.
	Families []op.Family
}

// Handlers returns the handler of the jobs with ResendKind.
func (d *Resender) Handlers() []job.Handler {
	return []job.Handler{{Kind: ResendKind, Run: d.resend}}
}

// resendStep reads and queues events of a resend.
type resendStep struct {
	dialect *db.Dialect
	*Row
	now clock.Micros
}

// resend runs a job: it queues the events of one piece.
func (d *Resender) resend(ctx context.Context, j *job.Job) error {
	var from resendFrom
	if err := j.Decode(&from); err != nil {
		return err
	}
	now := clock.Now(d.Clock)
	var rests, full, done bool
	var sees string
	var r Row
	err := d.DB.Read(ctx, func(tx db.Tx) (err error) {
		done = false
		r, err = Find(ctx, tx, j.Organization, from.Endpoint)
		if errors.Is(err, db.ErrNoRows) {
			done = true
			return nil
		}
		if err != nil {
			return err
		}
		if sees, rests, err = Visibility(ctx, tx, r.Organization, r.Principal, d.Families); err != nil {
			return err
		}
		// If the job has waited for longer, all events have expired.
		done = r.Status == Disabled || sees == Nothing && !rests || now-j.CreatedAt > event.Retention
		waiting := 0
		err = tx.QueryRow(ctx, countDue, r.Organization, r.ID, now, maxResend).Scan(&waiting)
		full = waiting >= maxResend
		return err
	})
	switch {
	case err != nil:
		return err
	case done:
		return nil
	case rests:
		return job.Later(time.Duration(PausedFor) * time.Microsecond)
	case full:
		return job.Later(resendPause)
	}
	again := resendStep{dialect: d.DB.Dialect(), Row: &r, now: now}
	events, next, err := again.next(ctx, d.DB, from, sees)
	if err != nil {
		return err
	}
	j.First(func(tx db.Tx) { QueueHold(tx, Address{r.Organization, r.ID}) })
	return j.Finish(ctx, func(tx db.Tx) error {
		if next != nil {
			spec := job.Spec{Kind: ResendKind, Key: j.Key, Payload: next}
			if err := job.Enqueue(ctx, tx, j.Organization, now, spec); err != nil {
				return err
			}
		}
		_, err := again.send(ctx, tx, events)
		return err
	})
}

// next returns the events of the piece, and the position of the next piece. The position is nil
// after the last piece.
func (r resendStep) next(
	ctx context.Context, d db.DB, from resendFrom, sees string,
) (events []event.Event, next *resendFrom, err error) {
	err = d.Read(ctx, func(tx db.Tx) error {
		next = &resendFrom{}
		*next = from
		if from.Failed {
			return r.nextFailed(ctx, tx, from, sees, &events, &next)
		}
		return r.nextRange(ctx, tx, from, sees, &events, &next)
	})
	return events, next, err
}

func (r resendStep) nextFailed(
	ctx context.Context, tx db.Tx, from resendFrom, sees string, events *[]event.Event, next **resendFrom,
) error {
	failed, after, err := r.failed(ctx, tx, from.After)
	if err != nil {
		return err
	}
	if (*next).After = after; after == "" {
		*next = nil
	}
	ticks := make([]int64, len(failed))
	for i, name := range failed {
		ticks[i] = int64(event.TickOf(name))
	}
	in := r.dialect.In
	*events, err = readEvents(ctx, tx, `select `+event.Columns+` from events as e where e.organization = $1 and $2 = $2
		and e.tick > $3 and e.tick `+r.dialect.InNumbers("$6")+` and e.id `+in("$5")+` and e.type `+in("$4")+` and (`+
		sees+`)`,
		r.Organization, r.Principal, r.now-event.Retention, db.Texts(r.EventTypes), db.Texts(failed), db.Numbers(ticks))
	return err
}

// failed returns the distinct ids of the next failed events. after is the id of the last attempt in
// the piece, and empty after the last piece.
func (r resendStep) failed(ctx context.Context, tx db.Tx, from string) (list []string, after string, err error) {
	rows, err := tx.Query(ctx, selectFailed, r.Organization, r.ID, from, scanned)
	if err != nil {
		return nil, "", err
	}
	defer rows.Close()
	for looked := 0; rows.Next(); {
		var name string
		var again int
		if err := rows.Scan(&after, &name, &again); err != nil {
			return nil, "", err
		}
		if again == 1 && !slices.Contains(list, name) {
			list = append(list, name)
		}
		if looked++; looked == scanned || len(list) == resendPiece {
			return list, after, nil
		}
	}
	return list, "", rows.Err()
}

// nextRange reads the next events of a period. It stops at the endpoint's cursor, because the
// fan-out sends the events after it.
func (r resendStep) nextRange(
	ctx context.Context, tx db.Tx, from resendFrom, sees string, events *[]event.Event, next **resendFrom,
) (err error) {
	var more bool
	*events, (*next).Since, more, err = r.ReadEvents(ctx, tx, sees, max(from.Since, r.now-event.Retention),
		min(from.Until, r.Cursor), resendPiece)
	if !more {
		*next = nil
	}
	return err
}

// one returns the query for one event. The event must be a test of this endpoint, or must already
// be fanned out. In the second case the endpoint must subscribe to its type, and the principal must
// see its record.
func (r resendStep) one(sees string) string {
	return `select ` + event.Columns + ` from events as e where e.organization = $1 and $2 = $2
		and e.tick = $8 and e.id = $3 and e.tick > $4 and (e.type = '` + event.Test + `' and e.record_id = $6
		or e.tick <= $7 and e.type ` + r.dialect.In("$5") + ` and (` + sees + `))`
}

// send queues events for the endpoint. It returns false if there are no events or the endpoint was
// deleted meanwhile.
func (r resendStep) send(ctx context.Context, tx db.Tx, events []event.Event) (bool, error) {
	if len(events) == 0 {
		return false, nil
	}
	if n, err := tx.Exec(ctx, noteDue, r.Organization, r.ID, r.now); err != nil || n == 0 {
		return false, err
	}
	for _, e := range events {
		tx.Queue(resendDelivery, r.Organization, r.ID, e.ID, e.CreatedAt, r.now)
	}
	tx.NotifyLocal(Topic, strconv.FormatInt(r.Organization, 10))
	return true, nil
}
