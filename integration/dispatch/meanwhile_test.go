package dispatch

import (
	"context"
	"fmt"
	"testing"

	"kartei/access"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
)

// TestEnabledDuringPurge checks an endpoint that is enabled while a dispatcher purges its
// deliveries. Deliveries of a resend survive, both pending and claimed ones.
func TestEnabledDuringPurge(t *testing.T) {
	for _, has := range []bool{false, true} {
		t.Run(fmt.Sprint("has it ", has), func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d db.DB) {
				o := open(t, d)
				disp, at := o.still()
				desk := o.StillDesk()
				sent := o.Event()
				first := &poll{Dispatcher: disp, queue: disp.queueOf(at), room: 1}
				must(t, first.run(ctx))
				if !has {
					o.Exec(`update webhook_deliveries set claim = claim + 1 where organization = $1`, o.Organization)
					first.taken = nil
				}
				o.Exec(`update webhook_endpoints set status = 'disabled', disabled_reason = 'gone', due_at = 1 where organization = $1`, o.Organization)
				disp.db = &endpointtest.Meanwhile{DB: d, Writing: true, Do: func() {
					o.Exec(`update webhook_endpoints set status = 'active', disabled_reason = '', revision = revision + 1 where organization = $1`, o.Organization)
					_, err := desk.Resend(ctx, webhook.ResendInput{Organization: o.Info.ID, ID: at.ID, Event: sent})
					must(t, err)
				}}
				p := &poll{Dispatcher: disp, queue: disp.queueOf(at), room: 1, held: first.taken}
				if err := p.run(ctx); err != errOvertaken {
					t.Errorf("the look: %v", err)
				}
				if n := o.Count("webhook_deliveries", "event_id = '"+sent+"'"); n != 1 {
					t.Errorf("%d deliveries of what was sent again", n)
				}
			})
		})
	}
}

// TestChangedDuringPoll checks that changes during a poll take effect on its events. In one case
// the owner subscribes to another event type. In the other case the principal gains the right to
// read the record.
func TestChangedDuringPoll(t *testing.T) {
	for before := range 3 {
		for name, rights := range map[string]bool{"a type": false, "rights": true} {
			t.Run(fmt.Sprintf("%s before statement %d", name, before), func(t *testing.T) {
				dbtest.Each(t, func(t *testing.T, d db.DB) {
					o := open(t, d)
					types := []string{"contact.updated"}
					if rights {
						types = []string{"contact.created"}
						o.SetOwner(principal.Change{Rights: access.Rights{"contacts": access.NoRight}})
					}
					at := o.At(o.Endpoint(types...))
					var sent string
					m := &endpointtest.Meanwhile{DB: d, Reading: true, Before: before, Do: func() {
						if rights {
							o.SetOwner(principal.Change{Rights: access.Rights{"contacts": access.WriteRight}})
						} else {
							o.Exec(`update webhook_endpoints set event_types = '["contact.created"]', revision = revision + 1 where organization = $1`, o.Organization)
						}
						sent = o.Event()
					}}
					disp := New(o.options(m))
					first := &poll{Dispatcher: disp, queue: disp.queueOf(at), room: 4}
					must(t, first.run(ctx))
					m.Once(func() { t.Fatal("there are fewer statements") })
					second := &poll{Dispatcher: disp, queue: disp.queueOf(at), room: 4, scannedTo: first.scanned}
					must(t, second.run(ctx))
					got := append(first.taken, second.taken...)
					if len(got) != 1 || got[0].event.ID != sent {
						t.Errorf("%d deliveries were made, seen up to %d of %d", len(got), first.scanned, clock.Now(o.Clock))
					}
				})
			})
		}
	}
}

// TestChangedWhileReady checks that a change of an endpoint applies to deliveries that are already
// claimed.
func TestChangedWhileReady(t *testing.T) {
	for name, test := range map[string]struct {
		change string
		url    string // the URL of the attempt; empty means that no attempt follows
		secret byte
	}{
		"URL": {
			`update webhook_endpoints set url = 'https://other.example.com', revision = revision + 1 where organization = $1`,
			"https://other.example.com", 0,
		},
		"secret": {
			`update webhook_endpoints set secret = $2, revision = revision + 1 where organization = $1`,
			"https://crm.example.com", 7,
		},
		"types": {
			`update webhook_endpoints set event_types = '["contact.updated"]', revision = revision + 1 where organization = $1`,
			"", 0,
		},
		"deleted": {`delete from webhook_endpoints where organization = $1`, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d db.DB) {
				o := open(t, d)
				endpoint := o.Endpoint()
				o.Exec(`update webhook_endpoints set url = 'https://crm.example.com' where organization = $1`, o.Organization)
				secret := o.Vault.Seal([]byte{test.secret}, o.Place(endpoint))
				entered, leave := make(chan struct{}), make(chan struct{})
				disp, _ := o.dispatcherWith(d, o.sender(func(context.Context, Message) Outcome {
					close(entered)
					<-leave
					return Outcome{Status: 200}
				}))
				o.Events(2) // one delivery runs, and the other waits
				<-entered
				must(t, d.Write(ctx, func(tx db.Tx) error {
					args := []any{o.Organization}
					if test.secret != 0 {
						args = append(args, secret)
					}
					tx.Queue(test.change, args...)
					tx.NotifyLocal(webhook.Topic, fmt.Sprint(o.Organization))
					return nil
				}))
				close(leave)
				o.idle(disp)
				o.mu.Lock()
				defer o.mu.Unlock()
				switch {
				case test.url == "" && len(o.got) > 0:
					t.Errorf("%d were sent", len(o.got))
				case test.url != "" && (len(o.got) != 1 || o.got[0].URL != test.url || o.got[0].Secrets[0][0] != test.secret):
					t.Errorf("sent: %+v", o.got)
				}
			})
		})
	}
}
