package webhook

import (
	"context"
	"strconv"
	"testing"
	"time"

	"kartei/event"
	"kartei/kit/clock"
)

// A backlog gives way to calls, in the pace that is promised; what is new does
// not, and neither does anything once there are no calls.
func TestBacklogGivesWay(t *testing.T) {
	fake := clock.NewFake(begin)
	calls := true
	var c *Courier
	add := func(name string, age time.Duration, n int) *lane {
		l := c.lane(address{1, name})
		l.size = n
		for range n {
			now := clock.Now(fake)
			l.ready = append(l.ready, &delivery{
				lane: l, event: event.Event{CreatedAt: now.Add(-age)}, to: &target{}, asked: now.Add(time.Hour), until: now.Add(time.Hour),
			})
		}
		c.held += n
		c.consider(l)
		return l
	}
	open := func() {
		c = NewCourier(Options{Clock: fake, Calls: func() bool { return calls }})
		c.Send = func(context.Context, Message) Outcome { return Outcome{Status: 200} }
		c.attempts, c.sweeping = t.Context(), true
		t.Cleanup(c.ground.Wait)
	}
	// begun runs the loop for a while, and returns how many of a lane began meanwhile.
	begun := func(l *lane, d time.Duration) int {
		before := len(l.ready)
		for end := clock.Now(fake).Add(d); clock.Now(fake) < end; {
			next := min(end, c.dispatch())
			fake.Advance(max(time.Microsecond, next.Sub(clock.Now(fake))))
		}
		return before - len(l.ready)
	}

	open()
	old := add("old", time.Minute, 90)
	if n := begun(old, 100*time.Millisecond); n < 45 || n > 55 {
		t.Errorf("%d of a backlog began in 100 ms beside calls", n)
	}
	fresh := add("fresh", time.Second, 20)
	c.dispatch()
	if fresh.running != 20 {
		t.Errorf("%d of 20 new ones began at once", fresh.running)
	}
	calls = false
	c.dispatch()
	if old.running != 90 {
		t.Errorf("%d of the backlog began without calls", old.running)
	}

	calls = true
	open()
	// What always has something that waits goes faster and faster.
	for i := range 110 {
		add(strconv.Itoa(i), time.Minute, 1)
		fake.Advance(6 * time.Second)
		c.dispatch()
	}
	if n := begun(add("then", time.Minute, 100), 40*time.Millisecond); n < 70 {
		t.Errorf("%d began in 40 ms after ten minutes", n)
	}
}
