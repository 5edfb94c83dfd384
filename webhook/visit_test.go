package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// A look at an endpoint takes as many deliveries as there is room for, beside
// those that it asks for once more.
func TestHeldDeliveriesTakeNoRoom(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		c := NewCourier(Options{DB: d, Clock: o.clock, Vault: o.vault, Families: families})
		l := c.lane(address{o.organization, o.endpoint()})
		o.events(3)
		first := &visit{Courier: c, lane: l, room: 3}
		must(t, first.run(ctx))
		o.events(5)
		second := &visit{Courier: c, lane: l, room: 1, held: first.taken}
		must(t, second.run(ctx))
		if len(first.taken) != 3 || len(second.taken) != 4 || !second.more {
			t.Errorf("%d were taken, then %d, more %v", len(first.taken), len(second.taken), second.more)
		}
	})
}

// refusing is a data base whose transactions refuse a statement.
type refusing struct {
	db.DB
	statement string
}

type refusingTx struct {
	db.Tx
	statement string
}

func (r refusing) Write(ctx context.Context, run func(db.Tx) error) error {
	return r.DB.Write(ctx, func(tx db.Tx) error { return run(refusingTx{tx, r.statement}) })
}

// Exec changes nothing, as if another had been faster.
func (r refusingTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if query == r.statement {
		return 0, nil
	}
	return r.Tx.Exec(ctx, query, args...)
}

func (r refusing) Read(ctx context.Context, run func(db.Tx) error) error {
	return r.DB.Read(ctx, func(tx db.Tx) error { return run(refusingTx{tx, r.statement}) })
}

func (r refusingTx) Query(ctx context.Context, query string, args ...any) (db.Rows, error) {
	if r.statement == "sift" && strings.HasPrefix(query, "select e.event_id, e.claim") {
		return nil, errKilled
	}
	return r.Tx.Query(ctx, query, args...)
}

// A look that fails after it took deliveries, because another was faster or the
// data base is away, has these: they need not wait until their lease ends.
func TestFailedLookKeepsWhatItTook(t *testing.T) {
	for name, test := range map[string]struct {
		refused  string
		newFirst bool
		error    error
		asked    bool // and it is known that the endpoint may have it
	}{
		"the cursor is lost":             {moveCursor, false, errLost, true},
		"what is due is lost":            {holdDue, true, errLost, true},
		"it cannot be asked who sees it": {"sift", false, errKilled, false},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d db.DB) {
				o := open(t, d)
				c := NewCourier(Options{DB: refusing{d, test.refused}, Clock: o.clock, Vault: o.vault, Families: families})
				l := c.lane(address{o.organization, o.endpoint()})
				due := o.event()
				o.exec(`update webhook_endpoints set due_at = $2, cursor = (select tick from clocks where organization = $1) where organization = $1`, o.organization, clock.Now(o.clock))
				o.exec(`insert into webhook_deliveries (organization, endpoint, event_id, tick, type, object, record_id, attempts, due_at, claim, created_at)
					select organization, $2, id, tick, type, object, record_id, 1, $3, 2, $3 from events where organization = $1`, o.organization, l.id, clock.Now(o.clock))
				drawn := o.event()
				held := []*delivery{{lane: l, until: clock.Now(o.clock) + lease}}
				c.visiting, c.held = 1, 1
				v := &visit{Courier: c, lane: l, room: 4, newFirst: test.newFirst}
				err := v.run(ctx)
				c.visited(v, held, err)
				want := due
				if test.newFirst {
					want = drawn
				}
				if !errors.Is(err, test.error) || c.held != 2 || len(l.ready) != 2 || l.ready[0] != held[0] || l.ready[1].event.ID != want {
					t.Fatalf("%v: %d are held, %d can begin", err, c.held, len(l.ready))
				}
				if n := o.count("webhook_deliveries", "claim % 2 = 1 and event_id = '"+want+"'"); n != 1 || l.ready[1].asked == 0 == test.asked {
					t.Errorf("%d claimed, asked at %d", n, l.ready[1].asked)
				}
			})
		})
	}
}

// An endpoint that is deleted while it is looked at is no error: what was taken
// for it is forgotten.
func TestEndpointDeletedDuringLook(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		var log strings.Builder
		c := NewCourier(Options{DB: d, Clock: o.clock, Vault: o.vault, Families: families, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		l := c.lane(address{o.organization, o.endpoint()})
		o.event()
		c.visiting = 1
		v := &visit{Courier: c, lane: l, room: 1}
		must(t, v.run(ctx))
		o.exec(`delete from webhook_endpoints where organization = $1`, o.organization)
		err := v.end(ctx, v.taken)
		c.visited(v, nil, err)
		if !errors.Is(err, db.ErrNoRows) || log.Len() > 0 || c.held != 0 || len(l.ready) != 0 || c.lanes[l.address] != nil {
			t.Errorf("%v: %d are held, logged %q", err, c.held, log.String())
		}
	})
}

// Events behind a cursor that end after their 30 days do not end silently; that
// there were none for so long is no reason to say so.
func TestEventsEndBehindTheCursor(t *testing.T) {
	for _, closed := range []bool{true, false} {
		for _, behind := range []bool{true, false} {
			t.Run(fmt.Sprintf("gate closed %v, behind %v", closed, behind), func(t *testing.T) {
				dbtest.Each(t, func(t *testing.T, d db.DB) {
					o := open(t, d)
					o.event() // so that the cursor is a time
					c, at := o.still()
					var log strings.Builder
					c.log = slog.New(slog.NewTextHandler(&log, nil))
					look := func() {
						t.Helper()
						must(t, (&visit{Courier: c, lane: c.lane(at)}).run(ctx)) // that has no room
					}
					if behind {
						o.event() // a microsecond after the other
					}
					if closed {
						o.set(access.OrganizationChange{Module: as("off")})
					}
					o.clock.Advance(30*24*time.Hour - time.Hour)
					if !behind {
						o.event()
					}
					look()
					if n := o.count("webhook_endpoints", "missed_since = 0"); n != 1 || log.Len() > 0 {
						t.Errorf("before: logged %q", log.String())
					}
					o.clock.Advance(time.Microsecond)
					look()
					o.clock.Advance(time.Hour)
					look()
					noted := o.count("webhook_endpoints", "missed_since = cursor")
					logged := strings.Count(log.String(), at.id)
					if behind && (noted != 1 || logged != 1) || !behind && noted+logged > 0 {
						t.Errorf("noted %d, logged %q", noted, log.String())
					}
				})
			})
		}
	}
}
