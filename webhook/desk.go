package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"kartei/access"
	"kartei/app"
	"kartei/event"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/notify"
	"kartei/store/db"
)

// Desk is what the web application and the command line do with endpoints
// beside the operations of the API. It asks nobody for permission: who reaches
// it is the operator, or a door that checked.
type Desk struct {
	DB    db.DB
	Clock clock.Clock
	// Families are those whose records events are about.
	Families []app.Family
	// Notices tells the owners of endpoints that are disabled; its Forms include
	// those of this package.
	Notices *notify.Center
	Logger  *slog.Logger
}

// Info is an endpoint as administration shows it.
type Info struct {
	Endpoint
	OrganizationID string `json:"organizationId"`
	PrincipalID    string `json:"principalId"`
	// KeyID is the key by which it was made, empty if that is not known.
	KeyID string `json:"keyId"`
	// FailedSince is the first failed attempt since the last success, null where
	// there was none; Failures is how many there were.
	FailedSince clock.Micros `json:"failedSince"`
	Failures    int64        `json:"failures"`
	// MissedSince is the time after which is all that was never tried when the
	// endpoint was last disabled, or when events that it had not come to were 30
	// days old; null where neither ever was.
	MissedSince clock.Micros `json:"missedSince"`
	// Waiting is how many deliveries wait or are under way, 10,000 at most. Events
	// that it has not come to yet are not among them.
	Waiting int64 `json:"waiting"`
	// Through is the tick up to which the change log was gone through for it,
	// BehindSince that of the first event after it; null where there is none, and
	// of an endpoint that is disabled.
	Through     clock.Micros `json:"through"`
	BehindSince clock.Micros `json:"behindSince"`
}

// FindInput asks for endpoints of an organization, the oldest first, or of one
// organization after the other.
type FindInput struct {
	// Organization is one; empty for all.
	Organization string `json:"organizationId,omitempty"`
	// Status is one; empty for all.
	Status string `json:"status,omitempty"`
	// Principal is one owner; empty for all.
	Principal string `json:"principalId,omitempty"`
	// Key is the id of the key by which they were made; empty for all.
	Key string `json:"keyId,omitempty"`
	// After is the id of the last entry already seen.
	After string `json:"after,omitempty"`
	// Limit is 1 to 1,000; zero is 100.
	Limit int `json:"limit,omitempty"`
}

// One names an endpoint.
type One struct {
	Organization string `json:"organizationId"`
	ID           string `json:"id"`
}

// LogInput asks for the delivery log of an endpoint, the newest first.
type LogInput struct {
	Organization string `json:"organizationId"`
	ID           string `json:"id"`
	// Event is one event; empty for all.
	Event string `json:"eventId,omitempty"`
	// Result is succeeded or failed; empty for both.
	Result string `json:"status,omitempty"`
	// Before is the id of the last entry already seen.
	Before string `json:"before,omitempty"`
	// Limit is 1 to 1,000; zero is 100.
	Limit int `json:"limit,omitempty"`
}

// Attempt is an entry of the delivery log as administration shows it.
type Attempt struct {
	ID             string       `json:"id"`
	EventID        string       `json:"eventId"`
	EventType      string       `json:"eventType"`
	Attempt        int          `json:"attempt"`
	Status         string       `json:"status"`
	ResponseStatus int          `json:"responseStatus"` // 0 where there was no answer
	ResponseTimeMs int64        `json:"responseTimeMs"`
	ErrorCode      Code         `json:"errorCode"`
	AttemptedAt    clock.Micros `json:"attemptedAt"`
	NextAttemptAt  clock.Micros `json:"nextAttemptAt"`
}

const (
	findEndpoints = `select ` + columns + ` from webhook_endpoints where organization = $1`
	countWaiting  = `select count(*) from (select 1 from webhook_deliveries where organization = $1 and endpoint = $2 limit 10000) as d`
	findLog       = `select id, event_id, event_type, attempt, status, response_status, response_ms, error_code, attempted_at, next_attempt_at
		from webhook_attempts where organization = $1 and endpoint = $2`
	// selectBehindSince is the first event that an endpoint has not come to.
	selectBehindSince = `select tick from events where organization = $1 and tick > $2 order by tick limit 1`
	// keepDisabled is keepEndpoint of one that is disabled.
	keepDisabled   = keepEndpoint + ` and status = 'disabled'`
	enableEndpoint = `update webhook_endpoints set status = 'active', disabled_reason = '', failed_since = 0, failures = 0, cursor = $3,
		due_at = 0, revision = revision + 1, updated_at = $4 where organization = $1 and id = $2`
)

// question is a statement with its arguments that asks for what is given, and
// for nothing else: PostgreSQL makes one plan for all values, so a condition
// that may be void would keep it from every index.
type question struct {
	text string
	args []any
}

func ask(text string, args ...any) *question { return &question{text, args} }

// given adds a condition that ends with its argument, where that is not empty.
func (q *question) given(condition, value string) *question {
	if value == "" {
		return q
	}
	return q.then(" and "+condition, value)
}

// then adds words that end with their argument.
func (q *question) then(words string, value any) *question {
	q.args = append(q.args, value)
	q.text += fmt.Sprintf("%s $%d", words, len(q.args))
	return q
}

// page asks for endpoints of an organization.
func (in *FindInput) page(organization int64, limit int) *question {
	return ask(findEndpoints, organization).given("principal =", in.Principal).given("key_id =", in.Key).given("status =", in.Status).given("id >", in.After).then(" order by id limit", limit)
}

// page asks for attempts at an endpoint.
func (in *LogInput) page(organization int64, limit int) *question {
	q := ask(findLog, organization, in.ID).given("event_id =", in.Event).given("id <", in.Before)
	if Result(in.Result) == Failed {
		q.text += ` and status = 'failed'` // of these there is an index
	} else {
		q = q.given("status =", in.Result)
	}
	return q.then(" order by id desc limit", limit)
}

func pageSize(limit int) int {
	if limit <= 0 || limit > 1000 {
		return 100
	}
	return limit
}

// Find returns endpoints.
func (d *Desk) Find(ctx context.Context, in FindInput) (page access.List[Info], err error) {
	limit := pageSize(in.Limit)
	err = d.DB.Read(ctx, func(tx db.Tx) error {
		page = access.List[Info]{Data: []Info{}}
		list, err := in.read(ctx, tx, limit+1)
		if err != nil {
			return err
		}
		if len(list) > limit {
			list, page.HasMore = list[:limit], true
		}
		for _, r := range list {
			info, err := inform(ctx, tx, &r)
			if err != nil {
				return err
			}
			page.Data = append(page.Data, info)
		}
		return nil
	})
	return page, err
}

// read reads up to n endpoints of the organization, or of all, one after the other.
func (in FindInput) read(ctx context.Context, tx db.Tx, n int) (list []Row, err error) {
	if in.Organization != "" {
		o, _, err := access.OrganizationIn(ctx, tx, in.Organization)
		if err != nil {
			return nil, err
		}
		return in.readOf(ctx, tx, o.Number(), n)
	}
	numbers, err := db.Organizations(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, organization := range numbers {
		if in.After != "" { // in which organization that is only it says
			switch _, err := Find(ctx, tx, organization, in.After); {
			case errors.Is(err, db.ErrNoRows):
				continue
			case err != nil:
				return nil, err
			}
		}
		more, err := in.readOf(ctx, tx, organization, n-len(list))
		if err != nil {
			return nil, err
		}
		if list = append(list, more...); len(list) == n {
			break
		}
		in.After = ""
	}
	return list, nil
}

// readOf reads up to n endpoints of an organization.
func (in *FindInput) readOf(ctx context.Context, tx db.Tx, organization int64, n int) (list []Row, err error) {
	q := in.page(organization, n)
	rows, err := tx.Query(ctx, q.text, q.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

func inform(ctx context.Context, tx db.Tx, r *Row) (info Info, err error) {
	info = Info{Endpoint: r.Endpoint, PrincipalID: r.Principal, KeyID: r.Key, FailedSince: r.FailedSince, Failures: r.Failures, MissedSince: r.MissedSince, Through: r.Cursor}
	if info.OrganizationID, err = access.OrganizationID(ctx, tx, r.Organization); err != nil {
		return info, err
	}
	if r.Status != Disabled {
		err = tx.QueryRow(ctx, selectBehindSince, r.Organization, r.Cursor).Scan(&info.BehindSince)
		if err != nil && !errors.Is(err, db.ErrNoRows) {
			return info, err
		}
	}
	return info, tx.QueryRow(ctx, countWaiting, r.Organization, r.ID).Scan(&info.Waiting)
}

// Show returns one endpoint.
func (d *Desk) Show(ctx context.Context, in One) (info Info, err error) {
	err = d.DB.Read(ctx, func(tx db.Tx) error {
		r, err := in.find(ctx, tx)
		if err != nil {
			return err
		}
		info, err = inform(ctx, tx, &r)
		return err
	})
	return info, err
}

func (in *One) find(ctx context.Context, tx db.Tx) (r Row, err error) {
	o, _, err := access.OrganizationIn(ctx, tx, in.Organization)
	if err != nil {
		return r, err
	}
	r, err = Find(ctx, tx, o.Number(), in.ID)
	if errors.Is(err, db.ErrNoRows) {
		err = &fault.Fault{Code: fault.NotFound, Detail: &noEndpoint}
	}
	return r, err
}

// holdDisabled reads an endpoint and, where it is disabled, keeps others from it
// until the commit. Another may be enabling it at the same time: what it read
// alone says nothing of that.
func (in *One) holdDisabled(ctx context.Context, tx db.Tx) (r Row, held bool, err error) {
	if r, err = in.find(ctx, tx); err != nil {
		return r, false, err
	}
	n, err := tx.Exec(ctx, keepDisabled, r.Organization, r.ID)
	return r, n == 1, err
}

// Log returns entries of the delivery log.
func (d *Desk) Log(ctx context.Context, in LogInput) (page access.List[Attempt], err error) {
	limit := pageSize(in.Limit)
	err = d.DB.Read(ctx, func(tx db.Tx) error {
		page = access.List[Attempt]{Data: []Attempt{}}
		r, err := (&One{in.Organization, in.ID}).find(ctx, tx)
		if err != nil {
			return err
		}
		q := in.page(r.Organization, limit+1)
		rows, err := tx.Query(ctx, q.text, q.args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var a Attempt
			if err := rows.Scan(&a.ID, &a.EventID, &a.EventType, &a.Attempt, &a.Status, &a.ResponseStatus, &a.ResponseTimeMs, &a.ErrorCode,
				&a.AttemptedAt, &a.NextAttemptAt); err != nil {
				return err
			}
			page.Data = append(page.Data, a)
		}
		return rows.Err()
	})
	if len(page.Data) > limit {
		page.Data, page.HasMore = page.Data[:limit], true
	}
	return page, err
}

// Enable has a disabled endpoint get events again, those of from now on: what it
// missed is sent by Resend, from MissedSince on. One that is not disabled stays as it is.
func (d *Desk) Enable(ctx context.Context, in One) (Info, error) {
	if err := d.purge(ctx, in); err != nil {
		return Info{}, err
	}
	if err := d.enable(ctx, in); err != nil {
		return Info{}, err
	}
	return d.Show(ctx, in)
}

func (d *Desk) enable(ctx context.Context, in One) error {
	return d.DB.Write(ctx, func(tx db.Tx) error {
		r, held, err := in.holdDisabled(ctx, tx)
		if err != nil || !held {
			return err
		}
		var tick clock.Micros
		if err := tx.QueryRow(ctx, selectTick, r.Organization).Scan(&tick); err != nil {
			return err
		}
		tx.Queue(enableEndpoint, r.Organization, r.ID, tick, clock.Now(d.Clock))
		QueueDue(tx, Address{r.Organization, r.ID})
		tx.NotifyLocal(Topic, strconv.FormatInt(r.Organization, 10))
		return nil
	})
}

// Disable switches an endpoint off for a reason, and tells its owner. What waits
// for it ends. One that is disabled already stays as it is.
func (d *Desk) Disable(ctx context.Context, in One, why Reason) (info Info, err error) {
	k := StateStore{d.Clock, cmp.Or(d.Logger, slog.Default()), d.Notices}
	err = d.DB.Write(ctx, func(tx db.Tx) error {
		r, err := in.find(ctx, tx)
		if err != nil {
			return err
		}
		h, err := k.Hold(ctx, tx, Address{r.Organization, r.ID})
		switch {
		case errors.Is(err, db.ErrNoRows): // deleted since
			return &fault.Fault{Code: fault.NotFound, Detail: &noEndpoint}
		case err != nil || h.Status == Disabled:
			return err
		}
		h.Status, h.Reason = Disabled, why
		tx.NotifyLocal(Topic, strconv.FormatInt(r.Organization, 10))
		_, err = k.Put(ctx, tx, h)
		return err
	})
	if err != nil {
		return Info{}, err
	}
	return d.Show(ctx, in)
}

// purge ends, piece by piece, what still waits for a disabled endpoint.
func (d *Desk) purge(ctx context.Context, in One) error {
	for {
		ended := int64(0)
		err := d.DB.Write(ctx, func(tx db.Tx) error {
			ended = 0
			r, held, err := in.holdDisabled(ctx, tx)
			if err != nil || !held {
				return err
			}
			ended, err = Purge(ctx, tx, Address{r.Organization, r.ID}, clock.Now(d.Clock))
			return err
		})
		if err != nil || ended < PurgePiece {
			return err
		}
		select {
		case <-d.Clock.After(50 * time.Millisecond): // others write too
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ResendInput says what is sent again: one event, all that failed, or a range of
// time. Each starts a new series of attempts; where an attempt is under way, it
// is the first of the new series.
type ResendInput struct {
	Organization string `json:"organizationId"`
	ID           string `json:"id"`
	// Event is an event of the last 30 days.
	Event string `json:"eventId,omitempty"`
	// Failed has all sent again for which there were failed attempts in the last
	// 30 days and no success, and that do not wait for an attempt.
	Failed bool `json:"failed,omitempty"`
	// Since and Until are a range of time, without its first moment and with its
	// last; Until is now if it is null. What was delivered before is sent too.
	Since clock.Micros `json:"since,omitempty"`
	Until clock.Micros `json:"until,omitempty"`
}

// ResendOutput is what is done.
type ResendOutput struct {
	// Events is how many events are on their way: 1 of one event.
	Events int `json:"events"`
	// Going is set where the events are looked up beside, by a job.
	Going bool `json:"going"`
	// Rests is set where that job waits: the API of the organization is off, or
	// the organization is closed.
	Rests bool `json:"rests"`
}

var (
	noEndpoint = fault.Text{DE: "Einen Webhook-Endpunkt mit dieser Kennung gibt es in der Organisation nicht.", EN: "There is no webhook endpoint with this id in the organization."}
	noEvent    = fault.Text{
		DE: "Dieses Ereignis gibt es nicht, es ist älter als 30 Tage, oder der Endpunkt bekommt es nicht (Ereignisart, Rechte).",
		EN: "There is no such event, it is older than 30 days, or the endpoint does not get it (event type, rights).",
	}
	isDisabled = fault.Text{DE: "Der Endpunkt ist abgeschaltet. Schalten Sie ihn zuerst wieder ein.", EN: "The endpoint is disabled. Enable it first."}
	ownerless  = fault.Text{
		DE: "Der Inhaber des Endpunkts ist gesperrt; ihm wird nichts zugestellt. Heben Sie die Sperre zuerst auf (kartei user set oder kartei service-account set mit --enable).",
		EN: "The owner of the endpoint is disabled, so nothing is delivered to it. Enable the owner first (kartei user set or kartei service-account set, with --enable).",
	}
	resting = fault.Text{
		DE: "Die API der Organisation ist zurzeit abgeschaltet oder die Organisation geschlossen; Zustellungen ruhen.",
		EN: "The API of the organization is off at present or the organization is closed; deliveries rest.",
	}
	oneOfThree = fault.Text{
		DE: "Geben Sie genau eines an: ein Ereignis, alle gescheiterten, oder einen Zeitraum.",
		EN: "Give exactly one: an event, all that failed, or a range of time.",
	}
)

// Resend sends events again.
func (d *Desk) Resend(ctx context.Context, in ResendInput) (out ResendOutput, err error) {
	ways := 0
	for _, given := range []bool{in.Event != "", in.Failed, in.Since != 0 || in.Until != 0} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return out, fault.Invalid(fault.Field{Name: "eventId", Code: fault.ForbiddenCombination, Text: &oneOfThree})
	}
	now := clock.Now(d.Clock)
	err = d.DB.Write(ctx, func(tx db.Tx) error {
		out = ResendOutput{}
		r, err := (&One{in.Organization, in.ID}).find(ctx, tx)
		switch {
		case err != nil:
			return err
		case r.Status == Disabled:
			return fault.Invalid(fault.Field{Name: "id", Code: fault.ReadOnly, Text: &isDisabled})
		}
		sees, rests, err := Visibility(ctx, tx, r.Organization, r.Principal, d.Families)
		switch {
		case err != nil:
			return err
		case sees == Nothing && !rests:
			return fault.Invalid(fault.Field{Name: "id", Code: fault.ReadOnly, Text: &ownerless})
		case in.Event == "":
			out.Going, out.Rests = true, rests
			return enqueueResend(ctx, tx, &r, now, in)
		case rests:
			return fault.Invalid(fault.Field{Name: "id", Code: fault.ReadOnly, Text: &resting})
		}
		out.Events = 1
		return d.resendOne(ctx, tx, &r, now, in.Event, sees)
	})
	return out, err
}

// resendOne puts one event on its way again.
func (d *Desk) resendOne(ctx context.Context, tx db.Tx, r *Row, now clock.Micros, name, sees string) error {
	if !id.Valid(id.Event, name) {
		return fault.Invalid(fault.Field{Name: "eventId", Code: fault.FieldNotFound, Text: &noEvent})
	}
	again := resending{Desk: d, Row: r, now: now}
	events, err := readEvents(ctx, tx, again.one(sees), r.Organization, r.Principal, name, now-event.Retention, db.Texts(r.EventTypes), r.ID, r.Cursor)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return fault.Invalid(fault.Field{Name: "eventId", Code: fault.FieldNotFound, Text: &noEvent})
	}
	sent, err := again.send(ctx, tx, events)
	if err == nil && !sent {
		return &fault.Fault{Code: fault.NotFound, Detail: &noEndpoint}
	}
	return err
}
