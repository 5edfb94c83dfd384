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

// silence is a period in which an attempt was due but was not made.
type silence struct {
	name     string
	from, to time.Duration // since the first failure
	before   []string      // the notices before the silence
	after    []string      // the notices after the due attempt failed
	state    string
}

// TestDueAttemptComesBeforeStatus checks that the passing of time changes no status while an
// attempt is due. The next attempt then decides the status. An attempt is due for a long time if a
// process was down, or if the API was off.
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
	if succeeds { // the receiver responds with 200 from here on
		status, state, told = 200, "active", s.before
		// The record of one event is gone, so its delivery ends without an attempt.
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

// triesFor lets all attempts of a duration happen.
func (o *office) triesFor(disp *Dispatcher, left time.Duration) {
	o.Helper()
	for _, gap := range gaps {
		gap = min(gap, left)
		left -= gap
		o.Clock.Advance(gap)
		o.idle(disp)
	}
}

// down stops the dispatcher for a duration. resume starts another one.
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

// gateClosed switches the API of the organization off for a duration, in which the dispatcher runs.
// resume switches the API on.
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

// TestSilenceCounts checks that the 72 hours are counted from the first failure after the last
// success. An endpoint that had no attempts for days, because the API was off, is not disabled in
// that time. The next failure disables it. The owner gets one notice of each change.
func TestSilenceCounts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.Endpoint()
		o.answer = func(Message) Outcome { return Outcome{Status: 500, Code: webhook.HTTPStatus} }
		disp, _ := o.dispatcher()
		o.Event()
		o.idle(disp)
		for _, gap := range gaps[:8] { // more than 24 hours in total
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

// TestDroppedDeliveryCounts checks a delivery that fails and is then dropped. If the next event
// fails after more than 72 hours, the endpoint is disabled.
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
