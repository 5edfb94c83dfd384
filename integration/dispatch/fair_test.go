package dispatch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
)

// frozenDB is a database whose transactions fail while it is set, like the database of a suspended
// process.
type frozenDB struct {
	db.DB
	atomic.Bool
}

func (f *frozenDB) Read(ctx context.Context, run func(db.Tx) error) error {
	if f.Load() {
		return errKilled
	}
	return f.DB.Read(ctx, run)
}

func (f *frozenDB) Write(ctx context.Context, run func(db.Tx) error) error {
	if f.Load() {
		return errKilled
	}
	return f.DB.Write(ctx, run)
}

// TestLateProcessIsFenced checks a process that is suspended during an attempt and counts as dead.
// When it continues, the outcome of its attempt changes nothing.
func TestLateProcessIsFenced(t *testing.T) {
	failure := Outcome{Status: 500, Code: webhook.HTTPStatus}
	for _, c := range []struct {
		name       string
		late, then Outcome
		log        string
		failures   int
	}{
		{"a late 410", Outcome{Status: 410, Code: webhook.HTTPStatus}, Outcome{Status: 200}, " 1 succeeded 200 ", 0},
		{"a late failure", failure, Outcome{Status: 200}, " 1 succeeded 200 ", 0},
		{"a late success", Outcome{Status: 200}, failure, " 1 failed 500 HTTP_STATUS", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d db.DB) {
				o := open(t, d)
				name := o.Endpoint()
				entered, leave := make(chan struct{}), make(chan struct{})
				late := o.sender(func(context.Context, Message) Outcome {
					close(entered)
					<-leave
					return c.late
				})
				o.answer = func(Message) Outcome { return c.then }
				still := &frozenDB{DB: d}
				first, _ := o.dispatcherWith(still, late)
				event := o.Event()
				<-entered
				still.Store(true)
				o.Clock.Advance(31 * time.Second)
				second, _ := o.dispatcherWith(d, o.send)
				o.idle(second)
				want := []string{event + c.log}
				check := func(when string) {
					if got := o.Attempts(name); !slices.Equal(got, want) {
						t.Errorf("%s the log is %v", when, got)
					}
					if n := o.Count("webhook_endpoints", fmt.Sprintf("status = 'active' and failures = %d", c.failures)); n != 1 {
						t.Errorf("%s the endpoint is another", when)
					}
				}
				check("before")
				still.Store(false)
				close(leave)
				o.Clock.Advance(2 * time.Second)
				o.idle(first)
				check("afterwards")
			})
		})
	}
}

// TestBacklogDelaysNobody checks that a dead endpoint with a backlog of 100,000 events does not
// delay another endpoint. The other endpoint gets all its events while the dead endpoint has a few
// attempts. The process claims only a bounded part of the backlog.
func TestBacklogDelaysNobody(t *testing.T) {
	d := dbtest.SQLite(t)
	o := open(t, d)
	dead := o.Endpoint()
	const backlog = 100_000
	for range backlog / 5000 {
		o.Events(5000)
	}
	o.Endpoint() // this endpoint responds
	at := func(m Message, endpoint string) bool {
		return strings.Contains(m.URL, strings.TrimPrefix(endpoint, "whe_"))
	}
	o.answer = func(m Message) Outcome {
		if at(m, dead) {
			return Outcome{Code: webhook.ConnectError}
		}
		return Outcome{Status: 200}
	}
	disp, _ := o.dispatcher()
	o.idle(disp)
	ids := o.Events(50)
	o.idle(disp)
	var got []string
	tries := 0
	for _, m := range o.got {
		if at(m, dead) {
			tries++
		} else {
			got = append(got, m.EventID)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, ids) {
		t.Errorf("%d of %d events came", len(got), len(ids))
	}
	if tries > 2*failuresUntilPause {
		t.Errorf("%d attempts at the dead one at one time", tries)
	}
	if n := o.Count("webhook_deliveries", "true"); n > 2*failuresUntilPause {
		t.Errorf("%d deliveries were made of the backlog", n)
	}
	// Later, the dead endpoint has at most one attempt a second.
	o.received()
	for range 100 {
		o.Clock.Advance(100 * time.Millisecond)
		o.idle(disp)
	}
	if n := len(o.received()); n > 40 || n < 5 {
		t.Errorf("%d attempts in 10 seconds", n)
	}
}

// TestWindow checks that the window grows with each success and shrinks with each failure.
func TestWindow(t *testing.T) {
	w := newWindow(0)
	for want := range 40 {
		if w.size != min(want+1, maxWindow) {
			t.Fatalf("after %d successes %d", want, w.size)
		}
		w.succeeded()
	}
	for i, want := range []int{8, 4, 2, 1, 1, 1, 1, 1, 1, 1} {
		if w.failed(); w.size != want || w.pause() != 0 {
			t.Fatalf("after %d failures %d, and a pause of %s", i+1, w.size, w.pause())
		}
	}
	for _, want := range []int64{50, 100, 200, 400, 800, 1000, 1000} {
		if w.failed(); w.size != 1 || w.pause().Milliseconds() != want {
			t.Fatalf("a pause of %s, not %d ms", w.pause(), want)
		}
	}
	if w.succeeded(); w.size != 2 || w.pause() != 0 {
		t.Errorf("after a success: %+v", w)
	}
}

// TestGapsVary checks that each gap follows the contract, with a jitter of at most a tenth.
func TestGapsVary(t *testing.T) {
	at := clock.FromTime(endpointtest.Begin)
	for n, gap := range gaps {
		for part, want := range map[float64]time.Duration{0: gap - gap/10, 1: gap + gap/10} {
			next := nextAttempt(n+1, at, func(n int64) int64 { return int64(part * float64(n-1)) })
			if got := next.Sub(at); got != want {
				t.Errorf("gap %d: %s, not %s", n+1, got, want)
			}
		}
	}
	if nextAttempt(Attempts, at, nil) != 0 {
		t.Error("there is an attempt after the last")
	}
}

// lastWait is a clock. It closes stopping once a dispatcher has set the timers of its shutdown.
type lastWait struct {
	clock.Clock
	stopping chan struct{}
}

func (c lastWait) After(d time.Duration) <-chan time.Time {
	over := c.Clock.After(d)
	if d == grace+lastTime {
		close(c.stopping)
	}
	return over
}

// TestStopWithoutWrites checks the log of a process that stops while the database accepts no
// writes. The log names that as the reason why the process did not return its deliveries.
func TestStopWithoutWrites(t *testing.T) {
	for _, refused := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "kartei.db")
		now := clock.NewFake(time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC))
		d := dbtest.Open(t, "sqlite:"+path, db.Options{Clock: now})
		if refused {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			now.Advance(time.Minute)
		}
		var log bytes.Buffer
		(&Dispatcher{db: d, log: slog.New(slog.NewTextHandler(&log, nil)), held: 3}).reportHeld()
		if strings.Contains(log.String(), "in time") == refused ||
			strings.Contains(log.String(), "takes no writes") != refused || !strings.Contains(log.String(), "deliveries=3") {
			t.Errorf("refused %v: %s", refused, &log)
		}
	}
}

// TestStop checks that a stopping process lets attempts finish, or returns them to the queue after
// the grace period. Another process then makes these attempts and the waiting ones at once.
func TestStop(t *testing.T) {
	for _, ends := range []bool{true, false} {
		dbtest.Each(t, func(t *testing.T, d db.DB) {
			o := open(t, d)
			name := o.Endpoint()
			entered, leave, given := make(chan struct{}), make(chan struct{}), make(chan struct{})
			stopping := make(chan struct{})
			o.dispatcherClock = lastWait{o.Clock, stopping}
			_, stop := o.dispatcherWith(d, o.sender(func(ctx context.Context, m Message) Outcome {
				close(entered)
				select {
				case <-leave:
					return Outcome{Status: 200}
				case <-ctx.Done():
					close(given)
					return Outcome{Interrupted: true, Code: webhook.ProtocolError}
				}
			}))
			ids := o.Events(2) // one delivery runs, and the other waits
			<-entered
			if ends {
				close(leave)
				stop()
			} else {
				stopped := make(chan struct{})
				go func() { stop(); close(stopped) }()
				<-stopping
				o.Clock.Advance(grace)
				<-given
				<-stopped
			}
			logged := len(o.Attempts(name))
			if ends && logged == 0 || !ends && logged > 0 {
				t.Errorf("the log is %v", o.Attempts(name))
			}
			if n := o.Count("webhook_deliveries", fmt.Sprintf("(claim %% 2 = 1 or due_at > %d)", clock.Now(o.Clock))); n != 0 {
				t.Errorf("%d deliveries were not given back", n)
			}
			o.received()
			o.dispatcherClock = nil
			disp, _ := o.dispatcher()
			o.idle(disp)
			if got := o.received(); len(got) != len(ids)-logged {
				t.Errorf("the next process sent %v of %v", got, ids)
			}
		})
	}
}
