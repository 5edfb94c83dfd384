package dispatch

import (
	"time"

	"kartei/integration/webhook"
	"kartei/kit/clock"
)

// endpointQueue is the queue of an endpoint with work to do.
type endpointQueue struct {
	webhook.Address
	tenant *tenant
	window
	latency    time.Duration // moving average of attempts
	running    int
	unrecorded int
	ready      []*delivery
	polling    bool
	pollWanted bool // there may be deliveries to claim
	moreDue    bool // more deliveries are due than the endpoint says
	saveCursor bool // the cursor must be stored
	recheck    bool // the visibility of ready deliveries must be checked again
	gone       bool // the receiver answered 410, not recorded yet
	newFirst   bool
	paused     bool
	notBefore  clock.Micros
	timer      clock.Micros
	scannedTo  clock.Micros
	lastUsed   clock.Micros
	inPolls    bool
	inRunnable bool
}

// tenant is an organization with queues.
type tenant struct {
	organization int64
	queues       int
	changes      int // the number of notified changes of its endpoints
	running      int
	endpoints    int                 // with attempts running
	parked       fifo[endpointQueue] // waiting for the bound of the organization
	unrecorded   []*try              // waiting to be recorded
	beingStored  int                 // tries that are being recorded
	inRecording  bool                // queued for recording, or being recorded
	recordTime   time.Duration       // moving average for one try
}

// smallBatch is the least number of tries among which the time of a transaction is
// divided. A transaction of one try takes about as long as one of 32.
const smallBatch = 32

// stored notes how long it took to record tries.
func (t *tenant) stored(tries int, took time.Duration) {
	t.beingStored = 0
	one := took / time.Duration(max(tries, smallBatch))
	if t.recordTime == 0 {
		t.recordTime = one
	}
	t.recordTime = (3*t.recordTime + one) / 4
}

// isBehind reports whether the database records the organization's outcomes so
// slowly that another one could be too late: half of leaseMargin would pass until
// all were recorded. Attempts that cannot be recorded are made again.
func (t *tenant) isBehind() bool {
	return time.Duration(t.running+len(t.unrecorded)+t.beingStored)*t.recordTime > leaseMargin/2
}

// knownEndpoints is the cached list of an organization's endpoints.
type knownEndpoints struct {
	ids   []string
	until clock.Micros
}

// queueOf returns the queue of an endpoint.
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

// drop removes a queue with nothing running.
func (d *Dispatcher) drop(q *endpointQueue) {
	if d.queues[q.Address] != q {
		return
	}
	delete(d.queues, q.Address)
	if q.tenant.queues--; q.tenant.queues == 0 {
		delete(d.tenants, q.Organization)
	}
}

// mayBegin reports whether the queue itself permits its next delivery to begin.
func (q *endpointQueue) mayBegin(now clock.Micros) bool {
	return len(q.ready) > 0 && q.running < q.size && q.notBefore <= now && !q.gone
}

// enqueue adds a queue to the lists that it belongs to.
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

// room returns how many deliveries may be claimed for a queue. If the receiver
// answers fast, the queue has enough until the next poll.
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

// admits reports whether the bounds permit another attempt of a queue.
func (d *Dispatcher) admits(q *endpointQueue) bool {
	t := q.tenant
	switch {
	case d.crowded(t), t.isBehind():
		return false
	case q.running == 0:
		return t.endpoints < maxTenantEndpoints
	}
	return t.running-t.endpoints < maxPerTenant
}

// crowded reports whether the bound of the process stops another attempt of a
// tenant.
func (d *Dispatcher) crowded(t *tenant) bool {
	return d.running >= maxRunning || d.running >= maxRunning-reserved && t.running >= fewRunning
}

// park makes a queue wait until another attempt ends, or outcomes are recorded, and
// leaves room.
func (d *Dispatcher) park(q *endpointQueue) {
	q.inRunnable = true // it is in a list
	if d.crowded(q.tenant) {
		d.parked.push(q)
	} else {
		q.tenant.parked.push(q)
	}
}

// unpark enqueues the first parked queue that can begin, because an ended
// attempt leaves room for one, and reports whether there is one. Of thousands that
// wait, each end therefore touches only one. Queues before it that need a poll
// first, or have nothing left, leave the list.
func (d *Dispatcher) unpark(parked *fifo[endpointQueue], now clock.Micros) bool {
	for range parked.len() {
		q := parked.pop()
		if !d.admits(q) {
			parked.push(q)
			continue
		}
		q.inRunnable = false
		d.enqueue(q)
		if q.mayBegin(now) && q.ready[0].fresh(now) {
			return true
		}
	}
	return false
}
