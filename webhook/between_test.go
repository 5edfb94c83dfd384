package webhook

import (
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
)

func (o *office) set(c access.OrganizationChange) {
	o.Helper()
	c.ID = o.info.ID
	_, err := o.directory.SetOrganization(ctx, c)
	must(o, err)
}

func (o *office) setOwner(c access.PrincipalChange) {
	o.Helper()
	c.ID = o.owner
	_, err := o.directory.SetUser(ctx, c)
	must(o, err)
}

func as[T any](v T) *T { return &v }

// What changes between an event and its delivery, before the first attempt or
// between two, decides as the contract says: what a principal may not read at
// the time of delivery it does not get, and while the gate is closed
// subscriptions rest.
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
			o.setOwner(access.PrincipalChange{Rights: access.Rights{"contacts": access.NoRight}})
		}, nil, ends},
		{"other rights taken", func(o *office, _, _ string) {
			o.setOwner(access.PrincipalChange{Rights: access.Rights{"tasks": access.NoRight}})
		}, nil, goesOn},
		{"writing taken", func(o *office, _, _ string) { o.setOwner(access.PrincipalChange{Role: as(access.Viewer)}) }, nil, goesOn},
		{"record made private", func(o *office, _, _ string) {
			o.exec(`update contacts set audience = $2 where organization = $1`, o.organization, o.admin)
		}, nil, ends},
		{"record made the owner's", func(o *office, _, _ string) {
			o.exec(`update contacts set audience = $2 where organization = $1`, o.organization, o.owner)
		}, nil, goesOn},
		{"record deleted", func(o *office, _, _ string) {
			o.exec(`update contacts set deleted = true, content = '' where organization = $1`, o.organization)
		}, nil, goesOn},
		{"record gone", func(o *office, _, _ string) { o.exec(`delete from contacts where organization = $1`, o.organization) }, nil, ends},
		{"principal disabled", func(o *office, _, _ string) { o.setOwner(access.PrincipalChange{Disabled: as(true)}) }, nil, ends},
		{"principal deleted", func(o *office, _, _ string) {
			o.exec(`delete from api_keys where principal_id = $1`, o.owner)
			o.exec(`delete from principals where id = $1`, o.owner)
		}, nil, ends},
		{"type not asked for any more", func(o *office, endpoint, _ string) {
			o.exec(`update webhook_endpoints set event_types = '["contact.updated"]', revision = revision + 1 where organization = $1 and id = $2`, o.organization, endpoint)
		}, nil, ends},
		{"another URL", func(o *office, endpoint, _ string) {
			o.exec(`update webhook_endpoints set url = 'https://other.example.com', revision = revision + 1 where organization = $1 and id = $2`, o.organization, endpoint)
		}, nil, goesOn},
		{"endpoint deleted", func(o *office, endpoint, _ string) {
			o.exec(`delete from webhook_endpoints where organization = $1 and id = $2`, o.organization, endpoint)
			o.exec(`delete from webhook_deliveries where organization = $1 and endpoint = $2`, o.organization, endpoint)
		}, nil, ends},
		{"module off", func(o *office, _, _ string) { o.set(access.OrganizationChange{Module: as("off")}) },
			func(o *office) { o.set(access.OrganizationChange{Module: as("on")}) }, rests},
		{"secrecy not declared", func(o *office, _, _ string) { o.set(access.OrganizationChange{Secrecy: as("undeclared")}) },
			func(o *office) { o.set(access.OrganizationChange{Secrecy: as("declared")}) }, rests},
		{"level off", func(o *office, _, _ string) { o.set(access.OrganizationChange{Level: as(access.Off)}) },
			func(o *office) { o.set(access.OrganizationChange{Level: as(access.Read)}) }, rests},
		{"level read", func(o *office, _, _ string) { o.set(access.OrganizationChange{Level: as(access.Read)}) }, nil, goesOn},
		{"organization closed", func(o *office, _, _ string) { o.set(access.OrganizationChange{State: as(access.Closed)}) },
			func(o *office) { o.set(access.OrganizationChange{State: as(access.Open)}) }, rests},
		{"keys revoked", func(o *office, _, _ string) { o.exec(`update api_keys set revoked_at = 1`) }, nil, goesOn},
	} {
		for phase, attempts := range map[string]int{"before the first attempt": 0, "between two": 1} {
			t.Run(c.name+" "+phase, func(t *testing.T) {
				dbtest.Each(t, func(t *testing.T, d db.DB) {
					o := open(t, d)
					endpoint := o.endpoint()
					_, err := o.directory.CreateKey(ctx, access.NewKey{Organization: o.info.ID, Principal: o.owner, Environment: "live", Name: "CRM", Scopes: []string{"contacts:read"}})
					must(t, err)
					var courier *Courier
					if attempts > 0 {
						courier, _ = o.courier()
						o.idle(courier)
						o.answer = func(Message) Outcome { return Outcome{Status: 500, Code: HTTPStatus} }
					}
					event := o.event()
					if attempts > 0 {
						o.idle(courier)
						if got := o.received(); len(got) != 1 {
							t.Fatalf("first attempt: %v", got)
						}
						o.answer = nil
						o.clock.Advance(29 * time.Second)
					}
					c.change(o, endpoint, event)
					if attempts == 0 {
						courier, _ = o.courier()
					} else {
						o.clock.Advance(time.Second)
					}
					o.idle(courier)
					if c.want == rests {
						if got := o.received(); got != nil {
							t.Fatalf("received %v although the gate is closed", got)
						}
						o.clock.Advance(time.Hour)
						c.undo(o)
						o.clock.Advance(10 * time.Second) // it may have been looked at just before
						o.idle(courier)
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
					if n := o.count("webhook_deliveries", "true"); n != 0 {
						t.Errorf("%d deliveries are left", n)
					}
					if n := o.count("webhook_attempts", "true"); n != attempts+want {
						t.Errorf("%d attempts in the log, not %d", n, attempts+want)
					}
				})
			})
		}
	}
}

// A secret that was replaced signs for 24 hours beside the new one.
func TestOverlap(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		until := clock.Now(o.clock) + Overlap
		o.exec(`update webhook_endpoints set previous_secret = $3, previous_until = $4, revision = 2 where organization = $1 and id = $2`,
			o.organization, name, o.vault.Seal(make([]byte, 24), sealingPlace(o.organization, name)), until)
		c, _ := o.courier()
		for after, want := range []int{2, 2, 1} {
			o.idle(c)
			o.event()
			o.idle(c)
			o.mu.Lock()
			got := o.got
			o.mu.Unlock()
			if len(got) != 1 || len(got[0].Secrets) != want || len(got[0].Secrets[0]) != 32 {
				t.Errorf("case %d: got %+v", after, got)
			}
			o.received()
			o.clock.Advance([]time.Duration{24*time.Hour - time.Microsecond, time.Microsecond, 0}[after])
		}
	})
}
