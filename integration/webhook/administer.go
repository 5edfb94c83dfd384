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

// Info is an endpoint in administration.
type Info struct {
	Endpoint
	OrganizationID string `json:"organizationId"`
	PrincipalID    string `json:"principalId"`
	// KeyID is the key that created the endpoint or last changed its URL, empty
	// if that is unknown.
	KeyID string `json:"keyId"`
	// FailedSince is the first failed attempt since the last success, null if
	// there was none. Failures counts the failed attempts since then.
	FailedSince clock.Micros `json:"failedSince"`
	Failures    int64        `json:"failures"`
	// MissedSince is a time before the first event that was never tried. It is
	// set if the endpoint is disabled, and if events after its cursor become 30
	// days old. Null means that neither ever happened.
	MissedSince clock.Micros `json:"missedSince"`
	// Waiting counts the deliveries that are pending or running, at most
	// 10,000. Events that were not fanned out yet are not counted.
	Waiting int64 `json:"waiting"`
	// Through is the tick up to which events were fanned out. BehindSince is
	// the tick of the first event after it, null if there is none or the
	// endpoint is disabled.
	Through     clock.Micros `json:"through"`
	BehindSince clock.Micros `json:"behindSince"`
	// Recent and Missed are there if the input asks for the full answer. Missed counts
	// the events that never arrived, which Enable sends if it is asked to. It is null
	// unless the endpoint is disabled.
	Recent *Recent `json:"recent,omitempty"`
	Missed *Tally  `json:"missed,omitempty"`
}

// FindInput asks for endpoints of an organization, oldest first, or of all
// organizations in turn.
type FindInput struct {
	// Organization is an id; empty means all.
	Organization string `json:"organizationId,omitempty"`
	// Status is a status; empty means all.
	Status string `json:"status,omitempty"`
	// Principal is the id of an owner; empty means all.
	Principal string `json:"principalId,omitempty"`
	// Key is the id of the key of the endpoints (Info.KeyID); empty means all.
	Key string `json:"keyId,omitempty"`
	// After is the id of the last entry of the page before.
	After string `json:"after,omitempty"`
	// Limit is 1 to 1,000; zero means 100.
	Limit int `json:"limit,omitempty"`
	// Full asks for Info.Recent and Info.Missed.
	Full bool `json:"full,omitempty"`
}

// One names an endpoint.
type One struct {
	Organization string `json:"organizationId,omitempty"`
	ID           string `json:"id"`
}

// GetInput is the input of GetInfo.
type GetInput struct {
	One
	// Full asks for Info.Recent and Info.Missed.
	Full bool `json:"full,omitempty"`
}

// EnableInput is the input of Enable.
type EnableInput struct {
	One
	// Missed also sends what the endpoint missed while it was disabled, and what failed
	// before.
	Missed bool `json:"missed,omitempty"`
}

// EnableOutput is an endpoint that was enabled.
type EnableOutput struct {
	Info
	// Sends says what is sent again, null if nothing was asked for.
	Sends *ResendOutput `json:"sends,omitempty"`
}

// LogInput asks for the delivery log of an endpoint, newest first.
type LogInput struct {
	Organization string `json:"organizationId,omitempty"`
	ID           string `json:"id"`
	// Event is the id of an event; empty means all.
	Event string `json:"eventId,omitempty"`
	// Result is succeeded or failed; empty means both.
	Result string `json:"status,omitempty"`
	// Before is the id of the last entry of the page before.
	Before string `json:"before,omitempty"`
	// Limit is 1 to 1,000; zero means 100.
	Limit int `json:"limit,omitempty"`
}

// Attempt is an entry of the delivery log in administration.
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
	// selectBehindSince reads the tick of the first event after an endpoint's
	// cursor.
	selectBehindSince = `select tick from events where organization = $1 and tick > $2 order by tick limit 1`
	// keepDisabled is keepEndpoint for a disabled endpoint.
	keepDisabled   = keepEndpoint + ` and status = 'disabled'`
	enableEndpoint = `update webhook_endpoints set status = 'active', disabled_reason = '', failed_since = 0, failures = 0, cursor = $3,
		due_at = 0, revision = revision + 1, updated_at = $4 where organization = $1 and id = $2`
)

// page returns the query for endpoints of an organization.
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

// page returns the query for attempts at an endpoint.
func (in *LogInput) page(organization int64, limit int) db.Statement {
	q := db.Statement{Query: findLog, Args: []any{organization, in.ID}}
	q.AndIf(in.Event != "", "event_id = ?", in.Event)
	q.AndIf(in.Before != "", "id < ?", in.Before)
	switch Result(in.Result) {
	case "":
	case Failed:
		q.And("status = 'failed'") // failed attempts have an index
	default:
		q.And("status = ?", in.Result)
	}
	q.Add(" order by id desc limit ?", limit)
	return q
}

// mayAdminister reports whether the caller administers the endpoints of a
// principal. The operator administers all endpoints, and everyone their own.
// Admins also administer the endpoints of service accounts.
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

// ListInfos returns endpoints for administration.
var ListInfos = op.New("webhooks.list", op.Read, listInfos, op.By(op.Self|op.Operator))

func listInfos(ctx context.Context, c *op.Call, in FindInput) (page access.List[Info], err error) {
	limit, err := access.PageSize(in.Limit, 100)
	if err != nil {
		return page, err
	}
	list, err := in.read(ctx, c, limit+1)
	if err != nil {
		return page, err
	}
	rows := access.PageOf(list, limit)
	page = access.List[Info]{Data: []Info{}, HasMore: rows.HasMore}
	for _, r := range rows.Data {
		info, err := Inform(ctx, c, &r, in.Full)
		if err != nil {
			return page, err
		}
		page.Data = append(page.Data, info)
	}
	return page, nil
}

// read reads up to n endpoints of the organization. If the operator names none,
// it reads the endpoints of all organizations in turn.
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
		if in.After != "" { // only the endpoint tells its organization
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

// readOf reads up to n endpoints of an organization.
func (in *FindInput) readOf(ctx context.Context, c *op.Call, organization int64, n int) (list []Row, err error) {
	q := in.page(c, organization, n)
	return db.List(ctx, c.Tx, scan, q.Query, q.Args...)
}

// Inform returns what administration knows of an endpoint. A full answer has the recent
// deliveries and what the endpoint missed.
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

// Missed counts the events that never arrived, as of an enabled endpoint. It is nil while
// the principal's rights are at rest.
func (r *Row) Missed(ctx context.Context, c *op.Call) (*Tally, error) {
	sees, rests, err := Visibility(ctx, c.Tx, r.Organization, r.Principal, c.Services.Families)
	if err != nil || rests {
		return nil, err
	}
	whole := *r // as if it had been enabled
	if err := c.Tx.QueryRow(ctx, selectTick, r.Organization).Scan(&whole.Cursor); err != nil {
		return nil, err
	}
	t, err := resendStep{dialect: c.Tx.Dialect(), Row: &whole, now: c.Now}.tally(ctx, c.Tx, sees, whole.unsent()...)
	return &t, err
}

// unsent returns the resends that send everything that has not arrived.
func (r *Row) unsent() []resendFrom {
	all := []resendFrom{{Endpoint: r.ID, Failed: true}}
	if r.MissedSince != 0 {
		all = append(all, resendFrom{Endpoint: r.ID, Since: r.MissedSince, Until: r.Cursor})
	}
	return all
}

// GetInfo is ReadInfo as an operation.
var GetInfo = op.New("webhooks.get", op.Read, ReadInfo, op.By(op.Self|op.Operator))

// ReadInfo returns one endpoint for administration.
func ReadInfo(ctx context.Context, c *op.Call, in GetInput) (Info, error) {
	r, err := in.find(ctx, c)
	if err != nil {
		return Info{}, err
	}
	return Inform(ctx, c, &r, in.Full)
}

// find reads an endpoint that the caller administers. Any other is NOT_FOUND.
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

// ListAttempts returns entries of the delivery log.
var ListAttempts = op.New("webhooks.deliveries", op.Read, listAttemptInfos, op.By(op.Self|op.Operator))

func listAttemptInfos(ctx context.Context, c *op.Call, in LogInput) (page access.List[Attempt], err error) {
	limit, err := access.PageSize(in.Limit, 100)
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
	return access.PageOf(found, limit), err
}

const findAttempt = `select a.endpoint, a.event_type || ' ' || a.status, e.principal from webhook_attempts a
	join webhook_endpoints e on e.organization = a.organization and e.id = a.endpoint where a.organization = $1 and a.id = $2`

// AttemptOf returns the endpoint of an entry of the delivery log, and its event type
// and status. If the caller does not administer the endpoint it is NOT_FOUND.
func AttemptOf(ctx context.Context, c *op.Call, name string) (endpoint, title string, err error) {
	var principal string
	err = c.Tx.QueryRow(ctx, findAttempt, c.Actor.Org(), name).Scan(&endpoint, &title, &principal)
	if errors.Is(err, db.ErrNoRows) || err == nil && !mayAdminister(c, principal) {
		return "", "", fault.New(fault.NotFound)
	}
	return endpoint, title, err
}

// Enable makes a disabled endpoint receive events again, beginning with the
// next. What never arrived is sent too if the input says so; otherwise Resend sends it,
// from MissedSince on. An endpoint that is not disabled stays as it is.
var Enable = op.New("webhooks.enable", op.Administer, enableByPerson, op.By(op.Self|op.Operator), op.Fresh,
	op.Gives, op.Audited("webhook.enable"))

func enableByPerson(ctx context.Context, c *op.Call, in EnableInput) (out EnableOutput, err error) {
	r, err := in.find(ctx, c)
	if err != nil {
		return out, err
	}
	c.Audit.About(r.Organization, r.ID)
	// Another call may enable the endpoint at the same time, so the status that
	// was read proves nothing. From here on the row is locked.
	held, err := c.Tx.Exec(ctx, keepDisabled, r.Organization, r.ID)
	if err == nil && held == 1 {
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

// sendUnsent has jobs send what never arrived at an endpoint that is being enabled.
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

// enable purges the pending deliveries of a disabled endpoint that the
// transaction holds, and resets its state. The dispatcher purges most of them
// soon after the endpoint was disabled, so few are usually left.
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

// moment is a clock that stands still at the time of a call.
type moment clock.Micros

// Now returns the moment.
func (m moment) Now() time.Time { return clock.Micros(m).Time() }

// After never fires, because nothing waits within a transaction.
func (moment) After(time.Duration) <-chan time.Time { return nil }

// Disable disables an endpoint for a reason and notifies its owner. Its pending
// deliveries end. A disabled endpoint stays as it is. Disable fails with
// db.ErrNoRows if the endpoint was deleted.
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

// ResendInput says what to send again: one event, all that failed, or a range
// of time. Each event begins a new series of attempts. An attempt in progress
// is the first of the new series.
type ResendInput struct {
	Organization string `json:"organizationId,omitempty"`
	ID           string `json:"id"`
	// Event is the id of an event of the last 30 days.
	Event string `json:"eventId,omitempty"`
	// Failed selects the events of the last 30 days that failed, never
	// succeeded, and wait for no further attempt.
	Failed bool `json:"failed,omitempty"`
	// Since and Until bound a range of time, without Since and with Until. Null
	// as Until means now. Events that were delivered before are sent again.
	Since clock.Micros `json:"since,omitempty"`
	Until clock.Micros `json:"until,omitempty"`
}

// ResendOutput says what happens.
type ResendOutput struct {
	// Events is 1 if one event was asked for, otherwise 0.
	Events int `json:"events"`
	// Found counts the events that a job sends. It is zero while the job rests.
	Found Tally `json:"found"`
	// Going is true if a job looks up the events.
	Going bool `json:"going"`
	// Rests is true if that job waits because the organization is closed or its
	// API is off.
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

// Resend sends events again.
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

// resendOne queues one event again.
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
	if err == nil && !sent {
		return &fault.Fault{Code: fault.NotFound, Detail: noEndpoint}
	}
	return err
}
