package webhook

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"kartei/access"
	"kartei/app"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/masterkey"
	"kartei/store/db"
	"kartei/test/dbtest"
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

func (m *meanwhile) WriteIn(ctx context.Context, organization int64, run func(db.Tx) error) error {
	m.once.Do(m.do)
	return m.DB.WriteIn(ctx, organization, run)
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

// call is one of the owner's, whose transaction it is.
func (o *office) call(tx db.Tx) *app.Call {
	o.Helper()
	actor, err := access.ActorFor(ctx, tx, o.organization, o.owner)
	must(o, err)
	return &app.Call{Actor: actor, Tx: tx, Now: clock.Now(o.clock), Services: &app.Services{Webhooks: app.Webhooks{Secrets: o.vault}}}
}

// A secret that was sealed anew since a rotation read it is not put back as it
// was sealed before: the rotation begins again.
func TestSealedAnewWhileRotated(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		must(t, d.Write(ctx, func(tx db.Tx) error {
			c := o.call(tx)
			m := &meanwhile{do: func() {
				_, err := tx.Exec(ctx, `update webhook_endpoints set secret = 'anew' where organization = $1`, o.organization)
				must(t, err)
			}}
			c.Tx = &meanwhileTx{tx, m, 1}
			if _, err := RotateSecret(ctx, c, app.ByID{ID: name}); err != db.ErrConflict {
				t.Errorf("rotated: %v", err)
			}
			return nil
		}))
		if n := o.count("webhook_endpoints", "secret = 'anew'"); n != 1 {
			t.Error("what was sealed anew is gone")
		}
	})
}

// What is rotated while it is sealed anew is sealed anew as it is then.
func TestRotatedWhileSealedAnew(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		place := sealingPlace(o.organization, name)
		next := make([]byte, 32)
		next[0] = 1
		both, err := masterkey.NewVault(next, make([]byte, 32))
		must(t, err)
		m := &meanwhile{DB: d, do: func() {
			o.exec(`update webhook_endpoints set secret = $2, previous_secret = secret, previous_until = $3, revision = 2 where organization = $1`,
				o.organization, both.Seal([]byte("new"), place), clock.Now(o.clock)+Overlap)
		}}
		n, _, err := Reseal(ctx, m, both, clock.Now(o.clock))
		if n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		only, err := masterkey.NewVault(next)
		must(t, err)
		var secret, previous string
		must(t, d.Read(ctx, func(tx db.Tx) error {
			return tx.QueryRow(ctx, `select secret, previous_secret from webhook_endpoints where organization = $1`, o.organization).Scan(&secret, &previous)
		}))
		for _, sealed := range []string{secret, previous} {
			if _, _, err := only.Open(sealed, place); err != nil {
				t.Errorf("it needs the earlier key: %v", err)
			}
		}
	})
}

// There is no test event, and no delivery of one, where none can be written
// since the module was switched off.
func TestTestWithoutAModule(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		o.set(access.OrganizationChange{Module: as("off")})
		must(t, d.Write(ctx, func(tx db.Tx) error {
			if _, err := SendTest(ctx, o.call(tx), app.ByID{ID: name}); !fault.Is(err, fault.APIModuleDisabled) {
				t.Errorf("%v", err)
			}
			return nil
		}))
		if n := o.count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("%d deliveries", n)
		}
	})
}
