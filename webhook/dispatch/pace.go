package dispatch

import (
	"time"

	"kartei/kit/clock"
)

// While calls are answered a backlog gives way to them: what is older than
// backlogAge begins one after the other, slowest a second, so that calls take
// hardly longer. What is younger begins at once, since it is the order of the day and
// not a backlog. So that a process which always has calls and more to deliver
// than that does not fall behind for ever, the pace doubles with each speedUp
// for which it was kept without a break.
const (
	backlogAge = 5 * time.Second
	slowest    = 500
	speedUp    = 5 * time.Minute
	// fastest is how often it doubles at most: then it is none any more.
	fastest = 6
	// paceBreak is how long nothing waited where the next begins anew.
	paceBreak = 10 * time.Second
	// paceBurst is what a timer that rang late may make up for.
	paceBurst = 4 * time.Millisecond
)

// pace is the line of the queues whose next delivery is of a backlog that gives
// way to calls.
type pace struct {
	waiting fifo[endpointQueue]
	// next is when the next may begin.
	next clock.Micros
	// since is when it began that something waits, and last when last something
	// came into the line.
	since, last clock.Micros
}

// yields puts a queue into the line where its next delivery is to give way to calls.
func (d *Dispatcher) yields(q *endpointQueue, now clock.Micros) bool {
	if len(q.ready) == 0 || q.running >= q.size || now.Sub(q.ready[0].event.CreatedAt) < backlogAge || d.ending || !d.Calls() {
		return false
	}
	p := &d.pace
	if now.Sub(p.last) > paceBreak {
		p.since = now
	}
	p.last = now
	q.inRunnable = true // it is in a line
	p.waiting.push(q)
	return true
}

// beginPaced begins what has given way for long enough, and all of it once there
// are no calls.
func (d *Dispatcher) beginPaced(now clock.Micros) {
	p := &d.pace
	interval := clock.Micros(time.Second.Microseconds() / slowest >> min(now.Sub(p.since)/speedUp, fastest))
	for p.waiting.len() > 0 && (p.next <= now || d.ending || !d.Calls()) {
		q := p.waiting.pop()
		q.inRunnable = false
		p.next = max(p.next, now.Add(-paceBurst)) + interval
		if d.beginNext(q, now) {
			d.enqueue(q)
		}
	}
}

// share is how many deliveries one of the queues in the line has begun within
// half the time for which it is known whether a delivery may be made.
func (p *pace) share() int {
	return max(1, int(slowest*(visibilityFor/2)/time.Second)/p.waiting.len())
}
