package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/people/organization"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
)

// TestHeldDeliveriesTakeNoRoom checks that a poll claims as many deliveries as its room permits.
// The deliveries that it checks again do not use room.
func TestHeldDeliveriesTakeNoRoom(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		disp := New(o.options(d))
		q := disp.queueOf(o.At(o.Endpoint()))
		o.Events(3)
		first := &poll{Dispatcher: disp, queue: q, room: 3}
		must(t, first.run(ctx))
		o.Events(5)
		second := &poll{Dispatcher: disp, queue: q, room: 1, held: first.taken}
		must(t, second.run(ctx))
		if len(first.taken) != 3 || len(second.taken) != 4 || !second.more {
			t.Errorf("%d were taken, then %d, more %v", len(first.taken), len(second.taken), second.more)
		}
	})
}

// refusingDB is a database in which one statement has no effect or fails.
type refusingDB struct {
	db.DB
	statement string
}

type refusingTx struct {
	db.Tx
	statement string
}

func (r refusingDB) Write(ctx context.Context, run func(db.Tx) error) error {
	return r.DB.Write(ctx, func(tx db.Tx) error { return run(refusingTx{tx, r.statement}) })
}

// Exec changes no row if query is the refused statement, as if another process had been faster.
func (r refusingTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if query == r.statement {
		return 0, nil
	}
	return r.Tx.Exec(ctx, query, args...)
}

func (r refusingDB) Read(ctx context.Context, run func(db.Tx) error) error {
	return r.DB.Read(ctx, func(tx db.Tx) error { return run(refusingTx{tx, r.statement}) })
}

func (r refusingTx) Query(ctx context.Context, query string, args ...any) (db.Rows, error) {
	if r.statement == "recheckVisibility" && strings.HasPrefix(query, "select e.event_id, e.claim") {
		return nil, errKilled
	}
	return r.Tx.Query(ctx, query, args...)
}

// TestFailedPollKeepsItsClaims checks a poll that fails after it has claimed deliveries. Another
// process was faster, or the database is unavailable. The process keeps the claimed deliveries, so
// that they need not wait for the end of their lease.
func TestFailedPollKeepsItsClaims(t *testing.T) {
	for name, test := range map[string]struct {
		refused  string
		newFirst bool
		error    error
		asked    bool // whether the poll checks the visibility of held deliveries
	}{
		"the cursor is lost":             {moveCursor, false, errOvertaken, true},
		"what is due is lost":            {holdDue, true, errOvertaken, true},
		"it cannot be asked who sees it": {"recheckVisibility", false, errKilled, false},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d db.DB) {
				o := open(t, d)
				disp := New(Options{
					DB:       refusingDB{d, test.refused},
					Clock:    o.Clock,
					Vault:    o.Vault,
					Families: endpointtest.Families,
				})
				q := disp.queueOf(o.At(o.Endpoint()))
				due := o.Event()
				o.Exec(`update webhook_endpoints set due_at = $2, cursor = (select tick from clocks where organization = $1) where organization = $1`, o.Organization, clock.Now(o.Clock))
				o.Exec(`insert into webhook_deliveries (organization, endpoint, event_id, tick, type, object, record_id, attempts, due_at, claim, created_at)
					select organization, $2, id, tick, type, object, record_id, 1, $3, 2, $3 from events where organization = $1`,
					o.Organization, q.ID, clock.Now(o.Clock))
				drawn := o.Event()
				held := []*delivery{{queue: q, leaseEnd: clock.Now(o.Clock) + webhook.Lease}}
				disp.polling, disp.held = 1, 1
				p := &poll{Dispatcher: disp, queue: q, room: 4, newFirst: test.newFirst}
				err := p.run(ctx)
				disp.pollEnded(p, held, err)
				want := due
				if test.newFirst {
					want = drawn
				}
				if !errors.Is(err, test.error) || disp.held != 2 || len(q.ready) != 2 || q.ready[0] != held[0] ||
					q.ready[1].event.ID != want {
					t.Fatalf("%v: %d are held, %d can begin", err, disp.held, len(q.ready))
				}
				if n := o.Count("webhook_deliveries", "claim % 2 = 1 and event_id = '"+want+"'"); n != 1 ||
					q.ready[1].checkedAt == 0 == test.asked {
					t.Errorf("%d claimed, asked at %d", n, q.ready[1].checkedAt)
				}
			})
		})
	}
}

// TestEndpointDeletedDuringPoll checks that the deletion of an endpoint during its poll is not
// logged as an error. The claimed deliveries of the endpoint are dropped.
func TestEndpointDeletedDuringPoll(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		var log strings.Builder
		disp := New(Options{
			DB: d, Clock: o.Clock, Vault: o.Vault, Families: endpointtest.Families,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		q := disp.queueOf(o.At(o.Endpoint()))
		o.Event()
		disp.polling = 1
		p := &poll{Dispatcher: disp, queue: q, room: 1}
		must(t, p.run(ctx))
		o.Exec(`delete from webhook_endpoints where organization = $1`, o.Organization)
		err := p.dropUnsent(ctx, p.taken)
		disp.pollEnded(p, nil, err)
		if !errors.Is(err, db.ErrNoRows) || log.Len() > 0 || disp.held != 0 || len(q.ready) != 0 ||
			disp.queues[q.Address] != nil {
			t.Errorf("%v: %d are held, logged %q", err, disp.held, log.String())
		}
	})
}

// TestEventsEndBehindTheCursor checks that events after the cursor are recorded as missed before
// they expire after 30 days. An endpoint whose cursor has no events after it records nothing.
func TestEventsEndBehindTheCursor(t *testing.T) {
	for _, closed := range []bool{true, false} {
		for _, behind := range []bool{true, false} {
			t.Run(fmt.Sprintf("gate closed %v, behind %v", closed, behind), func(t *testing.T) {
				dbtest.Each(t, func(t *testing.T, d db.DB) {
					o := open(t, d)
					o.Event() // this event sets the cursor
					disp, at := o.still()
					var log strings.Builder
					disp.log = slog.New(slog.NewTextHandler(&log, nil))
					look := func() {
						t.Helper()
						must(t, (&poll{Dispatcher: disp, queue: disp.queueOf(at)}).run(ctx)) // the poll has no room
					}
					if behind {
						o.Event() // a microsecond after the first event
					}
					if closed {
						o.Set(organization.Change{Module: endpointtest.As("off")})
					}
					o.Clock.Advance(30*24*time.Hour - time.Hour)
					if !behind {
						o.Event()
					}
					look()
					if n := o.Count("webhook_endpoints", "missed_since = 0"); n != 1 || log.Len() > 0 {
						t.Errorf("before: logged %q", log.String())
					}
					o.Clock.Advance(time.Microsecond)
					look()
					o.Clock.Advance(time.Hour)
					look()
					noted := o.Count("webhook_endpoints", "missed_since = cursor")
					logged := strings.Count(log.String(), at.ID)
					if behind && (noted != 1 || logged != 1) || !behind && noted+logged > 0 {
						t.Errorf("noted %d, logged %q", noted, log.String())
					}
				})
			})
		}
	}
}

// TestAttemptLeavesTimeToRecord checks that the outcome of an attempt can be recorded before the
// lease of its delivery ends. The time also suffices if a transaction is repeated after a lock
// timeout of 5 seconds.
func TestAttemptLeavesTimeToRecord(t *testing.T) {
	item := &delivery{leaseEnd: webhook.Lease}
	last := clock.Micros(0)
	for ; !item.expires(last); last = last.Add(100 * time.Millisecond) {
	}
	last = last.Add(-100 * time.Millisecond)
	if left := item.leaseEnd.Sub(last.Add(attemptTime)); left < 5*time.Second+afterFailure {
		t.Errorf("after the last attempt of a lease %s are left", left)
	}
	if last.Sub(0) < 9*time.Second {
		t.Errorf("attempts begin only within %s: a slow receiver gets one a lease", last.Sub(0))
	}
}
