package webhook

import (
	"math/rand/v2"
	"testing"

	"kartei/kit/clock"
	"kartei/test/seed"
)

// TestPauseBetweenFailures checks that the 72 hours are counted from the first failure since the
// last success. A pause without attempts does not restart the count. The attempt after the pause
// decides.
func TestPauseBetweenFailures(t *testing.T) {
	const hour, first = clock.Hour, 1000 * clock.Hour
	for _, c := range []struct {
		second clock.Micros
		want   Status
	}{
		{failingAfter - 1, Active}, {failingAfter, Failing}, {quietAfter, Failing}, {quietAfter + 1, Failing},
		{disabledAfter - 1, Failing},
		{disabledAfter, Disabled}, {73 * hour, Disabled}, {30 * 24 * hour, Disabled},
	} {
		h := Health{Status: Active}
		h.Failed(first, false)
		h.Elapse(first)
		if at := h.deadline(first); at != first+failingAfter {
			t.Errorf("the first deadline is %d after the failure", at-first)
		}
		quiet := h
		if quiet.Elapse(first + c.second); c.second > quietAfter && quiet.Status != Active {
			t.Errorf("%d without an attempt makes it %s", c.second, quiet.Status)
		}
		h.Failed(first+c.second, false)
		h.Elapse(first + c.second)
		if h.Status != c.want || h.FailedSince != first || h.Failures != 2 || h.Status == Disabled && h.Reason != NoSuccess {
			t.Errorf("a second failure %d after the first makes %+v", c.second, h)
		}
		if h.Status == Disabled {
			continue
		}
		h.Succeeded(first + c.second + 1)
		h.Failed(first+c.second+hour, false)
		h.Elapse(first + c.second + hour)
		if h.Status != Active || h.FailedSince != first+c.second+hour || h.Failures != 1 {
			t.Errorf("a failure after a success makes %+v", h)
		}
	}
}

// TestStatesAreTheContracts checks the states against the contract ('States and transitions') in
// random histories.
func TestStatesAreTheContracts(t *testing.T) {
	steps := []clock.Micros{1, clock.Minute, clock.Hour, 6 * clock.Hour, 12 * clock.Hour, failingAfter - 1,
		failingAfter, 26 * clock.Hour,
		quietAfter, quietAfter + 1, disabledAfter, 7 * clock.Day}
	seen := map[string]int{}
	number := seed.Of(t)
	for history := range uint64(4000) {
		random := rand.New(rand.NewPCG(number, history))
		now, h := 1000*clock.Day, Health{Status: Active}
		first := clock.Micros(0) // the time of the first failure since the last success
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
					first = 0
				}
			case "failure", "gone":
				if first == 0 {
					first = now
				}
				h.Failed(now, what == "gone")
				h.Elapse(now)
			case "time":
				h.Elapse(now)
			}
			bad := func(sentence string) {
				t.Fatalf("history %d, step %d, %s: %s: %+v became %+v, %v after the first failure", history, step, what,
					sentence, was, h, now.Sub(first))
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
			case what == "failure" && now-first >= disabledAfter && h.Status != Disabled:
				bad("72 hours of attempts without success disable")
			case what == "failure" && now-first >= failingAfter && h.Status == Active:
				bad("24 hours of attempts without success make it fail")
			}
		}
	}
	for _, want := range []string{"failing failure failing ", "failing success active ",
		"failing failure disabled no_success",
		"active gone disabled gone", "active time failing ", "failing time disabled no_success"} {
		if seen[want] < 10 {
			t.Errorf("%q happened %d times: the histories show too little", want, seen[want])
		}
	}
}
