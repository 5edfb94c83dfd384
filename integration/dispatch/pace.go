package dispatch

import (
	"time"

	"kartei/kit/clock"
)

// A backlog yields to API calls. While calls are served, deliveries older than
// backlogAge begin at a rate of slowest a second, so that calls hardly take
// longer. Younger ones are ordinary traffic and begin at once. The rate doubles
// with each speedUp without a break. A process with constant calls and more
// deliveries than that rate would otherwise never catch up.
const (
	backlogAge = 5 * time.Second
	slowest    = 500
	speedUp    = 5 * time.Minute
	// fastest bounds the doublings. At that rate there is practically no limit.
	fastest = 6
	// paceBreak is the time without a waiting queue after which the rate starts
	// over.
	paceBreak = 10 * time.Second
	// paceBurst is the delay of a late timer that may be made up for.
	paceBurst = 4 * time.Millisecond
)

// pace holds the queues whose next delivery yields to calls.
type pace struct {
	waiting fifo[endpointQueue]
	// next is when the next delivery may begin.
	next clock.Micros
	// since is when the present run of waiting began. last is when a queue was
	// last added.
	since, last clock.Micros
}

// yields adds a queue to the pace if its next delivery must yield to calls, and
// reports whether it did.
func (d *Dispatcher) yields(q *endpointQueue, now clock.Micros) bool {
	if len(q.ready) == 0 || q.running >= q.size || now.Sub(q.ready[0].event.CreatedAt) < backlogAge || d.ending ||
		!d.Calls() {
		return false
	}
	p := &d.pace
	if now.Sub(p.last) > paceBreak {
		p.since = now
	}
	p.last = now
	q.inRunnable = true // it is in a list
	p.waiting.push(q)
	return true
}

// beginPaced begins deliveries at the present rate, or all of them if no calls
// are served.
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

// share returns how many deliveries each waiting queue begins in half the time
// that a visibility check is valid.
func (p *pace) share() int {
	return max(1, int(slowest*(visibilityFor/2)/time.Second)/p.waiting.len())
}
