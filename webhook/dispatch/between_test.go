package dispatch

import (
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/settings"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
	"kartei/webhook"
)

// Changes between an event and its delivery, before the first attempt or
// between two, count as in the contract. The principal receives nothing that it
// may not read at the time of delivery. Subscriptions rest while the gate is
// closed.
func TestBetweenEventAndDelivery(t *testing.T) {
	type outcome int
	const (
		goesOn outcome = iota
		ends
		rests // until undo
	)
	for _, c := range []struct {
		name   string
		change func(o *office, endpoint, event string)
		undo   func(o *office)
		want   outcome
	}{
		{"nothing", func(*office, string, string) {}, nil, goesOn},
		{"rights taken", func(o *office, _, _ string) {
			o.SetOwner(settings.PrincipalChange{Rights: access.Rights{"contacts": access.NoRight}})
		}, nil, ends},
		{"other rights taken", func(o *office, _, _ string) {
			o.SetOwner(settings.PrincipalChange{Rights: access.Rights{"tasks": access.NoRight}})
		}, nil, goesOn},
		{"writing taken", func(o *office, _, _ string) {
			o.SetOwner(settings.PrincipalChange{Role: endpointtest.As(access.Viewer)})
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
		{"record gone", func(o *office, _, _ string) { o.Exec(`delete from contacts where organization = $1`, o.Organization) }, nil, ends},
		{"principal disabled", func(o *office, _, _ string) {
			o.SetOwner(settings.PrincipalChange{Disabled: endpointtest.As(true)})
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
		{"module off", func(o *office, _, _ string) { o.Set(settings.OrganizationChange{Module: endpointtest.As("off")}) },
			func(o *office) { o.Set(settings.OrganizationChange{Module: endpointtest.As("on")}) }, rests},
		{"secrecy not declared", func(o *office, _, _ string) {
			o.Set(settings.OrganizationChange{Secrecy: endpointtest.As("undeclared")})
		},
			func(o *office) { o.Set(settings.OrganizationChange{Secrecy: endpointtest.As("declared")}) }, rests},
		{"level off", func(o *office, _, _ string) { o.Set(settings.OrganizationChange{Level: endpointtest.As(access.Off)}) },
			func(o *office) { o.Set(settings.OrganizationChange{Level: endpointtest.As(access.Read)}) }, rests},
		{"level read", func(o *office, _, _ string) { o.Set(settings.OrganizationChange{Level: endpointtest.As(access.Read)}) }, nil, goesOn},
		{"organization closed", func(o *office, _, _ string) {
			o.Set(settings.OrganizationChange{State: endpointtest.As(access.Closed)})
		},
			func(o *office) { o.Set(settings.OrganizationChange{State: endpointtest.As(access.Open)}) }, rests},
		{"keys revoked", func(o *office, _, _ string) { o.Exec(`update api_keys set revoked_at = 1`) }, nil, goesOn},
	} {
		for phase, attempts := range map[string]int{"before the first attempt": 0, "between two": 1} {
			t.Run(c.name+" "+phase, func(t *testing.T) {
				dbtest.Each(t, func(t *testing.T, d db.DB) {
					o := open(t, d)
					endpoint := o.Endpoint()
					_, err := o.Operator.CreateKey(ctx, settings.NewKey{Organization: o.Info.ID, Principal: o.Owner, Environment: "live", Name: "CRM", Scopes: []string{"contacts:read"}})
					must(t, err)
					var disp *Dispatcher
					if attempts > 0 {
						disp, _ = o.dispatcher()
						o.idle(disp)
						o.answer = func(Message) Outcome { return Outcome{Status: 500, Code: webhook.HTTPStatus} }
					}
					event := o.Event()
					if attempts > 0 {
						o.idle(disp)
						if got := o.received(); len(got) != 1 {
							t.Fatalf("first attempt: %v", got)
						}
						o.answer = nil
						o.Clock.Advance(29 * time.Second)
					}
					c.change(o, endpoint, event)
					if attempts == 0 {
						disp, _ = o.dispatcher()
					} else {
						o.Clock.Advance(time.Second)
					}
					o.idle(disp)
					if c.want == rests {
						if got := o.received(); got != nil {
							t.Fatalf("received %v although the gate is closed", got)
						}
						o.Clock.Advance(time.Hour)
						c.undo(o)
						o.Clock.Advance(10 * time.Second) // a recent check may still be valid
						o.idle(disp)
					}
					o.mu.Lock()
					url := ""
					if len(o.got) > 0 {
						url = o.got[0].URL
					}
					o.mu.Unlock()
					got, want := o.received(), 1
					if c.want == ends {
						want = 0
					}
					if len(got) != want {
						t.Errorf("received %v", got)
					}
					if c.name == "another URL" && url != "https://other.example.com" {
						t.Errorf("sent to %s", url)
					}
					if n := o.Count("webhook_deliveries", "true"); n != 0 {
						t.Errorf("%d deliveries are left", n)
					}
					if n := o.Count("webhook_attempts", "true"); n != attempts+want {
						t.Errorf("%d attempts in the log, not %d", n, attempts+want)
					}
				})
			})
		}
	}
}

// A replaced secret also signs for 24 hours.
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
