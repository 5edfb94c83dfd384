package dispatch

import (
	"time"

	"kartei/integration/webhook"
	"kartei/kit/clock"
)

// endpointQueue has the claimed deliveries of one endpoint.
type endpointQueue struct {
	webhook.Address
	tenant *tenant
	window
	latency    time.Duration // moving average of the durations of attempts
	running    int
	unrecorded int
	ready      []*delivery
	polling    bool
	pollWanted bool // there may be deliveries to claim
	moreDue    bool // more deliveries are due than the endpoint's due time says
	saveCursor bool // the next poll must store the cursor
	recheck    bool // the next poll must check the visibility of ready again
	gone       bool // the receiver responded 410, which is not recorded yet
	newFirst   bool
	paused     bool
	notBefore  clock.Micros
	timer      clock.Micros
	scannedTo  clock.Micros
	lastUsed   clock.Micros
	inPolls    bool
	inRunnable bool
}

// tenant is the state of an organization that has queues.
type tenant struct {
	organization int64
	queues       int
	changes      int // the number of notified changes of its endpoints
	running      int
	endpoints    int                 // the number of endpoints with running attempts
	parked       fifo[endpointQueue] // queues that wait because the organization's bound is reached
	unrecorded   []*try              // tries that wait to be recorded
	beingStored  int                 // the number of tries that are being recorded
	inRecording  bool                // set while the tenant is queued for recording, or is recorded
	recordTime   time.Duration       // moving average of the time to record one try
}

// smallBatch is the smallest number by which the time of a transaction is divided to get the time
// of one try. A transaction of one try takes about as long as a transaction of 32 tries.
const smallBatch = 32

// stored updates recordTime after a transaction that recorded tries. took is the duration of the
// transaction.
func (t *tenant) stored(tries int, took time.Duration) {
	t.beingStored = 0
	one := took / time.Duration(max(tries, smallBatch))
	if t.recordTime == 0 {
		t.recordTime = one
	}
	t.recordTime = (3*t.recordTime + one) / 4
}

// isBehind reports whether the database records the organization's tries too slowly for another
// attempt. Recording all of them would then take half of leaseMargin. An attempt is repeated if it
// is not recorded in time.
func (t *tenant) isBehind() bool {
	return time.Duration(t.running+len(t.unrecorded)+t.beingStored)*t.recordTime > leaseMargin/2
}

// knownEndpoints is the cached list of an organization's endpoints. until is the end of its
// validity.
type knownEndpoints struct {
	ids   []string
	until clock.Micros
}

// queueOf returns the queue of an endpoint. If there is none, queueOf creates it.
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

// drop removes a queue that has no work.
func (d *Dispatcher) drop(q *endpointQueue) {
	if d.queues[q.Address] != q {
		return
	}
	delete(d.queues, q.Address)
	if q.tenant.queues--; q.tenant.queues == 0 {
		delete(d.tenants, q.Organization)
	}
}

// mayBegin reports whether the state of the queue permits its next delivery to start.
func (q *endpointQueue) mayBegin(now clock.Micros) bool {
	return len(q.ready) > 0 && q.running < q.size && q.notBefore <= now && !q.gone
}

// enqueue adds a queue to each list for which it has work.
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

// room returns the number of deliveries that a poll may claim for a queue. If the receiver responds
// quickly, the queue gets enough deliveries to last until the next poll.
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

// crowded reports whether maxRunning forbids another attempt of the tenant.
func (d *Dispatcher) crowded(t *tenant) bool {
	return d.running >= maxRunning || d.running >= maxRunning-reserved && t.running >= fewRunning
}

// park adds a queue to a list of parked queues. The queue waits there until an attempt ends or
// tries are recorded.
func (d *Dispatcher) park(q *endpointQueue) {
	q.inRunnable = true // the queue is in a list
	if d.crowded(q.tenant) {
		d.parked.push(q)
	} else {
		q.tenant.parked.push(q)
	}
}

// unpark enqueues the first parked queue whose next delivery can start. It reports whether there is
// such a queue. Each ended attempt makes room for one attempt, so it must not touch thousands of
// parked queues. unpark also enqueues the queues before it that need a poll or have no deliveries.
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
