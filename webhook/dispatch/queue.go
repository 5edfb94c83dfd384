package dispatch

import (
	"time"

	"kartei/kit/clock"
	"kartei/webhook"
)

// endpointQueue is an endpoint that there is something to do for.
type endpointQueue struct {
	webhook.Address
	tenant *tenant
	window
	latency    time.Duration // of an attempt, about
	running    int
	unrecorded int
	ready      []*delivery
	polling    bool
	pollWanted bool // there may be something to take
	moreDue    bool // there is more due than the endpoint says
	saveCursor bool // its cursor is to be stored
	recheck    bool // its deliveries are to be asked for again
	gone       bool // its receiver answered 410, which is not stored yet
	newFirst   bool
	paused     bool
	notBefore  clock.Micros
	timer      clock.Micros
	scannedTo  clock.Micros
	lastUsed   clock.Micros
	inPolls    bool
	inRunnable bool
}

// tenant is an organization that has queues.
type tenant struct {
	organization int64
	queues       int
	changes      int // how often its endpoints were told to have changed
	running      int
	endpoints    int                 // that have something under way
	parked       fifo[endpointQueue] // wait for the organization's bound
	unrecorded   []*try              // wait to be stored
	inRecording  bool                // in the line of those, or being stored
}

// knownEndpoints are the endpoints that an organization was found to have.
type knownEndpoints struct {
	ids   []string
	until clock.Micros
}

// endpointQueue returns the queue of an endpoint.
func (d *Dispatcher) queueOf(a webhook.Address) *endpointQueue {
	q := d.queues[a]
	if q == nil {
		t := d.tenants[a.Organization]
		if t == nil {
			t = &tenant{organization: a.Organization}
			d.tenants[a.Organization] = t
		}
		t.queues++
		q = &endpointQueue{Address: a, tenant: t, window: newWindow(0), lastUsed: clock.Now(d.clock)}
		d.queues[a] = q
	}
	return q
}

// drop forgets a queue that has nothing under way.
func (d *Dispatcher) drop(q *endpointQueue) {
	if d.queues[q.Address] != q {
		return
	}
	delete(d.queues, q.Address)
	if q.tenant.queues--; q.tenant.queues == 0 {
		delete(d.tenants, q.Organization)
	}
}

// mayBegin reports whether a queue has a delivery to begin, as far as the queue itself says.
func (q *endpointQueue) mayBegin(now clock.Micros) bool {
	return len(q.ready) > 0 && q.running < q.size && q.notBefore <= now && !q.gone
}

// enqueue puts a queue into the lines that it belongs to.
func (d *Dispatcher) enqueue(q *endpointQueue) {
	now := clock.Now(d.clock)
	switch {
	case q.gone:
		return
	case q.notBefore > now:
		d.timers.set(q, q.notBefore)
		return
	}
	if len(q.ready) > 0 && q.running < q.size && !q.inRunnable && !q.recheck {
		q.inRunnable = true
		d.runnable.push(q)
	}
	if (q.pollWanted || q.recheck) && !q.polling && !q.inPolls && (q.recheck || d.room(q) > 0) {
		q.inPolls = true
		d.polls.push(q)
	}
}

// room returns how many deliveries may be taken for a queue: so many that it
// need not wait for the next look, as long as its receiver answers fast.
func (d *Dispatcher) room(q *endpointQueue) int {
	has := q.running + len(q.ready)
	switch {
	case d.ending, q.unrecorded >= maxUnrecorded, has > 0 && !d.admits(q):
		return 0
	case q.failures > failuresUntilPause:
		return max(0, 1-has)
	}
	ahead := 1
	switch {
	case q.latency > 500*time.Millisecond, d.held > 2*maxRunning:
		ahead = 0
	case q.latency > 0 && q.latency < 100*time.Millisecond:
		ahead = 4
	}
	full := q.size * (1 + ahead)
	if d.pace.waiting.len() > 0 {
		full = min(full, d.pace.share())
	}
	if 2*has > full {
		return 0
	}
	return full - has
}

// admits reports whether the bounds let one more attempt of a queue begin.
func (d *Dispatcher) admits(q *endpointQueue) bool {
	t := q.tenant
	switch {
	case d.crowded(t):
		return false
	case q.running == 0:
		return t.endpoints < maxTenantEndpoints
	}
	return t.running-t.endpoints < maxPerTenant
}

// crowded reports whether the process has too much under way for one more of a tenant.
func (d *Dispatcher) crowded(t *tenant) bool {
	return d.running >= maxRunning || d.running >= maxRunning-reserved && t.running >= fewRunning
}

// park has a queue wait until an attempt ends that keeps it from its own.
func (d *Dispatcher) park(q *endpointQueue) {
	q.inRunnable = true // it is in a line
	if d.crowded(q.tenant) {
		d.parked.push(q)
	} else {
		q.tenant.parked.push(q)
	}
}

// unpark has the first queue try again that can begin: an attempt that ended
// leaves room for one. So of thousands that wait each end touches one, and not
// all. Those before it that have to be looked at first, or have nothing left, wait no more.
func (d *Dispatcher) unpark(parked *fifo[endpointQueue], now clock.Micros) {
	for range parked.len() {
		q := parked.pop()
		if !d.admits(q) {
			parked.push(q)
			continue
		}
		q.inRunnable = false
		d.enqueue(q)
		if q.mayBegin(now) && q.ready[0].fresh(now) {
			return
		}
	}
}
