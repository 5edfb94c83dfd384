package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/app"
	"kartei/event"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/kit/masterkey"
	"kartei/notify"
	"kartei/store/db"
	"kartei/test/dbtest"
)

var (
	ctx   = context.Background()
	begin = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
)

// office is an organization with a user who has endpoints, and receivers of
// them that answer as a test says.
type office struct {
	testing.TB
	db           db.DB
	clock        *clock.Fake
	directory    *access.Directory
	vault        masterkey.Vault
	info         access.OrganizationInfo
	organization int64
	owner, admin string

	couriers clock.Clock // in place of clock
	cancels  sync.Map    // of each courier

	mu sync.Mutex
	// answer says what a receiver makes of a message; 200 where it is nil.
	answer func(Message) Outcome
	got    []Message
	times  []clock.Micros
}

func open(t testing.TB, d db.DB) *office {
	t.Helper()
	o := &office{TB: t, db: d, clock: clock.NewFake(begin)}
	var err error
	o.vault, err = masterkey.NewVault(make([]byte, 32))
	must(t, err)
	o.directory = access.NewDirectory(d, o.clock, access.Options{Versions: []string{"2026-11-01"}})
	o.info, err = o.directory.CreateOrganization(ctx, access.NewOrganization{Name: "Kanzlei", Module: "on", Secrecy: "declared", Level: access.On})
	must(t, err)
	o.owner = o.user("anna@example.com", access.Member)
	o.admin = o.user("john@example.com", access.Admin)
	must(t, d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select number from organizations where id = $1`, o.info.ID).Scan(&o.organization)
	}))
	return o
}

func (o *office) user(email string, role access.Role) string {
	o.Helper()
	p, err := o.directory.CreateUser(ctx, access.NewPrincipal{Organization: o.info.ID, Name: email, Email: email, Role: role})
	must(o, err)
	return p.ID
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// endpoint makes an endpoint of the owner.
func (o *office) endpoint(types ...string) string {
	o.Helper()
	return o.endpointOf(o.owner, types...)
}

func (o *office) endpointOf(principal string, types ...string) string {
	o.Helper()
	if types == nil {
		types = []string{"contact.created", "contact.updated", "contact.deleted"}
	}
	name, now := id.New(id.WebhookEndpoint), clock.Now(o.clock)
	r := row{organization: o.organization, principal: principal, Endpoint: Endpoint{ID: name, Status: Active, Revision: 1, CreatedAt: now, UpdatedAt: now,
		Fields: Fields{Name: "CRM", URL: "https://" + strings.TrimPrefix(name, "whe_") + ".example.com/hook", EventTypes: types}}}
	r.secret = o.vault.Seal(make([]byte, 32), sealingPlace(o.organization, name))
	must(o, o.db.Write(ctx, func(tx db.Tx) error {
		if err := tx.QueryRow(ctx, selectTick, o.organization).Scan(&r.cursor); err != nil {
			return err
		}
		tx.Queue(insertEndpoint, r.values()...)
		tx.Tell(Topic, fmt.Sprint(o.organization))
		return nil
	}))
	return name
}

// event makes a contact and its event, and returns the event's id.
func (o *office) event() string { return o.events(1)[0] }

func (o *office) events(n int) (ids []string) {
	o.Helper()
	return o.eventsOf("contact.created", "", n)
}

// eventsOf makes contacts of an audience and events of a type about them.
func (o *office) eventsOf(kind, audience string, n int) (ids []string) {
	o.Helper()
	must(o, o.db.Write(ctx, func(tx db.Tx) error {
		ids = nil
		for range n {
			tick, err := db.Tick(ctx, tx, o.organization, clock.Now(o.clock))
			if err != nil {
				return err
			}
			contact, name := id.New(id.Contact), id.New(id.Event)
			o.contact(tx, contact, audience, tick)
			tx.Queue(`insert into events (organization, tick, id, type, object, record_id) values ($1, $2, $3, $4, 'contact', $5)`,
				o.organization, tick, name, kind, contact)
			ids = append(ids, name)
		}
		tx.Tell(event.Topic, fmt.Sprint(o.organization))
		return nil
	}))
	return ids
}

// send is what receivers do.
func (o *office) send(_ context.Context, m Message) Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got = append(o.got, m)
	o.times = append(o.times, clock.Now(o.clock))
	if o.answer == nil {
		return Outcome{Status: 200}
	}
	return o.answer(m)
}

// received returns the ids of the events that receivers got since the last call, in order.
func (o *office) received() (ids []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.got {
		ids = append(ids, m.EventID)
	}
	o.got, o.times = nil, nil
	return ids
}

// courier runs a courier until the test ends or stop is called.
func (o *office) courier() (c *Courier, stop func()) {
	o.Helper()
	return o.courierOn(o.db)
}

func (o *office) courierOn(d db.DB) (c *Courier, stop func()) {
	o.Helper()
	return o.courierWith(d, o.send)
}

// sender returns what makes attempts for courierWith: the first of them as given,
// those that follow as the office's receivers do.
func (o *office) sender(first func(context.Context, Message) Outcome) func(context.Context, Message) Outcome {
	var once sync.Once
	return func(ctx context.Context, m Message) (out Outcome) {
		done := false
		once.Do(func() { out, done = first(ctx, m), true })
		if !done {
			out = o.send(ctx, m)
		}
		return out
	}
}

func (o *office) courierWith(d db.DB, send func(context.Context, Message) Outcome) (c *Courier, stop func()) {
	o.Helper()
	c = NewCourier(Options{DB: d, Clock: cmp.Or[clock.Clock](o.couriers, o.clock), Vault: o.vault, Families: families, Send: send, Notices: notify.New(notify.Options{DB: d, Clock: o.clock, Forms: Forms}),
		Logger: slog.New(slog.NewTextHandler(o.Output(), nil)), Rand: func(n int64) int64 { return n / 2 }})
	running, cancel := context.WithCancel(ctx)
	o.cancels.Store(c, cancel)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(running)
	}()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	o.Cleanup(stop)
	return c, stop
}

// told are the notices that were posted, in order: to whom, and of what.
func (o *office) told() (list []string) {
	o.Helper()
	must(o, o.db.Read(ctx, func(tx db.Tx) error {
		rows, err := tx.Query(ctx, `select principal, kind, data from notices where organization = $1 order by id`, o.organization)
		if err != nil {
			return err
		}
		defer rows.Close()
		names := map[string]string{o.owner: "owner", o.admin: "admin"}
		for rows.Next() {
			var principal, kind, data string
			if err := rows.Scan(&principal, &kind, &data); err != nil {
				return err
			}
			var facts AlertFacts
			must(o, json.Unmarshal([]byte(data), &facts))
			list = append(list, strings.TrimSpace(fmt.Sprint(names[principal], " ", strings.TrimPrefix(kind, "webhook_"), " ", facts.Reason)))
		}
		return rows.Err()
	}))
	return list
}

var families = []app.Family{{Object: "contact", Prefix: "con_", Plural: "contacts"}, {Object: "task", Prefix: "tsk_", Plural: "tasks"}}

// idle waits until a courier has nothing to do.
func (o *office) idle(c *Courier) {
	o.Helper()
	bounded, cancel := context.WithTimeout(ctx, 2*time.Minute) // on the slowest machine
	defer cancel()
	if err := c.Idle(bounded); err != nil {
		o.Fatalf("the courier does not come to rest: %v", err)
	}
}

// attempts returns the delivery log of an endpoint, one line an attempt.
func (o *office) attempts(endpoint string) (lines []string) {
	o.Helper()
	must(o, o.db.Read(ctx, func(tx db.Tx) error {
		rows, err := tx.Query(ctx, `select event_id, attempt, status, response_status, error_code, next_attempt_at from webhook_attempts
			where organization = $1 and endpoint = $2 order by id`, o.organization, endpoint)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var event, status, code string
			var attempt, response int
			var next clock.Micros
			if err := rows.Scan(&event, &attempt, &status, &response, &code, &next); err != nil {
				return err
			}
			lines = append(lines, fmt.Sprint(event, " ", attempt, " ", status, " ", response, " ", code))
		}
		return rows.Err()
	}))
	return lines
}

// count counts the rows of the office that a condition names.
func (o *office) count(table, where string) (n int) {
	o.Helper()
	must(o, o.db.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from `+table+` where organization = $1 and `+where, o.organization).Scan(&n)
	}))
	return n
}

func (o *office) exec(query string, args ...any) {
	o.Helper()
	must(o, o.db.Write(ctx, func(tx db.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	}))
}

func TestDelivers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		first, second := o.endpoint(), o.endpoint("contact.updated")
		c, _ := o.courier()
		o.idle(c)
		ids := o.events(3)
		o.idle(c)
		if got := o.received(); !slices.Equal(slices.Sorted(slices.Values(got)), ids) {
			t.Errorf("received %v, not %v", got, ids)
		}
		if n := o.count("webhook_attempts", "endpoint = '"+first+"' and status = 'succeeded' and attempt = 1"); n != 3 {
			t.Errorf("%d attempts in the log: %v", n, o.attempts(first))
		}
		if n := o.count("webhook_attempts", "endpoint = '"+second+"'"); n != 0 {
			t.Errorf("%d attempts at an endpoint of other events", n)
		}
		if n := o.count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("%d deliveries are left", n)
		}
		// What a look at the same moment left standing ends with the lease.
		o.clock.Advance(lease.Sub(0))
		o.idle(c)
		if n := o.count("webhook_endpoints", "due_at = 0"); n != 2 {
			t.Errorf("only %d endpoints have nothing to do", n)
		}
	})
}

// contact stores a contact that its audience sees: everyone, or one owner.
func (o *office) contact(tx db.Tx, name, audience string, tick clock.Micros) {
	tx.Queue(`insert into contacts (organization, id, revision, created_at, updated_at, deleted, owner_id, audience, shape, content)
		values ($1, $2, 1, $3, $3, false, $4, $5, 0, '{}')`, o.organization, name, tick, o.admin, audience)
}

// The whole schedule of three days, as the contract has it; what varies is half
// way here, so each gap is exact.
func TestSchedule(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		o.answer = func(Message) Outcome { return Outcome{Status: 500, Code: HTTPStatus} }
		c, _ := o.courier()
		o.idle(c)
		event := o.event()
		began := clock.Now(o.clock)
		var want []string
		for i, gap := range append([]time.Duration{0}, gaps[:]...) {
			if gap > 0 {
				o.clock.Advance(gap - time.Microsecond)
				o.idle(c)
				if got := o.received(); len(got) > 0 {
					t.Fatalf("attempt %d came early", i+1)
				}
				o.clock.Advance(time.Microsecond)
			}
			o.idle(c)
			if got := o.received(); !slices.Equal(got, []string{event}) {
				t.Fatalf("attempt %d, %v after the first: received %v", i+1, clock.Now(o.clock).Sub(began), got)
			}
			want = append(want, fmt.Sprint(event, " ", i+1, " failed 500 HTTP_STATUS"))
		}
		if got := o.attempts(name); !slices.Equal(got, want) {
			t.Errorf("the log is\n%s", strings.Join(got, "\n"))
		}
		if n := o.count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("after the last attempt %d deliveries are left", n)
		}
		if n := o.count("webhook_attempts", "attempt = 10 and next_attempt_at = 0"); n != 1 {
			t.Errorf("the last attempt announces another")
		}
	})
}

// state is what the office's endpoint says of itself.
func (o *office) state(name string) string {
	o.Helper()
	var r row
	must(o, o.db.Read(ctx, func(tx db.Tx) (err error) {
		r, err = find(ctx, tx, o.organization, name)
		return err
	}))
	reason := Reason("")
	if r.DisabledReason != nil {
		reason = *r.DisabledReason
	}
	return strings.TrimSpace(fmt.Sprint(r.Status, " ", reason))
}

func TestStates(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		c, _ := o.courier()
		status := 500
		o.answer = func(Message) Outcome {
			if status == 200 {
				return Outcome{Status: 200}
			}
			return Outcome{Status: status, Code: HTTPStatus}
		}
		after := func(d time.Duration, want string, told ...string) {
			t.Helper()
			for range 10 { // what is due on the way is done on the way
				o.clock.Advance(d / 10)
				o.idle(c)
			}
			if got := o.state(name); got != want {
				t.Fatalf("%s, not %s", got, want)
			}
			if got := o.told(); !slices.Equal(got, told) {
				t.Fatalf("told %v, not %v", got, told)
			}
		}
		o.idle(c)
		o.event()
		after(0, "active")
		after(24*time.Hour-time.Second, "active")
		after(time.Second, "failing", "owner failing")
		status = 200
		after(48*time.Hour, "active", "owner failing")
		after(100*time.Hour, "active", "owner failing")
		status = 500
		o.event()
		o.idle(c)
		after(24*time.Hour, "failing", "owner failing", "owner failing")
		after(48*time.Hour-time.Second, "failing", "owner failing", "owner failing")
		o.event()
		after(0, "failing", "owner failing", "owner failing")
		after(time.Second, "disabled no_success", "owner failing", "owner failing", "owner disabled no_success")
		if n := o.count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("%d deliveries of a disabled endpoint are left", n)
		}
		o.received()
		o.event()
		after(100*time.Hour, "disabled no_success", "owner failing", "owner failing", "owner disabled no_success")
		if got := o.received(); got != nil {
			t.Errorf("a disabled endpoint got %v", got)
		}
	})
}

func TestGone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		c, _ := o.courier()
		o.idle(c)
		o.answer = func(Message) Outcome { return Outcome{Status: 410, Code: HTTPStatus} }
		o.events(5)
		o.idle(c)
		if got := o.state(name); got != "disabled gone" {
			t.Errorf("%s", got)
		}
		if told := o.told(); !slices.Equal(told, []string{"owner disabled gone"}) {
			t.Errorf("told %v", told)
		}
		if sent, logged := o.received(), o.attempts(name); len(sent) != 1 || len(logged) != 1 {
			t.Errorf("sent %d, logged %v", len(sent), logged)
		}
		if n := o.count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("%d deliveries of a disabled endpoint are left", n)
		}
	})
}

func TestFigures(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		o.endpoint()
		measure := func(want Figures) {
			t.Helper()
			got, err := Measure(ctx, d)
			must(t, err)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%+v, not %+v", got, want)
			}
		}
		one := map[Status]int64{Active: 1, Failing: 0, Disabled: 0}
		measure(Figures{Endpoints: one})
		o.event()
		at := clock.Now(o.clock)
		measure(Figures{Behind: 1, First: at, Endpoints: one})
		for _, closed := range []struct{ as, was access.OrganizationChange }{
			{access.OrganizationChange{Module: as("off")}, access.OrganizationChange{Module: as("on")}},
			{access.OrganizationChange{Secrecy: as("undeclared")}, access.OrganizationChange{Secrecy: as("declared")}},
			{access.OrganizationChange{Level: as(access.Off)}, access.OrganizationChange{Level: as(access.Read)}},
			{access.OrganizationChange{State: as(access.Closed)}, access.OrganizationChange{State: as(access.Open)}},
		} {
			o.set(closed.as)
			measure(Figures{Endpoints: one})
			o.set(closed.was)
			measure(Figures{Behind: 1, First: at, Endpoints: one})
		}
		o.answer = func(Message) Outcome { return Outcome{Code: ConnectError} }
		o.clock.Advance(time.Minute)
		c, _ := o.courier()
		o.idle(c)
		measure(Figures{Waiting: 1, Oldest: at + clock.Minute, Endpoints: one})
	})
}
