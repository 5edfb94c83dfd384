package webhook

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"kartei/access"
	"kartei/clock"
	"kartei/db"
	"kartei/dbtest"
)

// meanwhile is a data base where another does something once, before a
// statement of a read or, where the engine lets two write at a time, of a write.
type meanwhile struct {
	db.DB
	reading, writing bool
	// before is how many statements go first.
	before int
	do     func()
	once   sync.Once
}

type meanwhileTx struct {
	db.Tx
	m    *meanwhile
	left int
}

func (m *meanwhile) Read(ctx context.Context, run func(db.Tx) error) error {
	if !m.reading {
		return m.DB.Read(ctx, run)
	}
	return m.DB.Read(ctx, func(tx db.Tx) error { return run(&meanwhileTx{tx, m, m.before}) })
}

func (m *meanwhile) Write(ctx context.Context, run func(db.Tx) error) error {
	if !m.writing {
		return m.DB.Write(ctx, run)
	}
	if m.before == 0 {
		m.once.Do(m.do)
	}
	return m.DB.Write(ctx, func(tx db.Tx) error { return run(&meanwhileTx{tx, m, m.before}) })
}

func (t *meanwhileTx) count() {
	if t.left == 0 {
		t.m.once.Do(t.m.do)
	}
	t.left--
}

func (t *meanwhileTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	t.count()
	return t.Tx.Exec(ctx, query, args...)
}

func (t *meanwhileTx) Query(ctx context.Context, query string, args ...any) (db.Rows, error) {
	t.count()
	return t.Tx.Query(ctx, query, args...)
}

func (t *meanwhileTx) QueryRow(ctx context.Context, query string, args ...any) db.Row {
	t.count()
	return t.Tx.QueryRow(ctx, query, args...)
}

// What is sent again to an endpoint that is enabled while a courier ends what
// waited for it is not ended with that, neither what waits nor what the courier has.
func TestEnabledWhileItIsClosed(t *testing.T) {
	for _, has := range []bool{false, true} {
		t.Run(fmt.Sprint("has it ", has), func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d db.DB) {
				o := open(t, d)
				c, at := o.still()
				desk := &Desk{DB: d, Clock: o.clock, Families: families}
				sent := o.event()
				first := &visit{Courier: c, lane: c.lane(at), room: 1}
				must(t, first.run(ctx))
				if !has {
					o.exec(`update webhook_deliveries set claim = claim + 1 where organization = $1`, o.organization)
					first.taken = nil
				}
				o.exec(`update webhook_endpoints set status = 'disabled', disabled_reason = 'gone', due_at = 1 where organization = $1`, o.organization)
				c.db = &meanwhile{DB: d, writing: true, do: func() {
					o.exec(`update webhook_endpoints set status = 'active', disabled_reason = '', revision = revision + 1 where organization = $1`, o.organization)
					_, err := desk.Resend(ctx, ResendInput{Organization: o.info.ID, ID: at.id, Event: sent})
					must(t, err)
				}}
				v := &visit{Courier: c, lane: c.lane(at), room: 1, held: first.taken}
				if err := v.run(ctx); err != errLost {
					t.Errorf("the look: %v", err)
				}
				if n := o.count("webhook_deliveries", "event_id = '"+sent+"'"); n != 1 {
					t.Errorf("%d deliveries of what was sent again", n)
				}
			})
		})
	}
}

// Who enables an endpoint that another has enabled meanwhile changes nothing:
// what that one had sent again, and what came since, comes.
func TestEnabledByTwo(t *testing.T) {
	for before := range 3 { // the third holds the endpoint
		for _, purging := range []bool{true, false} {
			t.Run(fmt.Sprintf("before statement %d, purging %v", before, purging), func(t *testing.T) {
				d := dbtest.Postgres(t)
				o := open(t, d)
				name := o.endpoint()
				missed := o.event()
				o.exec(`update webhook_endpoints set status = 'disabled', disabled_reason = 'gone', cursor = (select tick from clocks where organization = $1) where organization = $1`, o.organization)
				first := &Desk{DB: d, Clock: o.clock, Families: families}
				var later string
				m := &meanwhile{DB: d, writing: true, before: before, do: func() {
					_, err := first.Enable(ctx, One{o.info.ID, name})
					must(t, err)
					_, err = first.Resend(ctx, ResendInput{Organization: o.info.ID, ID: name, Event: missed})
					must(t, err)
					later = o.event()
				}}
				second := &Desk{DB: m, Clock: o.clock, Families: families}
				if purging {
					must(t, second.purge(ctx, One{o.info.ID, name}))
				} else {
					must(t, second.enable(ctx, One{o.info.ID, name}))
				}
				m.once.Do(func() { t.Fatal("there are fewer statements") })
				c, _ := o.courier()
				o.idle(c)
				want := []string{missed, later}
				slices.Sort(want)
				if got := slices.Sorted(slices.Values(o.received())); !slices.Equal(got, want) {
					t.Errorf("received %v, not %v", got, want)
				}
			})
		}
	}
}

// What is committed while a look reads comes: an event of a type that the owner
// asks for since then, and one that the principal may see since then.
func TestChangedDuringLook(t *testing.T) {
	for before := range 3 {
		for name, rights := range map[string]bool{"a type": false, "rights": true} {
			t.Run(fmt.Sprintf("%s before statement %d", name, before), func(t *testing.T) {
				dbtest.Each(t, func(t *testing.T, d db.DB) {
					o := open(t, d)
					types := []string{"contact.updated"}
					if rights {
						types = []string{"contact.created"}
						o.setOwner(access.PrincipalChange{Rights: access.Rights{"contacts": access.NoRight}})
					}
					at := address{o.organization, o.endpoint(types...)}
					var sent string
					m := &meanwhile{DB: d, reading: true, before: before, do: func() {
						if rights {
							o.setOwner(access.PrincipalChange{Rights: access.Rights{"contacts": access.WriteRight}})
						} else {
							o.exec(`update webhook_endpoints set event_types = '["contact.created"]', revision = revision + 1 where organization = $1`, o.organization)
						}
						sent = o.event()
					}}
					c := NewCourier(Options{DB: m, Clock: o.clock, Vault: o.vault, Families: families})
					first := &visit{Courier: c, lane: c.lane(at), room: 4}
					must(t, first.run(ctx))
					m.once.Do(func() { t.Fatal("there are fewer statements") })
					second := &visit{Courier: c, lane: c.lane(at), room: 4, known: first.seen}
					must(t, second.run(ctx))
					got := append(first.taken, second.taken...)
					if len(got) != 1 || got[0].event.ID != sent {
						t.Errorf("%d deliveries were made, seen up to %d of %d", len(got), first.seen, clock.Now(o.clock))
					}
				})
			})
		}
	}
}

// What was ready when its endpoint was changed goes by what the endpoint is now.
func TestChangedWhileReady(t *testing.T) {
	for name, test := range map[string]struct {
		change string
		url    string // of what is sent; empty is nothing
		secret byte
	}{
		"URL":     {`update webhook_endpoints set url = 'https://other.example.com', revision = revision + 1 where organization = $1`, "https://other.example.com", 0},
		"secret":  {`update webhook_endpoints set secret = $2, revision = revision + 1 where organization = $1`, "https://crm.example.com", 7},
		"types":   {`update webhook_endpoints set event_types = '["contact.updated"]', revision = revision + 1 where organization = $1`, "", 0},
		"deleted": {`delete from webhook_endpoints where organization = $1`, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d db.DB) {
				o := open(t, d)
				endpoint := o.endpoint()
				o.exec(`update webhook_endpoints set url = 'https://crm.example.com' where organization = $1`, o.organization)
				secret := o.vault.Seal([]byte{test.secret}, sealingPlace(o.organization, endpoint))
				entered, leave := make(chan struct{}), make(chan struct{})
				c, _ := o.courierWith(d, o.sender(func(context.Context, Message) Outcome {
					close(entered)
					<-leave
					return Outcome{Status: 200}
				}))
				o.events(2) // one is under way, the other waits for it
				<-entered
				must(t, d.Write(ctx, func(tx db.Tx) error {
					args := []any{o.organization}
					if test.secret != 0 {
						args = append(args, secret)
					}
					tx.Queue(test.change, args...)
					tx.Tell(Topic, fmt.Sprint(o.organization))
					return nil
				}))
				close(leave)
				o.idle(c)
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
