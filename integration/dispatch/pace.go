package dispatch

import (
	"time"

	"kartei/kit/clock"
)

// A backlog yields to API calls. While calls are served, deliveries older than backlogAge start at
// a limited rate, so that calls hardly take longer. Younger deliveries start at once.
//
// The rate is slowest deliveries a second at first. It doubles after each speedUp in which queues
// waited without a break. Otherwise a process with constant calls and more deliveries than slowest
// would never catch up.
const (
	backlogAge = 5 * time.Second
	slowest    = 500
	speedUp    = 5 * time.Minute
	// fastest is the maximum number of doublings. After them the rate is practically unlimited.
	fastest = 6
	// paceBreak is the time without a waiting queue after which the rate starts again at slowest.
	paceBreak = 10 * time.Second
	// paceBurst is the delay of a timer that later deliveries may make up for.
	paceBurst = 4 * time.Millisecond
)

// pace holds the queues whose next delivery yields to calls.
type pace struct {
	waiting fifo[endpointQueue]
	// next is the time when the next delivery may start.
	next clock.Micros
	// since is the time when queues began to wait without a break. last is the time when a queue
	// was last added.
	since, last clock.Micros
}

// yields adds a queue to the pace if its next delivery must yield to calls. It reports whether it
// has added the queue.
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
	q.inRunnable = true // the queue is in a list
	p.waiting.push(q)
	return true
}

// beginPaced starts deliveries at the current rate. If no calls are served, it starts all of them.
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

// share returns the number of deliveries that each waiting queue starts within half of
// visibilityFor.
func (p *pace) share() int {
	return max(1, int(slowest*(visibilityFor/2)/time.Second)/p.waiting.len())
}
