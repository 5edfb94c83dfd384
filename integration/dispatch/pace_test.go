package dispatch

import (
	"context"
	"strconv"
	"testing"
	"time"

	"kartei/integration/event"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/test/endpointtest"
)

// TestBacklogGivesWay checks that a backlog starts at the documented rate while calls are served.
// New deliveries start at once. If no calls are served, all deliveries start at once.
func TestBacklogGivesWay(t *testing.T) {
	fake := clock.NewFake(endpointtest.Begin)
	calls := true
	var disp *Dispatcher
	add := func(name string, age time.Duration, n int) *endpointQueue {
		q := disp.queueOf(webhook.Address{Organization: 1, ID: name})
		q.size = n
		for range n {
			now := clock.Now(fake)
			q.ready = append(q.ready, &delivery{
				queue: q, event: event.Event{CreatedAt: now.Add(-age)}, target: &target{}, checkedAt: now.Add(time.Hour),
				leaseEnd: now.Add(time.Hour),
			})
		}
		disp.held += n
		disp.enqueue(q)
		return q
	}
	open := func() {
		disp = New(Options{Clock: fake, Calls: func() bool { return calls }})
		disp.Send = func(context.Context, Message) Outcome { return Outcome{Status: 200} }
		disp.attempts, disp.sweeping = t.Context(), true
		t.Cleanup(disp.workers.Wait)
	}
	// begun runs the loop for the duration d, and returns the number of deliveries of q that
	// started.
	begun := func(q *endpointQueue, d time.Duration) int {
		before := len(q.ready)
		for end := clock.Now(fake).Add(d); clock.Now(fake) < end; {
			next := min(end, disp.step())
			fake.Advance(max(time.Microsecond, next.Sub(clock.Now(fake))))
		}
		return before - len(q.ready)
	}

	open()
	old := add("old", time.Minute, 90)
	if n := begun(old, 100*time.Millisecond); n < 45 || n > 55 {
		t.Errorf("%d of a backlog began in 100 ms beside calls", n)
	}
	fresh := add("fresh", time.Second, 20)
	disp.step()
	if fresh.running != 20 {
		t.Errorf("%d of 20 new ones began at once", fresh.running)
	}
	calls = false
	disp.step()
	if old.running != 90 {
		t.Errorf("%d of the backlog began without calls", old.running)
	}

	calls = true
	open()
	// The rate rises while there is a backlog all the time.
	for i := range 110 {
		add(strconv.Itoa(i), time.Minute, 1)
		fake.Advance(6 * time.Second)
		disp.step()
	}
	if n := begun(add("then", time.Minute, 100), 40*time.Millisecond); n < 70 {
		t.Errorf("%d began in 40 ms after ten minutes", n)
	}
}
