package webhook

import (
	"math/rand/v2"
	"testing"

	"kartei/kit/clock"
	"kartei/test/seed"
)

// A run of failures is stale 48 hours after its last failure. The next failure
// begins a new run, and 72 hours of that disable the endpoint. A failing
// endpoint stays failing.
func TestStaleRun(t *testing.T) {
	const hour, last = clock.Hour, 1000 * clock.Hour
	for _, before := range []Status{Active, Failing} {
		for _, gap := range []clock.Micros{staleRun, staleRun + 1} {
			lapsed := gap > staleRun
			h := Health{Status: before, FailedSince: last - 30*hour, Failures: 7, LastFailure: last}
			passed := h
			if passed.Elapse(last + gap); (passed.Status == Disabled) == lapsed {
				t.Errorf("%d after the last failure time makes it %s", gap, passed.Status)
			}
			h.Failed(last+gap, false)
			want := Health{Status: before, FailedSince: last - 30*hour, Failures: 8, LastFailure: last + gap}
			if lapsed {
				want.FailedSince, want.Failures = last+gap, 1
			}
			if h != want {
				t.Errorf("a failure %d after the last makes %+v", gap, h)
			}
			if !lapsed {
				continue
			}
			began := h.FailedSince
			if at := h.deadline(began); at != began+failingAfter {
				t.Errorf("the next deadline is %d after", at-began)
			}
			for _, c := range []struct {
				after clock.Micros
				want  Status
			}{{failingAfter - 1, before}, {failingAfter, Failing}, {staleRun, Failing}, {staleRun + 1, before}, {disabledAfter, before}} {
				later := h
				if later.Elapse(began + c.after); later.Status != c.want {
					t.Errorf("%d into the new run it is %s, not %s", c.after, later.Status, c.want)
				}
			}
			later := h
			for later.LastFailure < began+disabledAfter {
				later.Failed(later.LastFailure+clock.Day, false)
			}
			if later.Elapse(later.LastFailure); later.Status != Disabled || later.Reason != NoSuccess {
				t.Errorf("72 hours of the new run make %+v", later)
			}
			gone := Health{Status: before, FailedSince: last - 30*hour, LastFailure: last}
			if gone.Failed(last+gap, true); gone.Status != Disabled || gone.Reason != Gone {
				t.Errorf("410 after a lapsed run makes %+v", gone)
			}
		}
	}
}

// The states follow the contract ('States and transitions') over random
// histories.
func TestStatesAreTheContracts(t *testing.T) {
	steps := []clock.Micros{1, clock.Minute, clock.Hour, 6 * clock.Hour, 12 * clock.Hour, failingAfter - 1, failingAfter, 26 * clock.Hour,
		staleRun, staleRun + 1, disabledAfter, 7 * clock.Day}
	seen := map[string]int{}
	number := seed.Of(t)
	for history := range uint64(4000) {
		random := rand.New(rand.NewPCG(number, history))
		now, h := 1000*clock.Day, Health{Status: Active}
		first, steady := clock.Micros(0), true // the first failure since the last success, and whether attempts were continuous
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
				if h.Succeeded(now); h.Status != Disabled {
					first, steady = 0, true
				}
			case "failure", "gone":
				if first == 0 {
					first = now
				} else {
					steady = steady && now-previous <= 27*clock.Hour // the longest gap of the schedule, with its tenth
				}
				previous = now
				h.Failed(now, what == "gone")
				h.Elapse(now)
			case "time":
				h.Elapse(now)
			}
			bad := func(sentence string) {
				t.Fatalf("history %d, step %d, %s: %s: %+v became %+v, %v after the first failure", history, step, what, sentence, was, h, now.Sub(first))
			}
			seen[string(was.Status)+" "+what+" "+string(h.Status)+" "+string(h.Reason)]++
			switch {
			case was.Status == Disabled:
				if h != was {
					bad("what is disabled stays so until it is enabled")
				}
				continue
			case what == "success" && h.Status != Active:
				bad("a success makes it active")
			case was.Status == Failing && h.Status == Active && what != "success":
				bad("only a success makes what fails active")
			case was.Status == Active && h.Status == Failing && (first == 0 || now-first < failingAfter):
				bad("it fails after 24 hours without success, not before")
			case what == "gone" && (h.Status != Disabled || h.Reason != Gone):
				bad("410 disables at once")
			case h.Reason == NoSuccess && (h.Status != Disabled || first == 0 || now-first < disabledAfter):
				bad("it is disabled after 72 hours without success, not before")
			case h.Reason == Gone && what != "gone":
				bad("nothing but 410 says that the receiver is gone")
			case what == "failure" && steady && now-first >= disabledAfter && h.Status != Disabled:
				bad("72 hours of attempts without success disable")
			case what == "failure" && steady && now-first >= failingAfter && h.Status == Active:
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
