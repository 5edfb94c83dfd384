package dispatch

import (
	"slices"
	"testing"
	"time"

	"kartei/integration/webhook"
	"kartei/people/organization"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
)

// silence is a time in which an attempt was due, but not made.
type silence struct {
	name     string
	from, to time.Duration // since the first failure
	before   []string      // notices before that
	after    []string      // notices after the due attempt failed
	state    string
}

// Time alone changes no status while an attempt is due. That happens if a
// process was down, or a gate closed, for longer than the endpoint had left.
// The next attempt then decides.
func TestDueAttemptComesBeforeStatus(t *testing.T) {
	for _, s := range []silence{
		{"failing", 21 * time.Hour, 25 * time.Hour, nil, []string{"owner failing"}, "failing"},
		{
			"disabled",
			69 * time.Hour,
			73 * time.Hour,
			[]string{"owner failing"},
			[]string{"owner failing", "owner disabled no_success"},
			"disabled no_success",
		},
	} {
		for _, gate := range []bool{false, true} {
			for _, succeeds := range []bool{true, false} {
				name := s.name + map[bool]string{false: ", down", true: ", gate closed"}[gate] +
					map[bool]string{false: ", fails", true: ", succeeds"}[succeeds]
				t.Run(name, func(t *testing.T) {
					dbtest.Each(t, func(t *testing.T, d db.DB) { s.check(t, open(t, d), gate, succeeds) })
				})
			}
		}
	}
}

func (s silence) check(t *testing.T, o *office, gate, succeeds bool) {
	t.Helper()
	name := o.Endpoint()
	status := 500
	o.answer = func(Message) Outcome {
		if status == 200 {
			return Outcome{Status: 200}
		}
		return Outcome{Status: status, Code: webhook.HTTPStatus}
	}
	disp, stop := o.dispatcher()
	ids := o.Events(2)
	o.idle(disp)
	o.triesFor(disp, s.from)
	if told := o.Told(); !slices.Equal(told, s.before) {
		t.Fatalf("before, told %v", told)
	}
	silent := o.down
	if gate {
		silent = o.gateClosed
	}
	resume := silent(disp, stop, s.to-s.from)
	state, told := s.state, s.after
	if succeeds { // the receiver answers from here on
		status, state, told = 200, "active", s.before
		// The principal may no longer see one of the two: it ends without an attempt.
		o.Exec(`delete from contacts where organization = $1 and id = (select record_id from events where organization = $1 and id = $2)`, o.Organization, ids[0])
	}
	o.idle(resume())
	if got := o.received(); len(got) == 0 || succeeds && !slices.Equal(got, ids[1:]) {
		t.Errorf("received %v", got)
	}
	if got := o.State(name); got != state {
		t.Errorf("%s, not %s", got, state)
	}
	if got := o.Told(); !slices.Equal(got, told) {
		t.Errorf("told %v, not %v", got, told)
	}
}

// triesFor makes all attempts of a time.
func (o *office) triesFor(disp *Dispatcher, left time.Duration) {
	o.Helper()
	for _, gap := range gaps {
		gap = min(gap, left)
		left -= gap
		o.Clock.Advance(gap)
		o.idle(disp)
	}
}

// down stops the dispatcher for a time. resume starts another one.
func (o *office) down(_ *Dispatcher, stop func(), long time.Duration) (resume func() *Dispatcher) {
	o.Helper()
	stop()
	o.received()
	o.Clock.Advance(long)
	return func() *Dispatcher {
		disp, _ := o.dispatcher()
		return disp
	}
}

// gateClosed closes the gate for a time, in which the dispatcher runs. resume opens
// the gate.
func (o *office) gateClosed(disp *Dispatcher, _ func(), long time.Duration) (resume func() *Dispatcher) {
	o.Helper()
	o.Set(organization.Change{Module: endpointtest.As("off")})
	o.received()
	o.Clock.Advance(long)
	o.idle(disp)
	return func() *Dispatcher {
		o.Set(organization.Change{Module: endpointtest.As("on")})
		o.Clock.Advance(10 * time.Second)
		return disp
	}
}

// The 72 hours are counted from the first failed attempt after the last success. An endpoint
// without attempts for days, because the API was off, is not disabled in that time, and it
// is by the next failure. The owner gets one notice of each.
func TestSilenceCounts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint()
		o.answer = func(Message) Outcome { return Outcome{Status: 500, Code: webhook.HTTPStatus} }
		disp, _ := o.dispatcher()
		o.Event()
		o.idle(disp)
		for _, gap := range gaps[:8] { // more than 24 hours
			o.Clock.Advance(gap)
			o.idle(disp)
		}
		if got := o.State(name); got != "failing" {
			t.Fatalf("%s after the first run", got)
		}
		o.Set(organization.Change{Module: endpointtest.As("off")})
		for range 5 {
			o.Clock.Advance(24 * time.Hour)
			o.idle(disp)
		}
		if got := o.State(name); got != "failing" {
			t.Errorf("%s in the silence, without an attempt", got)
		}
		o.received()
		o.Set(organization.Change{Module: endpointtest.As("on")})
		o.Clock.Advance(10 * time.Second)
		o.idle(disp)
		if got, told := o.State(name), o.Told(); got != "disabled no_success" || len(o.received()) == 0 ||
			!slices.Equal(told, []string{"owner failing", "owner disabled no_success"}) {
			t.Errorf("%s after the failure that followed the silence, told %v", got, told)
		}
	})
}

// A delivery fails, its record becomes invisible so that it is not tried again, and the next
// event fails after more than 72 hours: the endpoint is disabled.
func TestDroppedDeliveryCounts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint()
		o.answer = func(Message) Outcome { return Outcome{Status: 500, Code: webhook.HTTPStatus} }
		disp, _ := o.dispatcher()
		o.Event()
		o.idle(disp)
		dbtest.Run(t, d, `delete from webhook_deliveries`)
		o.Clock.Advance(73 * time.Hour)
		o.idle(disp)
		if got := o.State(name); got != "active" {
			t.Errorf("%s without a second attempt", got)
		}
		o.Event()
		o.idle(disp)
		if got, told := o.State(name), o.Told(); got != "disabled no_success" ||
			!slices.Equal(told, []string{"owner disabled no_success"}) {
			t.Errorf("%s after 73 hours, told %v", got, told)
		}
	})
}
