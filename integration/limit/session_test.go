package limit_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"kartei/integration/limit"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
)

// shows and erases are calls of a person in a session. get and remove are calls with a key of the
// same principal.
var (
	shows = limit.Charge{
		Organization: 7, Principal: "usr_a", Key: limit.Sessions("usr_a"), Session: true, Points: 7,
		Reads: true,
	}
	erases = limit.Charge{
		Organization: 7, Principal: "usr_a", Key: limit.Sessions("usr_a"), Session: true, Points: 10,
		Write: true, Delete: true,
	}
)

// TestSessions checks that sessions and keys of one principal do not use up each other's limits.
// All sessions share one account, which survives a restart. A session is never locked.
func TestSessions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		c := clock.NewFake(begin)
		p := launch(t, d, c, settings{})
		for range 30 {
			p.call(erases)
		}
		for range 100 { // twice the number of refusals that lock a key
			if v := p.call(erases); !slices.Equal(v, []string{"session-deletes"}) {
				t.Fatalf("refused by %v", v)
			}
		}
		for range 200 { // 1,400 points, but sessions have no limit of points
			if v := p.call(shows, 100); v != nil {
				t.Fatalf("refused by %v", v)
			}
		}
		if v := p.call(get, 100); v != nil {
			t.Errorf("the key is refused by %v", v)
		}
		p.call(remove)
		p.end()
		p = launch(t, d, c, settings{})
		for name, want := range map[string]int64{
			"session-writes": 90, "session-deletes": 0, "session-deletes-day": 470, "session-outflow": 10_000,
			"session-concurrency": 12,
		} {
			if left := p.left(shows, name); left != want {
				t.Errorf("%s: %d left, want %d", name, left, want)
			}
		}
		for name, want := range map[string]int64{
			"key": 600 - 11, "writes": 59, "deletes": 9, "deletes-day": 299, "outflow": 9900,
			"principal": 1200 - 11, "organization": 3000 - 11,
		} {
			if left := p.left(get, name); left != want {
				t.Errorf("%s: %d left, want %d", name, left, want)
			}
		}
		for _, who := range []limit.Charge{shows, get} {
			all, err := p.Status(context.Background(), who)
			if err != nil || slices.ContainsFunc(all,
				func(s limit.Status) bool { return (s.Level == "session") != who.Session }) {
				t.Errorf("policies of another kind of caller: %+v %v", all, err)
			}
		}
		c.Advance(time.Minute)
		if v := p.call(erases); v != nil {
			t.Errorf("a minute later: %v", v)
		}
		p.end()
	})
}

// TestSessionsRunning checks how many calls the sessions of one person may run at the same time.
func TestSessionsRunning(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		p := launch(t, d, clock.NewFake(begin), settings{})
		var running []limit.Decision
		for range 12 {
			decision, err := p.Take(t.Context(), shows)
			if err != nil || decision.Violated != nil {
				t.Fatalf("%v %v", decision.Violated, err)
			}
			running = append(running, decision)
		}
		if v := p.call(shows); !slices.Equal(v, []string{"session-concurrency"}) {
			t.Errorf("one more: %v", v)
		}
		if v := p.call(get); v != nil {
			t.Errorf("the key: %v", v)
		}
		for i := range running {
			p.Done(shows, &running[i], 0)
		}
		if v := p.call(shows); v != nil {
			t.Errorf("after their end: %v", v)
		}
		p.end()
	})
}

// TestSessionAlert checks that the alert at 80 percent has Session set. A refusal of a session
// raises no alert, because there is no key to pause.
func TestSessionAlert(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		alerts := make(chan limit.Alert, 10)
		s := settings{alert: func(_ context.Context, _ db.Tx, a limit.Alert) error {
			alerts <- a
			return nil
		}}
		s.config.Exhausted = true
		s.config.Policies, _ = limit.With(limit.Override{Name: "session-deletes-day", Quota: 10, Capacity: 10})
		p := launch(t, d, clock.NewFake(begin), s)
		for range 12 {
			p.call(erases)
		}
		p.end()
		a := <-alerts
		if a.Policy != "session-deletes-day" || a.Used != 8 || !a.Session || a.Principal != "usr_a" || a.Exhausted ||
			len(alerts) != 0 {
			t.Errorf("%+v, and %d more", a, len(alerts))
		}
	})
}
