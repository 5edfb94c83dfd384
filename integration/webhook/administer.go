package webhook

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/event"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/people/notify"
	"kartei/store/db"
	"kartei/store/job"
)

// Info is an endpoint as administrators see it.
type Info struct {
	Endpoint
	OrganizationID string `json:"organizationId"`
	PrincipalID    string `json:"principalId"`
	// KeyID is the id of the key that created the endpoint or last changed its URL. It is empty if
	// that key is unknown.
	KeyID string `json:"keyId"`
	// FailedSince is the time of the first failed attempt since the last success. It is null if no
	// attempt has failed since then. Failures is the number of failed attempts since then.
	FailedSince clock.Micros `json:"failedSince"`
	Failures    int64        `json:"failures"`
	// MissedSince is a time before the first event that was never tried. It is set when the
	// endpoint is disabled, or when events after its cursor become 30 days old. Null means that no
	// event was missed.
	MissedSince clock.Micros `json:"missedSince"`
	// Waiting is the number of pending and running deliveries, up to 10,000. It does not count
	// events that were not fanned out yet.
	Waiting int64 `json:"waiting"`
	// Through is the tick up to which events were fanned out. BehindSince is the tick of the first
	// event after Through. It is null if there is no such event or the endpoint is disabled.
	Through     clock.Micros `json:"through"`
	BehindSince clock.Micros `json:"behindSince"`
	// Recent and Missed are set if the input has Full. Missed counts the events that never arrived,
	// which Enable can send. It is null unless the endpoint is disabled.
	Recent *Recent `json:"recent,omitempty"`
	Missed *Tally  `json:"missed,omitempty"`
}

// FindInput selects endpoints of one organization, the oldest first. Without an organization, the
// operator gets the endpoints of all organizations in turn.
type FindInput struct {
	// Organization is the id of an organization. Empty means all organizations.
	Organization string `json:"organizationId,omitempty"`
	// Status selects the endpoints with this status. Empty means all endpoints.
	Status string `json:"status,omitempty"`
	// Principal is the id of an owner. Empty means all owners.
	Principal string `json:"principalId,omitempty"`
	// Key is the id of a key and selects by Info.KeyID. Empty means all endpoints.
	Key string `json:"keyId,omitempty"`
	// After is the id of the last entry of the previous page.
	After string `json:"after,omitempty"`
	// Limit is the maximum number of entries, from 1 to 1,000. Zero means 100.
	Limit int `json:"limit,omitempty"`
	// Full makes the response contain Info.Recent and Info.Missed.
	Full bool `json:"full,omitempty"`
}

// One identifies one endpoint.
type One struct {
	Organization string `json:"organizationId,omitempty"`
	ID           string `json:"id"`
}

// GetInput is the input of GetInfo.
type GetInput struct {
	One
	// Full makes the response contain Info.Recent and Info.Missed.
	Full bool `json:"full,omitempty"`
}

// EnableInput is the input of Enable.
type EnableInput struct {
	One
	// Missed says that the events which the endpoint missed while it was disabled are sent too. So
	// are the events that failed before.
	Missed bool `json:"missed,omitempty"`
}

// EnableOutput is an endpoint that was enabled.
type EnableOutput struct {
	Info
	// Sends describes the resend. It is null if the input did not have Missed.
	Sends *ResendOutput `json:"sends,omitempty"`
}

// LogInput selects entries of the delivery log of an endpoint, the newest first.
type LogInput struct {
	Organization string `json:"organizationId,omitempty"`
	ID           string `json:"id"`
	// Event is the id of an event. Empty means all events.
	Event string `json:"eventId,omitempty"`
	// Result is succeeded or failed. Empty means both.
	Result string `json:"status,omitempty"`
	// Before is the id of the last entry of the previous page.
	Before string `json:"before,omitempty"`
	// Limit is the maximum number of entries, from 1 to 1,000. Zero means 100.
	Limit int `json:"limit,omitempty"`
}

// Attempt is an entry of the delivery log as administrators see it.
type Attempt struct {
	ID             string       `json:"id"`
	EventID        string       `json:"eventId"`
	EventType      string       `json:"eventType"`
	Attempt        int          `json:"attempt"`
	Status         string       `json:"status"`
	ResponseStatus int          `json:"responseStatus"` // 0 if there was no response
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
	// selectBehindSince reads the tick of the first event after an endpoint's cursor.
	selectBehindSince = `select tick from events where organization = $1 and tick > $2 order by tick limit 1`
	// keepDisabled does the same as keepEndpoint, but only for a disabled endpoint.
	keepDisabled   = keepEndpoint + ` and status = 'disabled'`
	enableEndpoint = `update webhook_endpoints set status = 'active', disabled_reason = '', failed_since = 0, failures = 0, cursor = $3,
		due_at = 0, revision = revision + 1, updated_at = $4 where organization = $1 and id = $2`
)

// page returns the query for the selected endpoints of an organization.
func (in *FindInput) page(c *op.Call, organization int64, limit int) db.Statement {
	q := db.Statement{Query: findEndpoints, Args: []any{organization}}
	restrict(&q, c)
	q.AndIf(in.Principal != "", "principal = ?", in.Principal)
	q.AndIf(in.Key != "", "key_id = ?", in.Key)
	q.AndIf(in.Status != "", "status = ?", in.Status)
	q.AndIf(in.After != "", "id > ?", in.After)
	q.Add(" order by id limit ?", limit)
	return q
}

// page returns the query for the selected attempts at the endpoint.
func (in *LogInput) page(organization int64, limit int) db.Statement {
	q := db.Statement{Query: findLog, Args: []any{organization, in.ID}}
	q.AndIf(in.Event != "", "event_id = ?", in.Event)
	q.AndIf(in.Before != "", "id < ?", in.Before)
	switch Result(in.Result) {
	case "":
	case Failed:
		q.And("status = 'failed'") // an index has only the failed attempts
	default:
		q.And("status = ?", in.Result)
	}
	q.Add(" order by id desc limit ?", limit)
	return q
}

// mayAdminister reports whether the caller administers the endpoints of a principal. The operator
// administers all endpoints, and each principal its own. Admins also administer the endpoints of
// service accounts.
func mayAdminister(c *op.Call, principal string) bool {
	return c.IsOperator() || principal == c.Actor.PrincipalID() ||
		c.Actor.SeesAll() && id.Valid(id.ServiceAccount, principal)
}

// restrict restricts a query to the endpoints that the caller administers.
func restrict(q *db.Statement, c *op.Call) {
	switch {
	case c.IsOperator():
	case c.Actor.SeesAll():
		q.And("(principal = ? or substr(principal, 1, 4) = '"+id.ServiceAccount+"')", c.Actor.PrincipalID())
	default:
		q.And("principal = ?", c.Actor.PrincipalID())
	}
}

// ListInfos is the operation that returns a page of endpoints for administrators.
var ListInfos = op.New("webhooks.list", op.Read, listInfos, op.By(op.Self|op.Operator))

func listInfos(ctx context.Context, c *op.Call, in FindInput) (page op.Entries[Info], err error) {
	limit, err := op.PageSize(in.Limit, 100)
	if err != nil {
		return page, err
	}
	list, err := in.read(ctx, c, limit+1)
	if err != nil {
		return page, err
	}
	rows := op.PageOf(list, limit)
	page = op.Entries[Info]{Data: []Info{}, HasMore: rows.HasMore}
	for _, r := range rows.Data {
		info, err := Inform(ctx, c, &r, in.Full)
		if err != nil {
			return page, err
		}
		page.Data = append(page.Data, info)
	}
	return page, nil
}

// read returns up to n selected endpoints of the organization. If the operator gives no
// organization, it reads the endpoints of all organizations in turn.
func (in FindInput) read(ctx context.Context, c *op.Call, n int) (list []Row, err error) {
	if in.Organization != "" || !c.IsOperator() {
		o, err := c.FindOrganization(ctx, in.Organization)
		if err != nil {
			return nil, err
		}
		return in.readOf(ctx, c, o.Number, n)
	}
	numbers, err := db.Organizations(ctx, c.Tx)
	if err != nil {
		return nil, err
	}
	for _, organization := range numbers {
		if in.After != "" { // the id of an endpoint does not contain its organization
			switch _, err := Find(ctx, c.Tx, organization, in.After); {
			case errors.Is(err, db.ErrNoRows):
				continue
			case err != nil:
				return nil, err
			}
		}
		more, err := in.readOf(ctx, c, organization, n-len(list))
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

// readOf returns up to n selected endpoints of an organization.
func (in *FindInput) readOf(ctx context.Context, c *op.Call, organization int64, n int) (list []Row, err error) {
	q := in.page(c, organization, n)
	return db.List(ctx, c.Tx, scan, q.Query, q.Args...)
}

// Inform returns an endpoint as administrators see it. If full is set, the result has Recent and
// Missed.
func Inform(ctx context.Context, c *op.Call, r *Row, full bool) (info Info, err error) {
	info = Info{
		Endpoint: r.at(c.Now), PrincipalID: r.Principal, KeyID: r.Key, FailedSince: r.FailedSince,
		Failures: r.Failures, MissedSince: r.MissedSince, Through: r.Cursor,
	}
	if info.OrganizationID, err = access.OrganizationID(ctx, c.Tx, r.Organization); err != nil {
		return info, err
	}
	if r.Status != Disabled {
		err = c.Tx.QueryRow(ctx, selectBehindSince, r.Organization, r.Cursor).Scan(&info.BehindSince)
		if err != nil && !errors.Is(err, db.ErrNoRows) {
			return info, err
		}
	}
	if err := c.Tx.QueryRow(ctx, countWaiting, r.Organization, r.ID).Scan(&info.Waiting); err != nil || !full {
		return info, err
	}
	if info.Recent, err = r.recent(ctx, c.Tx, c.Now); err != nil || r.Status != Disabled {
		return info, err
	}
	info.Missed, err = r.Missed(ctx, c)
	return info, err
}

// Missed counts the events that never arrived at a disabled endpoint. It returns nil while the
// organization is closed or its API is off.
func (r *Row) Missed(ctx context.Context, c *op.Call) (*Tally, error) {
	sees, rests, err := Visibility(ctx, c.Tx, r.Organization, r.Principal, c.Services.Families)
	if err != nil || rests {
		return nil, err
	}
	whole := *r // the endpoint as it would be after Enable
	if err := c.Tx.QueryRow(ctx, selectTick, r.Organization).Scan(&whole.Cursor); err != nil {
		return nil, err
	}
	t, err := resendStep{dialect: c.Tx.Dialect(), Row: &whole, now: c.Now}.tally(ctx, c.Tx, sees, whole.unsent()...)
	return &t, err
}

// unsent returns the resends that together send all events which never arrived.
func (r *Row) unsent() []resendFrom {
	all := []resendFrom{{Endpoint: r.ID, Failed: true}}
	if r.MissedSince != 0 {
		all = append(all, resendFrom{Endpoint: r.ID, Since: r.MissedSince, Until: r.Cursor})
	}
	return all
}

// GetInfo is the operation that runs ReadInfo.
var GetInfo = op.New("webhooks.get", op.Read, ReadInfo, op.By(op.Self|op.Operator))

// ReadInfo returns one endpoint for administrators. It fails with NOT_FOUND if the caller does not
// administer the endpoint.
func ReadInfo(ctx context.Context, c *op.Call, in GetInput) (Info, error) {
	r, err := in.find(ctx, c)
	if err != nil {
		return Info{}, err
	}
	return Inform(ctx, c, &r, in.Full)
}

// find reads an endpoint that the caller administers. It fails with NOT_FOUND for any other id.
func (in *One) find(ctx context.Context, c *op.Call) (r Row, err error) {
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return r, err
	}
	r, err = Find(ctx, c.Tx, o.Number, in.ID)
	if errors.Is(err, db.ErrNoRows) || err == nil && !mayAdminister(c, r.Principal) {
		err = &fault.Fault{Code: fault.NotFound, Detail: noEndpoint}
	}
	return r, err
}

// ListAttempts is the operation that returns entries of the delivery log.
var ListAttempts = op.New("webhooks.deliveries", op.Read, listAttemptInfos, op.By(op.Self|op.Operator))

func listAttemptInfos(ctx context.Context, c *op.Call, in LogInput) (page op.Entries[Attempt], err error) {
	limit, err := op.PageSize(in.Limit, 100)
	if err != nil {
		return page, err
	}
	r, err := (&One{in.Organization, in.ID}).find(ctx, c)
	if err != nil {
		return page, err
	}
	q := in.page(r.Organization, limit+1)
	found, err := db.List(ctx, c.Tx, func(row db.Row) (a Attempt, err error) {
		err = row.Scan(&a.ID, &a.EventID, &a.EventType, &a.Attempt, &a.Status, &a.ResponseStatus, &a.ResponseTimeMs,
			&a.ErrorCode, &a.AttemptedAt, &a.NextAttemptAt)
		return a, err
	}, q.Query, q.Args...)
	return op.PageOf(found, limit), err
}

const findAttempt = `select a.endpoint, a.event_type || ' ' || a.status, e.principal from webhook_attempts a
	join webhook_endpoints e on e.organization = a.organization and e.id = a.endpoint where a.organization = $1 and a.id = $2`

// AttemptOf returns the endpoint of an entry of the delivery log. title is the entry's event type
// and status. AttemptOf fails with NOT_FOUND if the caller does not administer the endpoint.
func AttemptOf(ctx context.Context, c *op.Call, name string) (endpoint, title string, err error) {
	var principal string
	err = c.Tx.QueryRow(ctx, findAttempt, c.Actor.Org(), name).Scan(&endpoint, &title, &principal)
	if errors.Is(err, db.ErrNoRows) || err == nil && !mayAdminister(c, principal) {
		return "", "", fault.New(fault.NotFound)
	}
	return endpoint, title, err
}

// Enable is the operation that makes a disabled endpoint receive events again, from the next event
// on. If the input has Missed, jobs also send the events that never arrived. Otherwise Resend can
// send them later, from MissedSince on. Enable does not change an endpoint that is not disabled.
var Enable = op.New("webhooks.enable", op.Administer, enableByPerson, op.By(op.Self|op.Operator), op.Fresh,
	op.Gives, op.Audited("webhook.enable"))

func enableByPerson(ctx context.Context, c *op.Call, in EnableInput) (out EnableOutput, err error) {
	r, err := in.find(ctx, c)
	if err != nil {
		return out, err
	}
	c.Audit.About(r.Organization, r.ID)
	// Another call may have enabled the endpoint since it was read, so the statement checks the
	// status again. From here on the row is locked.
	held, err := c.Tx.Exec(ctx, keepDisabled, r.Organization, r.ID)
	if err != nil {
		return out, err
	}
	if held == 1 {
		c.Audit.Changed("status", r.Status, Active)
		if err := c.Gives(ctx, r.gain(op.HookEnabled)); err != nil {
			return out, err
		}
		if in.Missed {
			if out.Sends, err = r.sendUnsent(ctx, c); err != nil {
				return out, err
			}
		}
		err = enable(ctx, c, &r)
	}
	if err != nil {
		return out, err
	}
	out.Info, err = ReadInfo(ctx, c, GetInput{One: in.One})
	return out, err
}

// sendUnsent enqueues jobs that send the events which never arrived at an endpoint. The caller then
// enables the endpoint.
func (r *Row) sendUnsent(ctx context.Context, c *op.Call) (*ResendOutput, error) {
	sees, rests, err := Visibility(ctx, c.Tx, r.Organization, r.Principal, c.Services.Families)
	switch {
	case err != nil:
		return nil, err
	case sees == Nothing && !rests:
		return nil, fault.Invalid(fault.Field{Name: "id", Code: fault.ReadOnly, Text: ownerless})
	}
	whole := *r
	if err := c.Tx.QueryRow(ctx, selectTick, r.Organization).Scan(&whole.Cursor); err != nil {
		return nil, err
	}
	out := &ResendOutput{Going: true, Rests: rests}
	if !rests {
		again := resendStep{dialect: c.Tx.Dialect(), Row: &whole, now: c.Now}
		if out.Found, err = again.tally(ctx, c.Tx, sees, whole.unsent()...); err != nil {
			return nil, err
		}
	}
	for _, from := range whole.unsent() {
		if err := job.Enqueue(ctx, c.Tx, r.Organization, c.Now, from.spec(from.Since)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// enable deletes the pending deliveries of a disabled endpoint and resets its state. The
// transaction has locked the endpoint. Usually few deliveries are left, because the dispatcher
// deletes most of them soon after an endpoint is disabled.
func enable(ctx context.Context, c *op.Call, r *Row) error {
	for ended := int64(PurgePiece); ended == PurgePiece; {
		var err error
		if ended, err = Purge(ctx, c.Tx, Address{r.Organization, r.ID}, c.Now); err != nil {
			return err
		}
	}
	var tick clock.Micros
	if err := c.Tx.QueryRow(ctx, selectTick, r.Organization).Scan(&tick); err != nil {
		return err
	}
	c.Tx.Queue(enableEndpoint, r.Organization, r.ID, tick, c.Now)
	QueueDue(c.Tx, Address{r.Organization, r.ID})
	c.Tx.NotifyLocal(Topic, strconv.FormatInt(r.Organization, 10))
	return nil
}

// moment is a clock that always shows the time of one call.
type moment clock.Micros

// Now returns the moment.
func (m moment) Now() time.Time { return clock.Micros(m).Time() }

// After returns nil, because code in a transaction does not wait.
func (moment) After(time.Duration) <-chan time.Time { return nil }

// Disable disables an endpoint for a reason and sends a notice to its owner. Its pending deliveries
// end. A disabled endpoint does not change. Disable fails with db.ErrNoRows if the endpoint was
// deleted.
func Disable(ctx context.Context, c *op.Call, at Address, why Reason) error {
	k := StateStore{Clock: moment(c.Now), Logger: cmp.Or(c.Services.Logger, slog.Default()), Notices: notify.Service.In(c)}
	h, err := k.Hold(ctx, c.Tx, at)
	if err != nil || h.Status == Disabled {
		return err
	}
	h.Status, h.Reason = Disabled, why
	c.Tx.NotifyLocal(Topic, strconv.FormatInt(at.Organization, 10))
	_, err = k.Put(ctx, c.Tx, h)
	return err
}

// ResendInput selects the events to send again: one event, all failed events, or the events in a
// period. Each event begins a new series of attempts. If an attempt runs, it is the first attempt
// of the new series.
type ResendInput struct {
	Organization string `json:"organizationId,omitempty"`
	ID           string `json:"id"`
	// Event is the id of an event. The event must not be older than 30 days.
	Event string `json:"eventId,omitempty"`
	// Failed selects the failed events of the last 30 days. It leaves out events that succeeded
	// later and events that wait for another attempt.
	Failed bool `json:"failed,omitempty"`
	// Since and Until are the bounds of a period: after Since, up to and including Until. Null as
	// Until means the present time. Events that were already delivered are sent again.
	Since clock.Micros `json:"since,omitempty"`
	Until clock.Micros `json:"until,omitempty"`
}

// ResendOutput describes a resend.
type ResendOutput struct {
	// Events is 1 if the input has one event, otherwise 0.
	Events int `json:"events"`
	// Found counts the events that a job will send. It is zero while Rests is set.
	Found Tally `json:"found"`
	// Going is true if a job selects the events.
	Going bool `json:"going"`
	// Rests is true if the job waits, because the organization is closed or its API is off.
	Rests bool `json:"rests"`
}

var (
	noEndpoint = i18n.Text("There is no webhook endpoint with this id in the organization.")
	noEvent    = i18n.Text("There is no such event, it is older than 30 days, or the endpoint does not get it (event type, rights).")
	isDisabled = i18n.Text("The endpoint is disabled. Enable it first.")
	ownerless  = i18n.Text("The owner of the endpoint is disabled, so nothing is delivered to it. Enable the owner first (kartei user set or kartei service-account set, with --enable).")
	resting    = i18n.Text("The API of the organization is off at present or the organization is closed; nothing is delivered.")
	oneOfThree = i18n.Text("Give exactly one of these: an event, all failed events, or a period.")
)

// Resend is the operation that sends events again.
var Resend = op.New("webhooks.resend", op.Administer, resend, op.By(op.Self|op.Operator), op.Fresh, op.Gives,
	op.Audited("webhook.resend"))

func resend(ctx context.Context, c *op.Call, in ResendInput) (out ResendOutput, err error) {
	ways := 0
	for _, given := range []bool{in.Event != "", in.Failed, in.Since != 0 || in.Until != 0} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return out, fault.Invalid(fault.Field{Name: "eventId", Code: fault.ForbiddenCombination, Text: oneOfThree})
	}
	r, err := (&One{in.Organization, in.ID}).find(ctx, c)
	switch {
	case err != nil:
		return out, err
	case r.Status == Disabled:
		return out, fault.Invalid(fault.Field{Name: "id", Code: fault.ReadOnly, Text: isDisabled})
	}
	c.Audit.About(r.Organization, r.ID)
	if err := c.Gives(ctx, r.gain(op.HookResent)); err != nil {
		return out, err
	}
	sees, rests, err := Visibility(ctx, c.Tx, r.Organization, r.Principal, c.Services.Families)
	switch {
	case err != nil:
		return out, err
	case sees == Nothing && !rests:
		return out, fault.Invalid(fault.Field{Name: "id", Code: fault.ReadOnly, Text: ownerless})
	case in.Event == "":
		from := in.from(&r, c.Now)
		if out.Going, out.Rests = true, rests; !rests {
			if out.Found, err = (resendStep{dialect: c.Tx.Dialect(), Row: &r, now: c.Now}).tally(ctx, c.Tx, sees,
				from); err != nil {
				return out, err
			}
		}
		return out, job.Enqueue(ctx, c.Tx, r.Organization, c.Now, from.spec(in.Since))
	case rests:
		return out, fault.Invalid(fault.Field{Name: "id", Code: fault.ReadOnly, Text: resting})
	}
	out.Events = 1
	return out, resendOne(ctx, c.Tx, &r, c.Now, in.Event, sees)
}

// resendOne queues one event again. It fails if the endpoint may not receive the event, or if the
// event is too old.
func resendOne(ctx context.Context, tx db.Tx, r *Row, now clock.Micros, name, sees string) error {
	if !id.Valid(id.Event, name) {
		return fault.Invalid(fault.Field{Name: "eventId", Code: fault.FieldNotFound, Text: noEvent})
	}
	again := resendStep{dialect: tx.Dialect(), Row: r, now: now}
	events, err := readEvents(ctx, tx, again.one(sees), r.Organization, r.Principal, name, now-event.Retention,
		db.Texts(r.EventTypes), r.ID, r.Cursor, event.TickOf(name))
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return fault.Invalid(fault.Field{Name: "eventId", Code: fault.FieldNotFound, Text: noEvent})
	}
	sent, err := again.send(ctx, tx, events)
	if err != nil {
		return err
	}
	if !sent {
		return &fault.Fault{Code: fault.NotFound, Detail: noEndpoint}
	}
	return err
}
