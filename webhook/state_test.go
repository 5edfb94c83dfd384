package webhook

import (
	"slices"
	"testing"
	"time"

	"kartei/access"
	"kartei/clock"
	"kartei/db"
	"kartei/dbtest"
)

// Time alone says nothing of an endpoint while an attempt is due that nobody has
// made: of a process that was down, or behind a gate that was closed, for
// longer than the endpoint had left. What is then tried decides.
func TestTimeWaitsForWhatIsDue(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to time.Duration // nobody tries; an attempt was due in between
		before   []string      // told before that
		after    []string      // told once what is due was tried and failed
		state    string
	}{
		{"failing", 21 * time.Hour, 25 * time.Hour, nil, []string{"owner failing"}, "failing"},
		{"disabled", 69 * time.Hour, 73 * time.Hour, []string{"owner failing"}, []string{"owner failing", "owner disabled no_success"}, "disabled no_success"},
	} {
		for _, gate := range []bool{false, true} {
			for _, succeeds := range []bool{true, false} {
				name := c.name + map[bool]string{false: ", down", true: ", gate closed"}[gate] + map[bool]string{false: ", fails", true: ", succeeds"}[succeeds]
				t.Run(name, func(t *testing.T) {
					dbtest.Each(t, func(t *testing.T, d db.DB) {
						o := open(t, d)
						name := o.endpoint()
						status := 500
						o.answer = func(Message) Outcome {
							if status == 200 {
								return Outcome{Status: 200}
							}
							return Outcome{Status: status, Code: HTTPStatus}
						}
						courier, stop := o.courier()
						ids := o.events(2)
						o.idle(courier)
						left := c.from
						for _, gap := range gaps {
							gap = min(gap, left)
							left -= gap
							o.clock.Advance(gap)
							o.idle(courier)
						}
						if told := o.told(); !slices.Equal(told, c.before) {
							t.Fatalf("before, told %v", told)
						}
						if gate {
							o.set(access.OrganizationChange{Module: as("off")})
						} else {
							stop()
						}
						o.received()
						o.clock.Advance(c.to - c.from)
						if gate {
							o.idle(courier)
						}
						if succeeds { // from here on, before anything is sent
							status = 200
							// One of the two may not be had any more: it ends without an attempt.
							o.exec(`delete from contacts where organization = $1 and id = (select record_id from events where organization = $1 and id = $2)`, o.organization, ids[0])
						}
						if gate {
							o.set(access.OrganizationChange{Module: as("on")})
							o.clock.Advance(10 * time.Second)
						} else {
							courier, _ = o.courier()
						}
						o.idle(courier)
						state, told := c.state, c.after
						if succeeds {
							state, told = "active", c.before
						}
						if got := o.received(); len(got) == 0 || succeeds && !slices.Equal(got, ids[1:]) {
							t.Errorf("received %v", got)
						}
						if got := o.state(name); got != state {
							t.Errorf("%s, not %s", got, state)
						}
						if got := o.told(); !slices.Equal(got, told) {
							t.Errorf("told %v, not %v", got, told)
						}
					})
				})
			}
		}
	}
}

// A run of failures says nothing 48 hours after the last of them; the next failure
// begins another, of which there is a warning again.
func TestStaleRun(t *testing.T) {
	const hour, last = clock.Hour, 1000 * clock.Hour
	for _, gap := range []clock.Micros{staleRun, staleRun + 1} {
		lapsed := gap > staleRun
		h := health{status: Failing, failedSince: last - 30*hour, failures: 7, lastFailure: last}
		passed := h
		if passed.pass(last + gap); (passed.status == Disabled) == lapsed {
			t.Errorf("%d after the last failure time makes it %s", gap, passed.status)
		}
		h.failed(last+gap, false)
		want := health{status: Failing, failedSince: last - 30*hour, failures: 8, lastFailure: last + gap}
		if lapsed {
			want = health{status: Active, failedSince: last + gap, failures: 1, lastFailure: last + gap}
		}
		if h != want {
			t.Errorf("a failure %d after the last makes %+v", gap, h)
		}
		if !lapsed {
			continue
		}
		began := h.failedSince
		if at := h.deadline(began); at != began+failingAfter {
			t.Errorf("the next deadline is %d after", at-began)
		}
		for _, c := range []struct {
			after clock.Micros
			want  Status
		}{{failingAfter - 1, Active}, {failingAfter, Failing}, {staleRun, Failing}, {staleRun + 1, Active}, {disabledAfter, Active}} {
			later := h
			if later.pass(began + c.after); later.status != c.want {
				t.Errorf("%d into the new run it is %s, not %s", c.after, later.status, c.want)
			}
		}
		gone := health{status: Failing, failedSince: last - 30*hour, lastFailure: last}
		if gone.failed(last+gap, true); gone.status != Disabled || gone.reason != Gone {
			t.Errorf("410 after a lapsed run makes %+v", gone)
		}
	}
}
