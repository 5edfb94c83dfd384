package id

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTime(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	at := Time(New(Request))
	if after := time.Now(); at.Before(before) || at.After(after) {
		t.Errorf("%v is not between %v and %v", at, before, after)
	}
	var last [16]byte
	for i := range 6 {
		last[i] = 0xff
	}
	if at := Time(Encode(Request, last)).UnixMilli(); at != 1<<48-1 {
		t.Errorf("%d", at)
	}
}

func TestAt(t *testing.T) {
	at := time.Date(2026, 11, 2, 9, 0, 0, 123_000_000, time.UTC)
	former := ""
	for range 100 { // all in one millisecond
		one := At(Request, at)
		if !Valid(Request, one) || !Time(one).Equal(at) || one <= former {
			t.Fatalf("%s after %s tells %s, want %s", one, former, Time(one), at)
		}
		former = one
	}
	if earlier := At(Request, at.Add(-time.Hour)); !Time(earlier).Equal(at.Add(-time.Hour)) {
		t.Errorf("an earlier time is told as %s", Time(earlier))
	}
}

// TestExact checks that an identifier of Exact is a valid UUID of version 7. ExactTime must return
// its time to the microsecond, and identifiers must sort by their times.
func TestExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(0, 1<<48*1000-1)
		a, b := time.UnixMicro(at.Draw(t, "a")), time.UnixMicro(at.Draw(t, "b"))
		one, other := Exact(Event, a), Exact(Event, b)
		if !Valid(Event, one) || !ExactTime(one).Equal(a) || Time(one).UnixMilli() != a.UnixMilli() {
			t.Fatalf("%s of %s tells %s", one, a, ExactTime(one))
		}
		if !a.Equal(b) && a.Before(b) != (one < other) {
			t.Fatalf("%s and %s are not in the order of %s and %s", one, other, a, b)
		}
		if again := Exact(Event, a); again == one {
			t.Fatalf("%s twice", one)
		}
	})
}
