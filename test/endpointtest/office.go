// Package endpointtest owns an office for tests with webhook endpoints, contacts and events.
package endpointtest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/event"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/kit/masterkey"
	"kartei/people/notify"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/test/operator"
	"kartei/test/waittest"
)

// Begin is the initial time of an office's clock.
var Begin = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// Families are the families of records in the events of an office.
var Families = []op.Family{
	{Object: "contact", Prefix: "con_", Plural: "contacts"},
	{Object: "task", Prefix: "tsk_", Plural: "tasks"},
}

// Office is an organization with an admin and with a user who owns webhook endpoints.
type Office struct {
	testing.TB
	DB           db.DB
	Clock        *clock.Fake
	Directory    *access.Directory
	Operator     *operator.Operator
	Vault        masterkey.Vault
	Info         access.OrganizationInfo
	Organization int64
	Owner, Admin string
}

var ctx = context.Background()

// Open creates an office in a database.
func Open(t testing.TB, d db.DB) *Office {
	t.Helper()
	o := &Office{TB: t, DB: d, Clock: clock.NewFake(Begin)}
	var err error
	o.Vault, err = masterkey.NewVault(make([]byte, 32))
	Must(t, err)
	o.Directory = access.NewDirectory(d, o.Clock, access.Options{})
	o.Operator = operator.New(d, o.Clock, o.Directory)
	o.Info, err = o.Operator.CreateOrganization(ctx, organization.New{
		Name: "Kanzlei", Module: "on", Secrecy: "declared", Level: access.On,
	})
	Must(t, err)
	o.Owner = o.User("anna@example.com", access.Member)
	o.Admin = o.User("john@example.com", access.Admin)
	Must(t, d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select number from organizations where id = $1`, o.Info.ID).Scan(&o.Organization)
	}))
	return o
}

// Must fails the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// As returns a pointer to v.
func As[T any](v T) *T { return &v }

// User creates a user and returns its id.
func (o *Office) User(email string, role access.Role) string {
	o.Helper()
	p, err := o.Operator.CreateUser(ctx, principal.New{Organization: o.Info.ID, Name: email, Email: email, Role: role})
	Must(o, err)
	return p.ID
}

// Set changes the office's organization. It fills in the id.
func (o *Office) Set(c organization.Change) {
	o.Helper()
	c.ID = o.Info.ID
	_, err := o.Operator.SetOrganization(ctx, c)
	Must(o, err)
}

// SetOwner changes the user Owner. It fills in the id.
func (o *Office) SetOwner(c principal.Change) {
	o.Helper()
	c.ID = o.Owner
	_, err := o.Operator.SetUser(ctx, c)
	Must(o, err)
}

// Endpoint creates a webhook endpoint of Owner and returns its id. types are its event types. The
// default are the three events of contacts.
func (o *Office) Endpoint(types ...string) string {
	o.Helper()
	return o.EndpointOf(o.Owner, types...)
}

// EndpointOf creates a webhook endpoint of a principal and returns its id. types are its event
// types. The default are the three events of contacts.
func (o *Office) EndpointOf(principal string, types ...string) string {
	o.Helper()
	if types == nil {
		types = []string{"contact.created", "contact.updated", "contact.deleted"}
	}
	name, now := id.New(id.WebhookEndpoint), clock.Now(o.Clock)
	r := webhook.Row{Organization: o.Organization, Principal: principal, Endpoint: webhook.Endpoint{
		ID: name, Status: webhook.Active, Revision: 1, CreatedAt: now, UpdatedAt: now,
		Fields: webhook.Fields{
			Name: "CRM", URL: "https://" + strings.TrimPrefix(name, "whe_") + ".example.com/hook",
			EventTypes: types,
		},
	}}
	r.Seal(o.Vault, make([]byte, 32))
	Must(o, o.DB.Write(ctx, func(tx db.Tx) error {
		if err := tx.QueryRow(ctx, `select tick from clocks where organization = $1`,
			o.Organization).Scan(&r.Cursor); err != nil {
			return err
		}
		r.Insert(tx)
		tx.NotifyLocal(webhook.Topic, fmt.Sprint(o.Organization))
		return nil
	}))
	return name
}

// At returns the Address of an endpoint: its organization and id.
func (o *Office) At(endpoint string) webhook.Address {
	return webhook.Address{Organization: o.Organization, ID: endpoint}
}

// Place returns the context to which the encrypted secrets of an endpoint are bound.
func (o *Office) Place(endpoint string) string {
	return strconv.FormatInt(o.Organization, 10) + "|" + endpoint
}

// Event creates a contact and its event contact.created. It returns the id of the event.
func (o *Office) Event() string { o.Helper(); return o.Events(1)[0] }

// Events creates n contacts, each with its event contact.created. It returns the ids of the events.
func (o *Office) Events(n int) (ids []string) {
	o.Helper()
	return o.EventsOf("contact.created", "", n)
}

// EventsOf creates n contacts with an audience, each with an event of the type kind. It returns the
// ids of the events.
func (o *Office) EventsOf(kind, audience string, n int) (ids []string) {
	o.Helper()
	Must(o, o.DB.Write(ctx, func(tx db.Tx) error {
		ids = nil
		for range n {
			tick, err := tx.Tick(ctx, o.Organization, clock.Now(o.Clock))
			if err != nil {
				return err
			}
			contact, name := id.New(id.Contact), id.Exact(id.Event, tick.Time())
			tx.Queue(`insert into contacts (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, schema_hash, content)
				values ($1, $2, 1, $3, $3, false, $4, $5, 0, '{}')`, o.Organization, contact, tick, o.Admin, audience)
			tx.Queue(`insert into events (organization, tick, id, type, object, record_id) values ($1, $2, $3, $4, 'contact', $5)`,
				o.Organization, tick, name, kind, contact)
			ids = append(ids, name)
		}
		tx.NotifyLocal(event.Topic, fmt.Sprint(o.Organization))
		return nil
	}))
	return ids
}

// CaughtUp moves the cursors of all endpoints to the newest event.
func (o *Office) CaughtUp() {
	o.Helper()
	o.Exec(`update webhook_endpoints set cursor = (select tick from clocks where organization = $1) where organization = $1`, o.Organization)
}

// Logged writes n rows to the delivery log of an endpoint: attempts for one event with the same
// status.
func (o *Office) Logged(endpoint, event string, status webhook.Result, n int) {
	o.Helper()
	Must(o, o.DB.Write(ctx, func(tx db.Tx) error {
		for range n {
			tx.Queue(`insert into webhook_attempts (organization, id, endpoint, event_id, event_type, attempt, status, response_status, response_ms, error_code, attempted_at, next_attempt_at)
				values ($1, $2, $3, $4, 'contact.created', 1, $5, 500, 1, '', $6, 0)`, o.Organization,
				id.At(id.Delivery, o.Clock.Now()), endpoint, event, status, clock.Now(o.Clock))
		}
		return nil
	}))
}

// Told returns the posted notices in order. Each text has the recipient and the kind.
func (o *Office) Told() (list []string) {
	o.Helper()
	Must(o, o.DB.Read(ctx, func(tx db.Tx) error {
		rows, err := tx.Query(ctx, `select principal, kind, data from notices where organization = $1 order by id`,
			o.Organization)
		if err != nil {
			return err
		}
		defer rows.Close()
		names := map[string]string{o.Owner: "owner", o.Admin: "admin"}
		for rows.Next() {
			var principal, kind, data string
			if err := rows.Scan(&principal, &kind, &data); err != nil {
				return err
			}
			var facts webhook.AlertFacts
			if err := json.Unmarshal([]byte(data), &facts); err != nil {
				return err
			}
			list = append(list, strings.TrimSpace(fmt.Sprint(names[principal], " ", strings.TrimPrefix(kind, "webhook_"),
				" ", facts.Reason)))
		}
		return rows.Err()
	}))
	return list
}

// Attempts returns the delivery log of an endpoint, one line for each attempt.
func (o *Office) Attempts(endpoint string) (lines []string) {
	o.Helper()
	Must(o, o.DB.Read(ctx, func(tx db.Tx) error {
		rows, err := tx.Query(ctx, `select event_id, attempt, status, response_status, error_code from webhook_attempts
			where organization = $1 and endpoint = $2 order by id`, o.Organization, endpoint)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var event, status, code string
			var attempt, response int
			if err := rows.Scan(&event, &attempt, &status, &response, &code); err != nil {
				return err
			}
			lines = append(lines, fmt.Sprint(event, " ", attempt, " ", status, " ", response, " ", code))
		}
		return rows.Err()
	}))
	return lines
}

// Read returns the row of an endpoint.
func (o *Office) Read(endpoint string) (r webhook.Row) {
	o.Helper()
	Must(o, o.DB.Read(ctx, func(tx db.Tx) (err error) {
		r, err = webhook.Find(ctx, tx, o.Organization, endpoint)
		return err
	}))
	return r
}

// State returns the status of an endpoint, with the reason if it is disabled.
func (o *Office) State(endpoint string) string {
	o.Helper()
	r := o.Read(endpoint)
	if r.DisabledReason == nil {
		return string(r.Status)
	}
	return string(r.Status) + " " + string(*r.DisabledReason)
}

// Count returns the number of the office's rows that meet a condition.
func (o *Office) Count(table, where string) (n int) {
	o.Helper()
	Must(o, o.DB.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from `+table+` where organization = $1 and `+where, o.Organization).Scan(&n)
	}))
	return n
}

// Exec runs a statement in its own transaction.
func (o *Office) Exec(query string, args ...any) {
	o.Helper()
	Must(o, o.DB.Write(ctx, func(tx db.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	}))
}

// Call returns the Call of an operation by Owner in tx.
func (o *Office) Call(tx db.Tx) *op.Call {
	o.Helper()
	actor, err := access.ActorFor(ctx, tx, o.Organization, o.Owner)
	Must(o, err)
	return &op.Call{
		Actor: actor, Tx: tx, Now: clock.Now(o.Clock),
		Services: op.Services{}.With(webhook.Service.Is(webhook.Options{Secrets: o.Vault})),
	}
}

// Notices returns a notification center with the forms of notices about endpoints.
func (o *Office) Notices() *notify.Center {
	return notify.New(notify.Options{DB: o.DB, Clock: o.Clock, Forms: webhook.Forms})
}

// Desk administers the webhook endpoints of an office as the operator.
type Desk struct {
	DB     db.DB
	office *Office
}

// Bell lists in-app notices of the office. c is the center whose forms it uses.
func (o *Office) Bell(c *notify.Center, in notify.BellInput) (op.Entries[notify.Entry], error) {
	return operator.Run(ctx, o.Operator.With(*op.Services{}.With(notify.Service.Is(c))), notify.ListBell, in)
}

// StillDesk returns a Desk that does not run its jobs.
func (o *Office) StillDesk() *Desk { return &Desk{o.DB, o} }

// operator returns an Operator on the database of the desk.
func (d *Desk) operator() *operator.Operator {
	return operator.New(d.DB, d.office.Clock,
		d.office.Directory).With(*op.Services{Families: Families}.With(notify.Service.Is(d.office.Notices())))
}

// Resender returns a Resender on the database of the desk.
func (d *Desk) Resender() *webhook.Resender {
	return &webhook.Resender{DB: d.DB, Clock: d.office.Clock, Families: Families}
}

// Find calls webhook.ListInfos.
func (d *Desk) Find(ctx context.Context, in webhook.FindInput) (op.Entries[webhook.Info], error) {
	return operator.Run(ctx, d.operator(), webhook.ListInfos, in)
}

// Show calls webhook.GetInfo.
func (d *Desk) Show(ctx context.Context, in webhook.One) (webhook.Info, error) {
	return operator.Run(ctx, d.operator(), webhook.GetInfo, webhook.GetInput{One: in, Full: true})
}

// Log calls webhook.ListAttempts.
func (d *Desk) Log(ctx context.Context, in webhook.LogInput) (op.Entries[webhook.Attempt], error) {
	return operator.Run(ctx, d.operator(), webhook.ListAttempts, in)
}

// Enable calls webhook.Enable.
func (d *Desk) Enable(ctx context.Context, in webhook.One) (webhook.Info, error) {
	out, err := d.EnableWith(ctx, webhook.EnableInput{One: in})
	return out.Info, err
}

// EnableWith calls webhook.Enable. in says whether missed events are sent again.
func (d *Desk) EnableWith(ctx context.Context, in webhook.EnableInput) (webhook.EnableOutput, error) {
	return operator.Run(ctx, d.operator(), webhook.Enable, in)
}

// Resend calls webhook.Resend.
func (d *Desk) Resend(ctx context.Context, in webhook.ResendInput) (webhook.ResendOutput, error) {
	return operator.Run(ctx, d.operator(), webhook.Resend, in)
}

// Disable calls webhook.Disable with a reason.
func (d *Desk) Disable(ctx context.Context, in webhook.One, why webhook.Reason) (webhook.Info, error) {
	return operator.Do(ctx, d.operator(), func(ctx context.Context, c *op.Call, in webhook.One) (webhook.Info, error) {
		if err := webhook.Disable(ctx, c, webhook.Address{Organization: d.office.Organization, ID: in.ID}, why); err != nil {
			return webhook.Info{}, err
		}
		return webhook.ReadInfo(ctx, c, webhook.GetInput{One: in})
	}, in)
}

// Revoke calls webhook.RevokeKey.
func (d *Desk) Revoke(ctx context.Context, in webhook.RevokeInput) (webhook.RevokedKey, error) {
	return operator.Run(ctx, d.operator(), webhook.RevokeKey, in)
}

// Desk returns a Desk that runs its jobs. wait returns when n of the jobs have ended.
func (o *Office) Desk() (d *Desk, wait func(n int)) {
	o.Helper()
	d = o.StillDesk()
	ended := make(chan string, 100)
	handlers := d.Resender().Handlers()
	r := job.NewRunner(o.DB, o.Clock, handlers, job.Options{
		Logger: slog.New(slog.NewTextHandler(o.Output(), nil)),
		Observe: func(kind, outcome string, _ time.Duration) {
			if slices.ContainsFunc(handlers, func(h job.Handler) bool { return h.Kind == kind }) { // Jobs that send emails do not count.
				ended <- outcome
			}
		},
	})
	running, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	workers.Go(func() { r.Run(running) })
	o.Cleanup(func() { cancel(); workers.Wait() })
	return d, func(n int) {
		o.Helper()
		for range n {
			select {
			case outcome := <-ended:
				if outcome != job.Finished {
					o.Fatalf("a job ended as %s", outcome)
				}
			case <-time.After(waittest.Bound):
				o.Fatal("a job does not end")
			}
		}
	}
}
