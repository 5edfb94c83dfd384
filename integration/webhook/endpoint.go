// Package webhook owns webhook endpoints: their states and secrets, and the operations on them.
package webhook

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/event"
	"kartei/kit/clock"
	"kartei/kit/egress"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/kit/masterkey"
	"kartei/record"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/store/replay"
)

// MaxEndpoints is the maximum number of endpoints of a principal in an organization (contract,
// 'Other constants').
const MaxEndpoints = 16

// Status is the status of an endpoint. A disabled endpoint receives no events.
type Status string

// The statuses of endpoints (contract, 'States and transitions').
const (
	Active   Status = "active"
	Failing  Status = "failing"
	Disabled Status = "disabled"
)

// Reason says why an endpoint is disabled. It is empty for other endpoints.
type Reason string

// The reasons for disabling an endpoint.
const (
	Gone       Reason = "gone"        // the receiver responded 410
	NoSuccess  Reason = "no_success"  // attempts failed for 72 hours
	KeyRevoked Reason = "key_revoked" // the key that created the endpoint was revoked
)

// Fields are the members that the owner of an endpoint can set.
type Fields struct {
	Name       string   `json:"name" required:"true" min:"1" max:"200" example:"CRM" patch:"set"`
	URL        string   `json:"url" required:"true" min:"1" max:"2048" example:"https://crm.example.com/hooks/kartei"`
	EventTypes []string `json:"eventTypes" required:"true" minItems:"1" maxItems:"100" enum:"events" named:"EventType" example:"[\"contact.created\",\"contact.updated\"]" patch:"set"`
}

// Endpoint is a webhook endpoint in the API. It belongs to the principal that created it. The API
// shows it only to this principal, and not to admins.
type Endpoint struct {
	Object string `json:"object" enum:"webhook_endpoint" example:"webhook_endpoint"`
	ID     string `json:"id" example:"whe_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Fields
	Status         Status  `json:"status" enum:"active,failing,disabled" example:"active"`
	DisabledReason *Reason `json:"disabledReason" enum:"gone,no_success,key_revoked" example:"null"`
	// A time is nil if the event has not happened.
	LastSuccessAt            *clock.Micros `json:"lastSuccessAt" example:"2026-11-02T14:05:12.345678Z"`
	LastFailureAt            *clock.Micros `json:"lastFailureAt" example:"null"`
	PreviousSecretValidUntil *clock.Micros `json:"previousSecretValidUntil" example:"null"`
	Revision                 int64         `json:"revision" min:"1" example:"3"`
	CreatedAt                clock.Micros  `json:"createdAt" example:"2026-11-01T09:30:00.000000Z"`
	UpdatedAt                clock.Micros  `json:"updatedAt" example:"2026-11-02T14:05:12.345678Z"`
}

// EntityTag returns the entity tag of the revision.
func (e Endpoint) EntityTag() string { return op.Tag(e.Revision) }

// Records returns the number of records in the response, which is 1.
func (Endpoint) Records() int { return 1 }

// EndpointWithSecret is an endpoint with its secret. Only the responses of create and rotate have
// it.
type EndpointWithSecret struct {
	Endpoint
	Secret string `json:"secret" example:"whsec_TWFuIG11c3Mgc2VpbmUgR2VoZWltbmlzc2UgaMO8dGU="`
}

// Creation is the response of webhookEndpoints.create.
type Creation struct{ EndpointWithSecret }

// Location returns the path of the endpoint for the Location header.
func (c Creation) Location() string { return "/webhook_endpoints/" + c.ID }

// Type returns the type of the body.
func (Creation) Type() reflect.Type { return reflect.TypeFor[EndpointWithSecret]() }

// Secret marks the response as one that has a secret.
func (Creation) Secret() {}

// Rotation is the response of webhookEndpoints.rotateSecret.
type Rotation struct{ EndpointWithSecret }

// Type returns the type of the body.
func (Rotation) Type() reflect.Type { return reflect.TypeFor[EndpointWithSecret]() }

// Secret marks the response as one that has a secret.
func (Rotation) Secret() {}

// Topic is the topic of notifications to dispatchers (db.Tx.NotifyLocal). A call notifies after it
// has created or changed an endpoint, or given it work other than new events. The message is the
// number of the organization. Deliveries then begin at once, and not with the next sweep.
const Topic = "webhooks"

// Address identifies an endpoint.
type Address struct {
	Organization int64
	ID           string
}

// Row is an endpoint as the database stores it. Fields has the members that the owner sets, and
// Endpoint the members that the API shows.
//
// A transaction that changes deliveries of the endpoint must update the row first. Its statement
// has the expected revision or status as a condition, because earlier reads may be stale.
type Row struct {
	Endpoint
	Organization int64
	Principal    string
	// Key is the id of the key that created the endpoint or last changed its URL. It is empty if a
	// session did that.
	Key string
	// secret and previous are the encrypted secrets. previous is empty if there is no previous
	// secret.
	secret, previous string
	// previousUntil is the time until which previous signs, and zero if there is no previous
	// secret.
	previousUntil clock.Micros
	// Cursor is the tick up to which events were fanned out.
	Cursor clock.Micros
	// DueAt is the time when a delivery is due or the status may change. Zero means that neither
	// will happen.
	DueAt clock.Micros
	// FailedSince is the time of the first failed attempt since the last success, and zero if no
	// attempt has failed since then. Failures is the number of failed attempts since then.
	FailedSince clock.Micros
	Failures    int64
	// MissedSince is a tick before the first event that was never tried. It is set when the
	// endpoint is disabled, or when events after its cursor expire. Zero means that no event was
	// missed.
	MissedSince clock.Micros
}

// at returns the endpoint as the API shows it at the time now.
func (r *Row) at(now clock.Micros) Endpoint {
	e := r.Endpoint
	if now < r.previousUntil {
		e.PreviousSecretValidUntil = &r.previousUntil
	}
	return e
}

// prepare normalizes the members of a request. If the URL is not valid, it returns a fault.
func (f *Fields) prepare(guard *egress.Guard) error {
	f.Name = record.Clean(f.Name)
	f.EventTypes = record.Unique(f.EventTypes)
	url, err := CheckURL(record.Clean(f.URL), guard)
	f.URL = url
	return err
}

// Wrong returns the faults of the URL.
func (f *Fields) Wrong(s *op.Services, sent op.RuleScope) []fault.Field {
	if !sent.Fit("url") {
		return nil
	}
	if _, err := CheckURL(record.Clean(f.URL), Service.Of(s).Guard); err != nil {
		return fault.From(err).Fields
	}
	return nil
}

// CreateInput is the input of webhookEndpoints.create.
type CreateInput struct {
	Fields Fields `body:"create" named:"WebhookEndpointCreate"`
}

// Options are the dependencies of the operations on webhook endpoints.
type Options struct {
	// Secrets encrypts the secrets of endpoints.
	Secrets masterkey.Vault
	// Guard checks the addresses of endpoints. nil permits all public addresses.
	Guard *egress.Guard
}

// Service provides the Options to the operations on webhook endpoints.
var Service = op.Need[Options]("webhook endpoints")

// The operations on webhook endpoints in the API.
var (
	Create = op.New("webhookEndpoints.create", op.Create, create, op.Scoped, op.Costs(5), op.Gives,
		op.Audited("webhook.create"), op.Fails(fault.WebhookURLInvalid, fault.WebhookEndpointLimit))
	Get    = op.New("webhookEndpoints.get", op.Get, get, op.Scoped, op.Costs(1))
	List   = op.New("webhookEndpoints.list", op.Read, listEndpoints, op.Scoped, op.Costs(2))
	Update = op.New("webhookEndpoints.update", op.Update, update, op.Scoped, op.Costs(5), op.Gives,
		op.Audited("webhook.change"), op.Fails(fault.WebhookURLInvalid))
	Delete       = op.New("webhookEndpoints.delete", op.Delete, remove, op.Scoped, op.Costs(10))
	RotateSecret = op.New("webhookEndpoints.rotateSecret", op.Change, rotate, op.Scoped, op.Costs(5), op.Gives,
		op.Audited("webhook.rotate"))
	SendTest   = op.New("webhookEndpoints.test", op.Change, sendTest, op.Scoped, op.Costs(5), op.Emits("webhook.test"))
	Deliveries = op.New("webhookEndpoints.deliveries", op.Get, deliveries, op.Scoped, op.Costs(2))
)

// create creates an endpoint of the caller. The endpoint receives events that happen after the
// call.
func create(ctx context.Context, c *op.Call, in CreateInput) (Creation, error) {
	if err := in.Fields.prepare(Service.In(c).Guard); err != nil {
		return Creation{}, err
	}
	if err := mayRead(c, in.Fields.EventTypes); err != nil {
		return Creation{}, err
	}
	r := Row{
		Endpoint: Endpoint{
			Object: "webhook_endpoint", ID: id.New(id.WebhookEndpoint), Fields: in.Fields, Status: Active,
			Revision: 1, CreatedAt: c.Now, UpdatedAt: c.Now,
		},
		Organization: c.Actor.Org(), Principal: c.Actor.PrincipalID(), Key: c.Actor.Credential().ID,
	}
	// A notice takes the lock that orders jobs. Transactions take that lock before the clock row.
	if err := c.Gives(ctx, r.gain(op.HookCreated)); err != nil {
		return Creation{}, err
	}
	c.Audit.About(r.Organization, r.ID)
	c.Audit.Hidden("url", true) // some URLs contain a secret
	c.Audit.Changed("eventTypes", nil, r.EventTypes)
	// Tick locks the clock row until the commit. So the second of two concurrent calls counts the
	// endpoint of the first.
	tick, err := c.Tx.Tick(ctx, c.Actor.Org(), c.Now)
	if err != nil {
		return Creation{}, err
	}
	var n int
	if err := c.Tx.QueryRow(ctx, countEndpoints, c.Actor.Org(), c.Actor.PrincipalID()).Scan(&n); err != nil {
		return Creation{}, err
	}
	if n >= MaxEndpoints {
		return Creation{}, fault.New(fault.WebhookEndpointLimit)
	}
	r.Cursor = tick
	secret, err := r.newSecret(c)
	if err != nil {
		return Creation{}, err
	}
	r.Insert(c.Tx)
	tell(c)
	return Creation{EndpointWithSecret{r.at(c.Now), secret.Reveal()}}, nil
}

// mayRead fails with FORBIDDEN if the caller may not read the records of some of the event types.
// Otherwise a key that only manages endpoints could send its principal's events to a new endpoint
// or a new URL.
func mayRead(c *op.Call, types []string) error {
	var missing []string
	for _, name := range types {
		scope := event.ReadScope(name, c.Services.Families)
		if scope != "" && !c.Actor.May(scope) && !slices.Contains(missing, scope) {
			missing = append(missing, scope)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return access.Lacking(missing...)
}

// newSecret generates a secret, stores it encrypted in r and returns it.
func (r *Row) newSecret(c *op.Call) (Secret, error) {
	secret, err := NewSecret(rand.Reader)
	if err != nil {
		return secret, err
	}
	r.Seal(Service.In(c).Secrets, secret)
	return secret, nil
}

// tell notifies the dispatcher of this process after the commit.
func tell(c *op.Call) { c.Tx.NotifyLocal(Topic, strconv.FormatInt(c.Actor.Org(), 10)) }

// own reads an endpoint of the caller. It fails with NOT_FOUND for any other id.
func own(ctx context.Context, c *op.Call, endpoint string) (Row, error) {
	if !id.Valid(id.WebhookEndpoint, endpoint) {
		return Row{}, fault.New(fault.NotFound)
	}
	r, err := scan(c.Tx.QueryRow(ctx, selectOwn, c.Actor.Org(), endpoint, c.Actor.PrincipalID()))
	if errors.Is(err, db.ErrNoRows) {
		return Row{}, fault.New(fault.NotFound)
	}
	return r, err
}

// get returns an endpoint of the caller.
func get(ctx context.Context, c *op.Call, in op.ByID) (Endpoint, error) {
	r, err := own(ctx, c, in.ID)
	return r.at(c.Now), err
}

// ListInput has the parameters of webhookEndpoints.list.
type ListInput struct {
	Limit  int    `query:"limit" min:"1" max:"100" default:"25" example:"25"`
	Cursor string `query:"cursor" min:"1" max:"4096" example:"AX3k9bQ"`
}

// EndpointPage is one page of the list of endpoints.
type EndpointPage struct {
	Data       []Endpoint `json:"data" maxItems:"100"`
	HasMore    bool       `json:"hasMore" example:"false"`
	NextCursor *string    `json:"nextCursor" max:"4096" example:"AX3k9bQ"`
}

// Records returns the number of endpoints on the page.
func (p EndpointPage) Records() int { return len(p.Data) }

// listEndpoints returns a page of the caller's endpoints, newest first.
func listEndpoints(ctx context.Context, c *op.Call, in ListInput) (EndpointPage, error) {
	rows, next, err := list(ctx, c, "webhook_endpoints", in, scan, func(r Row) string { return r.ID }, listOwn,
		c.Actor.Org(), c.Actor.PrincipalID())
	if err != nil {
		return EndpointPage{}, err
	}
	page := EndpointPage{Data: []Endpoint{}, HasMore: next != nil, NextCursor: next}
	for _, r := range rows {
		page.Data = append(page.Data, r.at(c.Now))
	}
	return page, nil
}

// list returns a page of rows, the newest first. next is the cursor of the next page, or nil on the
// last page. The last two arguments of the query are the id before the page and the number of rows.
func list[T any](ctx context.Context, c *op.Call, name string, in ListInput, scan func(db.Row) (T, error), key func(T) string,
	query string, args ...any) (page []T, next *string, err error) {
	scope := fmt.Sprintf("%d|%s|%s|%s", c.Actor.Org(), c.Actor.PrincipalID(), name, c.Version)
	from := lastID
	if in.Cursor != "" {
		if err := c.Services.Cursors.Open(scope, in.Cursor, c.Now, &from); err != nil {
			return nil, nil, fault.New(fault.CursorMismatch)
		}
	}
	rows, err := c.Tx.Query(ctx, query, append(args, from, in.Limit+1)...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		if len(page) == in.Limit {
			cursor, err := c.Services.Cursors.Seal(scope, c.Now, key(page[in.Limit-1]))
			return page, &cursor, err
		}
		v, err := scan(rows)
		if err != nil {
			return nil, nil, err
		}
		page = append(page, v)
	}
	return page, nil, rows.Err()
}

// lastID sorts after every id.
const lastID = "~"

// UpdateInput is the input of webhookEndpoints.update.
type UpdateInput struct {
	ID    string           `path:"id"`
	Patch op.Patch[Fields] `body:"patch"`
}

// update applies a patch to an endpoint of the caller. It requires If-Match. The caller must be
// able to read all records whose events the endpoint receives after the change. Pending deliveries
// are sent to the new URL. A patch without a change makes no new revision.
func update(ctx context.Context, c *op.Call, in UpdateInput) (Endpoint, error) {
	r, err := own(ctx, c, in.ID)
	if err != nil {
		return Endpoint{}, err
	}
	if err := c.IfMatch.Require(r.Revision); err != nil {
		return Endpoint{}, err
	}
	after := r.Fields
	after.EventTypes = slices.Clone(r.EventTypes)
	if err := in.Patch.Apply(&after); err != nil {
		return Endpoint{}, fault.New(fault.InvalidRequest)
	}
	if err := r.change(ctx, c, after); err != nil {
		return Endpoint{}, err
	}
	return r.at(c.Now), nil
}

// gain returns the access that the endpoint gives: the events of its owner are sent to its URL.
func (r *Row) gain(word op.GainWord) op.Gain {
	return op.Gain{Word: word, ID: r.ID, Organization: r.Organization, Principal: r.Principal}
}

// change stores other members of the endpoint. If nothing changes, it makes no new revision. A new
// URL or an additional event type gives access.
func (r *Row) change(ctx context.Context, c *op.Call, after Fields) error {
	if err := after.prepare(Service.In(c).Guard); err != nil {
		return err
	}
	if err := mayRead(c, after.EventTypes); err != nil {
		return err
	}
	if after.Name == r.Name && after.URL == r.URL && slices.Equal(after.EventTypes, r.EventTypes) {
		return nil
	}
	before := r.Fields
	if after.URL != r.URL { // this key is now responsible for the URL
		r.Key = c.Actor.Credential().ID
	}
	r.Fields = after
	c.Audit.About(r.Organization, r.ID)
	c.Audit.Hidden("name", before.Name != r.Name)
	c.Audit.Hidden("url", before.URL != r.URL)
	c.Audit.Changed("eventTypes", before.EventTypes, r.EventTypes)
	if err := r.replace(ctx, c, updateEndpoint, r.Name, r.URL, db.Texts(r.EventTypes), r.Key); err != nil {
		return err
	}
	if before.URL == r.URL && within(r.EventTypes, before.EventTypes) {
		return nil
	}
	return c.Gives(ctx, r.gain(op.HookChanged))
}

// replace stores the next revision with a statement. The arguments of the statement are the
// organization, the id, the revision that was read, the time, and then more. If there is a newer
// revision, replace fails with db.ErrConflict, and the operation runs again.
func (r *Row) replace(ctx context.Context, c *op.Call, statement string, more ...any) error {
	read := r.Revision
	r.Revision, r.UpdatedAt = read+1, max(r.UpdatedAt, c.Now)
	tell(c)
	return one(c.Tx.Exec(ctx, statement, append([]any{r.Organization, r.ID, read, r.UpdatedAt}, more...)...))
}

// one fails with db.ErrConflict unless the statement changed exactly one row.
func one(rows int64, err error) error {
	if err != nil {
		return err
	}
	if rows != 1 {
		return db.ErrConflict
	}
	return nil
}

// remove deletes an endpoint of the caller. It requires If-Match. No further delivery begins. A job
// deletes the pending deliveries and the log, which may have millions of rows.
func remove(ctx context.Context, c *op.Call, in op.ByID) (op.Nothing, error) {
	r, err := own(ctx, c, in.ID)
	if err != nil {
		return op.Nothing{}, err
	}
	if err := c.IfMatch.Require(r.Revision); err != nil {
		return op.Nothing{}, err
	}
	if err := r.delete(ctx, c); err != nil {
		return op.Nothing{}, err
	}
	return op.Nothing{}, r.clear(ctx, c)
}

// delete deletes the row of the endpoint. The caller must call clear afterwards.
func (r *Row) delete(ctx context.Context, c *op.Call) error {
	c.Tx.NotifyLocal(Topic, strconv.FormatInt(r.Organization, 10))
	return one(c.Tx.Exec(ctx, deleteEndpoint, r.Organization, r.ID, r.Revision))
}

// clear enqueues a job that deletes the deliveries and the log of a deleted endpoint. It also
// erases stored responses about the endpoint.
func (r *Row) clear(ctx context.Context, c *op.Call) error {
	replay.Erase(c.Tx, r.Organization, r.ID)
	return job.Enqueue(ctx, c.Tx, r.Organization, c.Now, job.Spec{Kind: EraseKind, Key: r.ID, Payload: erasure{r.ID}})
}

// Of returns the endpoints of a principal, the newest first.
func Of(ctx context.Context, tx db.Tx, organization int64, principal string) ([]Row, error) {
	return db.List(ctx, tx, scan, listOwn, organization, principal, id.WebhookEndpoint+"~", MaxEndpoints)
}

// DeleteOf deletes the endpoints of a principal in several organizations and returns their number.
// It locks all endpoints before the lock that orders jobs (docs/decisions/0020).
func DeleteOf(ctx context.Context, c *op.Call, principal string, organizations ...int64) (int, error) {
	var all []Row
	for _, organization := range organizations {
		list, err := Of(ctx, c.Tx, organization, principal)
		if err != nil {
			return 0, err
		}
		slices.SortFunc(list, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
		all = append(all, list...)
	}
	for _, step := range []func(*Row, context.Context, *op.Call) error{(*Row).delete, (*Row).clear} {
		for n := range all {
			if err := step(&all[n], ctx, c); err != nil {
				return 0, err
			}
		}
	}
	return len(all), nil
}

// rotate gives an endpoint of the caller a new secret. It honours If-Match. The replaced secret
// also signs for Overlap.
//
// The secret before the replaced one no longer signs. So there are at most two secrets, and two
// rotations end a leaked secret. If the replaced secret cannot be decrypted, because its master key
// is lost, it ends at once.
func rotate(ctx context.Context, c *op.Call, in op.ByID) (Rotation, error) {
	r, err := own(ctx, c, in.ID)
	if err != nil {
		return Rotation{}, err
	}
	if err := c.IfMatch.Check(r.Revision); err != nil {
		return Rotation{}, err
	}
	return r.rotate(ctx, c)
}

// rotate gives the endpoint a new secret. The replaced secret also signs for Overlap.
func (r *Row) rotate(ctx context.Context, c *op.Call) (Rotation, error) {
	read := r.secret // a concurrent reseal may change the stored value
	r.previous, r.previousUntil = read, c.Now+Overlap
	if _, _, err := Service.In(c).Secrets.Open(read, sealingPlace(r.Organization, r.ID)); err != nil {
		r.previous, r.previousUntil = "", 0
	}
	secret, err := r.newSecret(c)
	if err != nil {
		return Rotation{}, err
	}
	c.Audit.About(r.Organization, r.ID)
	if err := r.replace(ctx, c, rotateSecret, r.secret, r.previous, r.previousUntil, read); err != nil {
		return Rotation{}, err
	}
	if err := replay.EraseSecrets(ctx, c.Tx, r.Organization, r.ID); err != nil {
		return Rotation{}, err
	}
	if err := c.Gives(ctx, r.gain(op.HookRotated)); err != nil {
		return Rotation{}, err
	}
	return Rotation{EndpointWithSecret{r.at(c.Now), secret.Reveal()}}, nil
}

// TestOutput is the output of webhookEndpoints.test.
type TestOutput struct {
	Object  string `json:"object" enum:"webhook_test" example:"webhook_test"`
	EventID string `json:"eventId" example:"evt_01jb2z5k3xf0q8r9s7t6v5w4y3"`
}

// sendTest writes a webhook.test event about an endpoint of the caller. It also writes a delivery
// of the event to this endpoint only.
func sendTest(ctx context.Context, c *op.Call, in op.ByID) (TestOutput, error) {
	r, err := own(ctx, c, in.ID)
	if err != nil {
		return TestOutput{}, err
	}
	if err := one(c.Tx.Exec(ctx, noteDue, r.Organization, r.ID, c.Now)); err != nil {
		return TestOutput{}, err
	}
	tick, err := c.Tx.Tick(ctx, c.Actor.Org(), c.Now)
	if err != nil {
		return TestOutput{}, err
	}
	if !c.Actor.Emits() { // the module was switched off after the call was admitted
		return TestOutput{}, c.Actor.Module()
	}
	e := event.Append(c, event.Event{
		Type: event.Test, CreatedAt: tick, Data: event.Subject{Object: r.Object, ID: r.ID},
	})
	c.Tx.Queue(drawDelivery, r.Organization, r.ID, e.ID, e.CreatedAt, c.Now)
	tell(c)
	return TestOutput{"webhook_test", e.ID}, nil
}
