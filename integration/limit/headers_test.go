package limit

import (
	"testing"
	"time"

	"kartei/kit/clock"

	"github.com/dunglas/httpsfv"
)

// TestHeadersAreStructuredFields checks that a library for structured fields can parse the headers,
// and that their values equal the statuses.
func TestHeadersAreStructuredFields(t *testing.T) {
	c := clock.NewFake(start)
	l := New(Config{Metered: true}, c)
	charge := Charge{Organization: 1, Principal: "usr_a", Key: "key_a", Points: 10, Write: true, Delete: true, Reads: true}
	for range 20 {
		d := take(t, l, charge)
		c.Advance(350 * time.Millisecond)
		rateLimit, policy := Headers(d.Statuses)
		limits, policies := parse(t, rateLimit), parse(t, policy)
		if len(limits) != 1 || len(policies) != len(d.Statuses) {
			t.Fatalf("%s | %s", rateLimit, policy)
		}
		first := d.Statuses[0]
		if limits[0].Value != first.Name || param(limits[0], "r") != first.Remaining ||
			param(limits[0], "t") != first.ResetSeconds() {
			t.Errorf("%s for %+v", rateLimit, first)
		}
		for i, s := range d.Statuses {
			if policies[i].Value != s.Name || param(policies[i], "q") != s.Quota ||
				param(policies[i], "w") != int64(s.Window/time.Second) {
				t.Errorf("%s for %+v", policy, s)
			}
		}
		if len(parse(t, d.PolicyHeader)) != len(policies) {
			t.Errorf("%s differs from %s", d.PolicyHeader, policy)
		}
	}
}

func TestHeadersOfNothing(t *testing.T) {
	if rateLimit, policy := Headers(nil); rateLimit != "" || policy != "" {
		t.Errorf("%q, %q", rateLimit, policy)
	}
}

func TestResetSecondsRoundsUp(t *testing.T) {
	for d, want := range map[time.Duration]int64{0: 0, time.Microsecond: 1, time.Second: 1, time.Second + 1: 2} {
		if s := (&Status{Reset: d}).ResetSeconds(); s != want {
			t.Errorf("%v: %d, want %d", d, s, want)
		}
	}
}

func parse(t *testing.T, header string) []httpsfv.Item {
	t.Helper()
	list, err := httpsfv.UnmarshalList([]string{header})
	if err != nil {
		t.Fatalf("%s: %v", header, err)
	}
	var items []httpsfv.Item
	for _, m := range list {
		items = append(items, m.(httpsfv.Item))
	}
	return items
}

func param(i httpsfv.Item, name string) any {
	v, _ := i.Params.Get(name)
	return v
}
