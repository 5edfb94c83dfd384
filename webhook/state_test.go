package webhook

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/test/dbtest"
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

// A run of failures says nothing 48 hours after the last of them: the next failure
// begins another, and 72 hours of it disable. A failing endpoint stays failing.
func TestStaleRun(t *testing.T) {
	const hour, last = clock.Hour, 1000 * clock.Hour
	for _, before := range []Status{Active, Failing} {
		for _, gap := range []clock.Micros{staleRun, staleRun + 1} {
			lapsed := gap > staleRun
			h := health{status: before, failedSince: last - 30*hour, failures: 7, lastFailure: last}
			passed := h
			if passed.pass(last + gap); (passed.status == Disabled) == lapsed {
				t.Errorf("%d after the last failure time makes it %s", gap, passed.status)
			}
			h.failed(last+gap, false)
			want := health{status: before, failedSince: last - 30*hour, failures: 8, lastFailure: last + gap}
			if lapsed {
				want.failedSince, want.failures = last+gap, 1
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
			}{{failingAfter - 1, before}, {failingAfter, Failing}, {staleRun, Failing}, {staleRun + 1, before}, {disabledAfter, before}} {
				later := h
				if later.pass(began + c.after); later.status != c.want {
					t.Errorf("%d into the new run it is %s, not %s", c.after, later.status, c.want)
				}
			}
			later := h
			for later.lastFailure < began+disabledAfter {
				later.failed(later.lastFailure+clock.Day, false)
			}
			if later.pass(later.lastFailure); later.status != Disabled || later.reason != NoSuccess {
				t.Errorf("72 hours of the new run make %+v", later)
			}
			gone := health{status: before, failedSince: last - 30*hour, lastFailure: last}
			if gone.failed(last+gap, true); gone.status != Disabled || gone.reason != Gone {
				t.Errorf("410 after a lapsed run makes %+v", gone)
			}
		}
	}
}

// TestStatesAreTheContracts holds the states against the contract's sentences
// ('States and transitions') and nothing else, over random histories.
func TestStatesAreTheContracts(t *testing.T) {
	steps := []clock.Micros{1, clock.Minute, clock.Hour, 6 * clock.Hour, 12 * clock.Hour, failingAfter - 1, failingAfter, 26 * clock.Hour,
		staleRun, staleRun + 1, disabledAfter, 7 * clock.Day}
	seen := map[string]int{}
	for seed := range uint64(4000) {
		random := rand.New(rand.NewPCG(seed, 3))
		now, h := 1000*clock.Day, health{status: Active}
		first, steady := clock.Micros(0), true // the first failure since the last success, and whether attempts were made all the time
		previous := now
		for step := range 40 {
			now += steps[random.IntN(len(steps))]
			was := h
			what := []string{"success", "failure", "failure", "failure", "failure", "gone", "time"}[random.IntN(7)]
			if what == "gone" && random.IntN(10) > 0 {
				what = "failure"
			}
			switch what {
			case "success":
				if h.succeeded(now); h.status != Disabled {
					first, steady = 0, true
				}
			case "failure", "gone":
				if first == 0 {
					first = now
				} else {
					steady = steady && now-previous <= 27*clock.Hour // the longest gap of the schedule and its tenth
				}
				previous = now
				h.failed(now, what == "gone")
				h.pass(now)
			case "time":
				h.pass(now)
			}
			bad := func(sentence string) {
				t.Fatalf("seed %d, step %d, %s: %s: %+v became %+v, %v after the first failure", seed, step, what, sentence, was, h, now.Sub(first))
			}
			seen[string(was.status)+" "+what+" "+string(h.status)+" "+string(h.reason)]++
			switch {
			case was.status == Disabled:
				if h != was {
					bad("what is disabled stays so until it is enabled")
				}
				continue
			case what == "success" && h.status != Active:
				bad("a success makes it active")
			case was.status == Failing && h.status == Active && what != "success":
				bad("only a success makes what fails active")
			case was.status == Active && h.status == Failing && (first == 0 || now-first < failingAfter):
				bad("it fails after 24 hours without success, not before")
			case what == "gone" && (h.status != Disabled || h.reason != Gone):
				bad("410 disables at once")
			case h.reason == NoSuccess && (h.status != Disabled || first == 0 || now-first < disabledAfter):
				bad("it is disabled after 72 hours without success, not before")
			case h.reason == Gone && what != "gone":
				bad("nothing but 410 says that the receiver is gone")
			case what == "failure" && steady && now-first >= disabledAfter && h.status != Disabled:
				bad("72 hours of attempts without success disable")
			case what == "failure" && steady && now-first >= failingAfter && h.status == Active:
				bad("24 hours of attempts without success make it fail")
			}
		}
	}
	for _, want := range []string{"failing failure failing ", "failing success active ", "failing failure disabled no_success",
		"active gone disabled gone", "active time failing ", "failing time disabled no_success"} {
		if seen[want] < 10 {
			t.Errorf("%q happened %d times: the histories show too little", want, seen[want])
		}
	}
}

// A failing endpoint that nobody tried for more than 48 hours, because its
// organization's API was off, stays failing when the next attempt fails. The owner
// hears of the end of 72 more hours, and of nothing in between.
func TestFailingStaysFailingAfterSilence(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		name := o.endpoint()
		o.answer = func(Message) Outcome { return Outcome{Status: 500, Code: HTTPStatus} }
		courier, _ := o.courier()
		o.event()
		o.idle(courier)
		for _, gap := range gaps[:8] { // more than 24 hours
			o.clock.Advance(gap)
			o.idle(courier)
		}
		if got := o.state(name); got != "failing" {
			t.Fatalf("%s after the first run", got)
		}
		o.set(access.OrganizationChange{Module: as("off")})
		for range 5 {
			o.clock.Advance(24 * time.Hour)
			o.idle(courier)
		}
		o.received()
		o.set(access.OrganizationChange{Module: as("on")})
		o.clock.Advance(10 * time.Second)
		o.idle(courier)
		if got := o.state(name); got != "failing" || len(o.received()) == 0 {
			t.Fatalf("%s after the failure that followed the silence", got)
		}
		if told := o.told(); !slices.Equal(told, []string{"owner failing"}) {
			t.Errorf("told %v", told)
		}
		for range 4 {
			o.event()
			o.clock.Advance(23 * time.Hour)
			o.idle(courier)
		}
		if got, told := o.state(name), o.told(); got != "disabled no_success" || !slices.Equal(told, []string{"owner failing", "owner disabled no_success"}) {
			t.Errorf("%s after 72 more hours, told %v", got, told)
		}
	})
}
