package dispatch

import (
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/key"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
)

// fate says what becomes of a delivery after a change.
type fate int

const (
	goesOn fate = iota
	ends
	rests // the delivery waits until undo
)

// changesBetween are changes between an event and its delivery. undo reverses a change after which
// the delivery waits.
var changesBetween = []struct {
	name   string
	change func(o *office, endpoint, event string)
	undo   func(o *office)
	want   fate
}{
	{"nothing", func(*office, string, string) {}, nil, goesOn},
	{"rights taken", func(o *office, _, _ string) {
		o.SetOwner(principal.Change{Rights: access.Rights{"contacts": access.NoRight}})
	}, nil, ends},
	{"other rights taken", func(o *office, _, _ string) {
		o.SetOwner(principal.Change{Rights: access.Rights{"tasks": access.NoRight}})
	}, nil, goesOn},
	{"writing taken", func(o *office, _, _ string) {
		o.SetOwner(principal.Change{Role: endpointtest.As(access.Viewer)})
	}, nil, goesOn},
	{"record made private", func(o *office, _, _ string) {
		o.Exec(`update contacts set audience = $2 where organization = $1`, o.Organization, o.Admin)
	}, nil, ends},
	{"record made the owner's", func(o *office, _, _ string) {
		o.Exec(`update contacts set audience = $2 where organization = $1`, o.Organization, o.Owner)
	}, nil, goesOn},
	{"record deleted", func(o *office, _, _ string) {
		o.Exec(`update contacts set deleted = true, content = '' where organization = $1`, o.Organization)
	}, nil, goesOn},
	{
		"record gone",
		func(o *office, _, _ string) { o.Exec(`delete from contacts where organization = $1`, o.Organization) },
		nil, ends,
	},
	{"principal disabled", func(o *office, _, _ string) {
		o.SetOwner(principal.Change{Disabled: endpointtest.As(true)})
	}, nil, ends},
	{"principal deleted", func(o *office, _, _ string) {
		o.Exec(`delete from api_keys where principal_id = $1`, o.Owner)
		o.Exec(`delete from principals where id = $1`, o.Owner)
	}, nil, ends},
	{"type not asked for any more", func(o *office, endpoint, _ string) {
		o.Exec(`update webhook_endpoints set event_types = '["contact.updated"]', revision = revision + 1 where organization = $1 and id = $2`, o.Organization, endpoint)
	}, nil, ends},
	{"another URL", func(o *office, endpoint, _ string) {
		o.Exec(`update webhook_endpoints set url = 'https://other.example.com', revision = revision + 1 where organization = $1 and id = $2`, o.Organization, endpoint)
	}, nil, goesOn},
	{"endpoint deleted", func(o *office, endpoint, _ string) {
		o.Exec(`delete from webhook_endpoints where organization = $1 and id = $2`, o.Organization, endpoint)
		o.Exec(`delete from webhook_deliveries where organization = $1 and endpoint = $2`, o.Organization, endpoint)
	}, nil, ends},
	{"module off", func(o *office, _, _ string) { o.Set(organization.Change{Module: endpointtest.As("off")}) },
		func(o *office) { o.Set(organization.Change{Module: endpointtest.As("on")}) }, rests},
	{"secrecy not declared", func(o *office, _, _ string) {
		o.Set(organization.Change{Secrecy: endpointtest.As("undeclared")})
	},
		func(o *office) { o.Set(organization.Change{Secrecy: endpointtest.As("declared")}) }, rests},
	{"level off", func(o *office, _, _ string) { o.Set(organization.Change{Level: endpointtest.As(access.Off)}) },
		func(o *office) { o.Set(organization.Change{Level: endpointtest.As(access.Read)}) }, rests},
	{
		"level read",
		func(o *office, _, _ string) { o.Set(organization.Change{Level: endpointtest.As(access.Read)}) },
		nil, goesOn,
	},
	{"organization closed", func(o *office, _, _ string) {
		o.Set(organization.Change{State: endpointtest.As(access.Closed)})
	},
		func(o *office) { o.Set(organization.Change{State: endpointtest.As(access.Open)}) }, rests},
	{"keys revoked", func(o *office, _, _ string) { o.Exec(`update api_keys set revoked_at = 1`) }, nil, goesOn},
}

// TestBetweenEventAndDelivery checks each change before the first attempt, and between two
// attempts. A principal receives no event about a record that it may not read at the time of
// delivery. While the API of the organization is off, deliveries wait.
func TestBetweenEventAndDelivery(t *testing.T) {
	for _, c := range changesBetween {
		run := func(t *testing.T, attempts int) {
			dbtest.Each(t, func(t *testing.T, d db.DB) {
				o := open(t, d)
				o.changesBetween(attempts, c.change)
				if c.want == rests {
					o.restsUntil(c.undo)
				}
				want := 1
				if c.want == ends {
					want = 0
				}
				got := o.delivered(attempts, want)
				if c.name == "another URL" && got[0].URL != "https://other.example.com" {
					t.Errorf("sent to %s", got[0].URL)
				}
			})
		}
		t.Run(c.name+" before the first attempt", func(t *testing.T) { run(t, 0) })
		t.Run(c.name+" between two", func(t *testing.T) { run(t, 1) })
	}
}

// changesBetween makes a change after an event. If attempts is one, a first attempt fails before
// the change. changesBetween then lets the next attempt happen.
func (o *office) changesBetween(attempts int, change func(o *office, endpoint, event string)) {
	o.Helper()
	endpoint := o.Endpoint()
	_, err := o.Operator.CreateKey(ctx, key.New{
		Organization: o.Info.ID,
		Principal:    o.Owner,
		Environment:  "live",
		Name:         "CRM",
		Scopes:       []string{"contacts:read"},
	})
	must(o, err)
	if attempts == 0 {
		change(o, endpoint, o.Event())
		o.last, _ = o.dispatcher()
		o.idle(o.last)
		return
	}
	o.last, _ = o.dispatcher()
	o.idle(o.last)
	o.answer = func(Message) Outcome { return Outcome{Status: 500, Code: webhook.HTTPStatus} }
	event := o.Event()
	o.idle(o.last)
	if got := o.received(); len(got) != 1 {
		o.Fatalf("first attempt: %v", got)
	}
	o.answer = nil
	o.Clock.Advance(29 * time.Second)
	change(o, endpoint, event)
	o.Clock.Advance(time.Second)
	o.idle(o.last)
}

// restsUntil checks that no delivery is sent before undo is called.
func (o *office) restsUntil(undo func(o *office)) {
	o.Helper()
	if got := o.received(); got != nil {
		o.Fatalf("received %v although the gate is closed", got)
	}
	o.Clock.Advance(time.Hour)
	undo(o)
	o.Clock.Advance(10 * time.Second) // until then, an older check may still be valid
	o.idle(o.last)
}

// delivered checks that want messages have arrived, that the log has all attempts, and that no
// delivery is left. It returns the messages.
func (o *office) delivered(attempts, want int) []Message {
	o.Helper()
	o.mu.Lock()
	got := o.got
	o.mu.Unlock()
	if ids := o.received(); len(ids) != want {
		o.Fatalf("received %v, want %d", ids, want)
	}
	if n := o.Count("webhook_deliveries", "true"); n != 0 {
		o.Errorf("%d deliveries are left", n)
	}
	if n := o.Count("webhook_attempts", "true"); n != attempts+want {
		o.Errorf("%d attempts in the log, not %d", n, attempts+want)
	}
	return got
}

// TestOverlap checks that a replaced secret still signs deliveries for 24 hours.
func TestOverlap(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint()
		until := clock.Now(o.Clock) + webhook.Overlap
		o.Exec(`update webhook_endpoints set previous_secret = $3, previous_until = $4, revision = 2 where organization = $1 and id = $2`,
			o.Organization, name, o.Vault.Seal(make([]byte, 24), o.Place(name)), until)
		disp, _ := o.dispatcher()
		for after, want := range []int{2, 2, 1} {
			o.idle(disp)
			o.Event()
			o.idle(disp)
			o.mu.Lock()
			got := o.got
			o.mu.Unlock()
			if len(got) != 1 || len(got[0].Secrets) != want || len(got[0].Secrets[0]) != 32 {
				t.Errorf("case %d: got %+v", after, got)
			}
			o.received()
			o.Clock.Advance([]time.Duration{24*time.Hour - time.Microsecond, time.Microsecond, 0}[after])
		}
	})
}
