package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/access"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/people/organization"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
	"kartei/test/waittest"
)

var ctx = context.Background()

// office is an organization with endpoints. The test decides how their receivers respond.
type office struct {
	*endpointtest.Office

	dispatcherClock clock.Clock // replaces Clock for dispatchers, if set
	cancels         sync.Map    // the cancel function of each dispatcher
	last            *Dispatcher // the current dispatcher of a test with several steps

	mu sync.Mutex
	// answer returns the outcome of a message. nil means status 200 for each message.
	answer func(Message) Outcome
	got    []Message
}

func open(t testing.TB, d db.DB) *office {
	t.Helper()
	return &office{Office: endpointtest.Open(t, d)}
}

var must = endpointtest.Must

// send replaces Sender.Attempt: it returns the outcome that the test chose.
func (o *office) send(_ context.Context, m Message) Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got = append(o.got, m)
	if o.answer == nil {
		return Outcome{Status: 200}
	}
	return o.answer(m)
}

// received returns the ids of the events that arrived since the last call, in order.
func (o *office) received() (ids []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.got {
		ids = append(ids, m.EventID)
	}
	o.got = nil
	return ids
}

// options returns the options of a dispatcher on a database.
func (o *office) options(d db.DB) Options {
	return Options{
		DB: d, Clock: cmp.Or[clock.Clock](o.dispatcherClock, o.Clock), Vault: o.Vault, Families: endpointtest.Families,
		Send:    o.send,
		Notices: o.Notices(), Logger: slog.New(slog.NewTextHandler(o.Output(), nil)),
		Rand: func(n int64) int64 { return n / 2 },
	}
}

// dispatcher runs a dispatcher until stop is called or the test ends.
func (o *office) dispatcher() (disp *Dispatcher, stop func()) {
	o.Helper()
	return o.dispatcherOn(o.DB)
}

func (o *office) dispatcherOn(d db.DB) (disp *Dispatcher, stop func()) {
	o.Helper()
	return o.dispatcherWith(d, o.send)
}

// sender returns a Send for dispatcherWith. It calls first for the first attempt, and o.send for
// later attempts.
func (o *office) sender(first func(context.Context, Message) Outcome) func(context.Context, Message) Outcome {
	var once sync.Once
	return func(ctx context.Context, m Message) (out Outcome) {
		done := false
		once.Do(func() { out, done = first(ctx, m), true })
		if !done {
			out = o.send(ctx, m)
		}
		return out
	}
}

func (o *office) dispatcherWith(d db.DB, send func(context.Context, Message) Outcome) (disp *Dispatcher, stop func()) {
	o.Helper()
	options := o.options(d)
	options.Send = send
	disp = New(options)
	running, cancel := context.WithCancel(ctx)
	o.cancels.Store(disp, cancel)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		disp.Run(running)
	}()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	o.Cleanup(func() {
		if o.Failed() { // some attempts may end only when the clock advances
			finish(o, map[*Dispatcher]func(){disp: stop})
		}
		stop()
	})
	return disp, stop
}

// idle waits until a dispatcher is idle. It fails the test if deliveries make no more progress.
func (o *office) idle(disp *Dispatcher) {
	o.Helper()
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := make(chan error, 1)
	go func() { idle <- disp.Idle(bounded) }()
	for watch := waittest.New(); ; {
		select {
		case err := <-idle:
			must(o, err)
			return
		case <-time.After(time.Second):
			if watch.IsStuck(o.progress()) {
				o.Fatalf("the dispatcher does not come to rest: %s", o.progress())
			}
		}
	}
}

// progress describes the number of delivered events and the deliveries that are left.
func (o *office) progress() string {
	o.Helper()
	o.mu.Lock()
	requests := len(o.got)
	o.mu.Unlock()
	var left []string
	must(o, o.DB.Read(ctx, func(tx db.Tx) (err error) {
		left, err = db.List(ctx, tx, func(r db.Row) (line string, err error) {
			var endpoint, event string
			var attempts int
			var due clock.Micros
			err = r.Scan(&endpoint, &event, &attempts, &due)
			return fmt.Sprintf("%s at %s, %d attempts, due in %d s", event, endpoint, attempts,
				due.Sub(clock.Now(o.Clock))/time.Second), err
		}, `select endpoint, event_id, attempts, due_at from webhook_deliveries where organization = $1 order by due_at limit 20`, o.Organization)
		return err
	}))
	return fmt.Sprintf("%d requests came, %d attempts are in the log, %d deliveries are left:\n%s",
		requests, o.Count("webhook_attempts", "true"), o.Count("webhook_deliveries", "true"), strings.Join(left, "\n"))
}

func TestDelivers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		first, second := o.Endpoint(), o.Endpoint("contact.updated")
		disp, _ := o.dispatcher()
		o.idle(disp)
		ids := o.Events(3)
		o.idle(disp)
		if got := o.received(); !slices.Equal(slices.Sorted(slices.Values(got)), ids) {
			t.Errorf("received %v, not %v", got, ids)
		}
		if n := o.Count("webhook_attempts", "endpoint = '"+first+"' and status = 'succeeded' and attempt = 1"); n != 3 {
			t.Errorf("%d attempts in the log: %v", n, o.Attempts(first))
		}
		if n := o.Count("webhook_attempts", "endpoint = '"+second+"'"); n != 0 {
			t.Errorf("%d attempts at an endpoint of other events", n)
		}
		if n := o.Count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("%d deliveries are left", n)
		}
		// A poll at the same moment may have left a due time, which expires with the lease.
		o.Clock.Advance(webhook.Lease.Sub(0))
		o.idle(disp)
		if n := o.Count("webhook_endpoints", "due_at = 0"); n != 2 {
			t.Errorf("only %d endpoints have nothing to do", n)
		}
	})
}

// TestSchedule checks the whole schedule of three days against the contract. The jitter is zero
// here, so each gap is exact.
func TestSchedule(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint()
		o.answer = func(Message) Outcome { return Outcome{Status: 500, Code: webhook.HTTPStatus} }
		disp, _ := o.dispatcher()
		o.idle(disp)
		event := o.Event()
		began := clock.Now(o.Clock)
		var want []string
		for i, gap := range append([]time.Duration{0}, gaps[:]...) {
			if gap > 0 {
				o.Clock.Advance(gap - time.Microsecond)
				o.idle(disp)
				if got := o.received(); len(got) > 0 {
					t.Fatalf("attempt %d came early", i+1)
				}
				o.Clock.Advance(time.Microsecond)
			}
			o.idle(disp)
			if got := o.received(); !slices.Equal(got, []string{event}) {
				t.Fatalf("attempt %d, %v after the first: received %v", i+1, clock.Now(o.Clock).Sub(began), got)
			}
			want = append(want, fmt.Sprint(event, " ", i+1, " failed 500 HTTP_STATUS"))
		}
		if got := o.Attempts(name); !slices.Equal(got, want) {
			t.Errorf("the log is\n%s", strings.Join(got, "\n"))
		}
		if n := o.Count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("after the last attempt %d deliveries are left", n)
		}
		if n := o.Count("webhook_attempts", "attempt = 10 and next_attempt_at = 0"); n != 1 {
			t.Errorf("the last attempt announces another")
		}
	})
}

func TestStates(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint()
		disp, _ := o.dispatcher()
		status := 500
		o.answer = func(Message) Outcome {
			if status == 200 {
				return Outcome{Status: 200}
			}
			return Outcome{Status: status, Code: webhook.HTTPStatus}
		}
		after := func(d time.Duration, want string, told ...string) {
			t.Helper()
			for range 10 { // small steps, so that each due attempt is made
				o.Clock.Advance(d / 10)
				o.idle(disp)
			}
			if got := o.State(name); got != want {
				t.Fatalf("%s, not %s", got, want)
			}
			if got := o.Told(); !slices.Equal(got, told) {
				t.Fatalf("told %v, not %v", got, told)
			}
		}
		o.idle(disp)
		o.Event()
		after(0, "active")
		after(24*time.Hour-time.Second, "active")
		after(time.Second, "failing", "owner failing")
		status = 200
		after(48*time.Hour, "active", "owner failing")
		after(100*time.Hour, "active", "owner failing")
		status = 500
		o.Event()
		o.idle(disp)
		after(24*time.Hour, "failing", "owner failing", "owner failing")
		after(48*time.Hour-time.Second, "failing", "owner failing", "owner failing")
		o.Event()
		after(0, "failing", "owner failing", "owner failing")
		after(time.Second, "disabled no_success", "owner failing", "owner failing", "owner disabled no_success")
		if n := o.Count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("%d deliveries of a disabled endpoint are left", n)
		}
		o.received()
		o.Event()
		after(100*time.Hour, "disabled no_success", "owner failing", "owner failing", "owner disabled no_success")
		if got := o.received(); got != nil {
			t.Errorf("a disabled endpoint got %v", got)
		}
	})
}

func TestGone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint()
		disp, _ := o.dispatcher()
		o.idle(disp)
		o.answer = func(Message) Outcome { return Outcome{Status: 410, Code: webhook.HTTPStatus} }
		o.Events(5)
		o.idle(disp)
		if got := o.State(name); got != "disabled gone" {
			t.Errorf("%s", got)
		}
		if told := o.Told(); !slices.Equal(told, []string{"owner disabled gone"}) {
			t.Errorf("told %v", told)
		}
		if sent, logged := o.received(), o.Attempts(name); len(sent) != 1 || len(logged) != 1 {
			t.Errorf("sent %d, logged %v", len(sent), logged)
		}
		if n := o.Count("webhook_deliveries", "true"); n != 0 {
			t.Errorf("%d deliveries of a disabled endpoint are left", n)
		}
	})
}

func TestFigures(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		o.Endpoint()
		measure := func(want Figures) {
			t.Helper()
			got, err := Measure(ctx, d)
			must(t, err)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%+v, not %+v", got, want)
			}
		}
		one := map[webhook.Status]int64{webhook.Active: 1, webhook.Failing: 0, webhook.Disabled: 0}
		measure(Figures{Endpoints: one})
		o.Event()
		at := clock.Now(o.Clock)
		measure(Figures{Behind: 1, First: at, Endpoints: one})
		for _, closed := range []struct{ as, was organization.Change }{
			{organization.Change{Module: endpointtest.As("off")}, organization.Change{Module: endpointtest.As("on")}},
			{
				organization.Change{Secrecy: endpointtest.As("undeclared")},
				organization.Change{Secrecy: endpointtest.As("declared")},
			},
			{organization.Change{Level: endpointtest.As(access.Off)}, organization.Change{Level: endpointtest.As(access.Read)}},
			{
				organization.Change{State: endpointtest.As(access.Closed)},
				organization.Change{State: endpointtest.As(access.Open)},
			},
		} {
			o.Set(closed.as)
			measure(Figures{Endpoints: one})
			o.Set(closed.was)
			measure(Figures{Behind: 1, First: at, Endpoints: one})
		}
		o.answer = func(Message) Outcome { return Outcome{Code: webhook.ConnectError} }
		o.Clock.Advance(time.Minute)
		disp, _ := o.dispatcher()
		o.idle(disp)
		measure(Figures{Waiting: 1, Oldest: at + clock.Minute, Endpoints: one})
	})
}
