// Package dispatch owns the sender of events to webhook endpoints: fan-out, queues, attempts, retries.
package dispatch

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"kartei/api/op"
	"kartei/integration/event"
	"kartei/integration/usage"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/kit/trace"
	"kartei/people/notify"
	"kartei/store/db"
)

// These constants bound a dispatcher.
const (
	// maxRunning is the maximum number of concurrent attempts of the process. maxPerTenant is the
	// maximum number of concurrent attempts of one organization. It does not count the first
	// attempt of each endpoint. So an endpoint that responds still gets attempts if many other
	// endpoints of its organization do not respond.
	//
	// maxTenantEndpoints is the maximum number of endpoints of an organization with running
	// attempts. The last quarter of maxRunning is reserved for organizations with less than
	// fewRunning attempts.
	maxRunning         = 2048
	maxPerTenant       = 128
	maxTenantEndpoints = 512
	reserved           = maxRunning / 4
	fewRunning         = 16
	// maxPolls is the maximum number of concurrent polls. maxRecorders is the maximum number of
	// concurrent transactions that record attempts.
	maxPolls, maxRecorders = 16, 8
	// recordBatch is the maximum number of tries that one transaction records.
	recordBatch = 256
	// maxUnrecorded is the number of unrecorded tries at which no more deliveries of an endpoint
	// are claimed.
	maxUnrecorded = 8 * maxWindow
	// sweepEvery is the interval of sweeps. A sweep finds work without a notification, such as
	// deliveries that other replicas left.
	sweepEvery = 2 * time.Second
	// sweepPause is the shortest time between two sweeps for due deliveries.
	sweepPause = 100 * time.Millisecond
	// sweepPage is the number of endpoints that one query of a sweep reads. sweepPages is the
	// maximum number of queries for due endpoints.
	sweepPage, sweepPages = 1000, 10
	// knownFor is the time for which the list of an organization's endpoints is cached. A
	// notification of a change ends it earlier.
	knownFor = 2 * time.Second
	// pollPause is the pause after a poll that found nothing. So events that an endpoint does not
	// subscribe to cost little.
	pollPause = 25 * time.Millisecond
	// idleFor is the time for which the queue of an idle endpoint is kept.
	idleFor = 30 * time.Second
	// visibilityFor is the time for which a visibility check permits attempts. A change by this
	// process ends it at once.
	visibilityFor = time.Second
	// leaseMargin is the time that must remain of a delivery's lease after an attempt. In this time
	// the outcome is recorded, before another process claims the delivery. It is longer than a lock
	// timeout of the database, which is 5 seconds, and the pause after it.
	leaseMargin = 8 * time.Second
	// afterFailure is the pause after an error of the database.
	afterFailure = time.Second
	// unreadableEvery is the interval of log lines about one unreadable secret.
	unreadableEvery = time.Minute
	// grace is the time that running attempts have at shutdown. lastTime is the time after that for
	// returning the other deliveries to the queue.
	grace, lastTime = 5 * time.Second, 3 * time.Second
)

// Options configure a Dispatcher.
type Options struct {
	DB    db.DB
	Clock clock.Clock
	// Vault decrypts the secrets of the endpoints.
	Vault masterkey.Vault
	// Families are the families of records whose events are delivered.
	Families []op.Family
	// Send makes one attempt. Outside of tests it is Sender.Attempt.
	Send func(context.Context, Message) Outcome
	// Notices sends notices to the owners of endpoints. Its Forms must include webhook.Forms.
	Notices *notify.Center
	Logger  *slog.Logger
	// Rand returns a random number in [0,n). nil means rand.Int64N.
	Rand func(n int64) int64
	// Calls reports whether the process is serving API calls. A backlog of deliveries then yields
	// to them. nil means that no calls are served.
	Calls func() bool
	// Attempted is called with the result of each attempt. Waited is called at the first attempt of
	// each delivery, with the time since the commit of the event. Both may be nil.
	Attempted func(result string)
	Waited    func(time.Duration)
	// Usage counts the attempts by hour. It may be nil.
	Usage *usage.Counter
	// Tracer records a span for an attempt if a traced call caused the event. It may be nil.
	Tracer *trace.Tracer
}

// Dispatcher makes the deliveries of all organizations. Any number of dispatchers may share a
// database.
type Dispatcher struct {
	Options
	states webhook.StateStore
	db     db.DB
	clock  clock.Clock
	log    *slog.Logger
	// inbox has functions that change the state of the loop. Only the goroutine of the loop touches
	// that state.
	inbox  chan func()
	signal chan struct{}

	mu sync.Mutex
	// notified has the organizations for which a notification has arrived. changed has the
	// organizations whose endpoints may have changed.
	notified, changed map[int64]bool

	// Only the goroutine of the loop uses the fields below.
	queues    map[webhook.Address]*endpointQueue
	tenants   map[int64]*tenant
	known     map[int64]knownEndpoints
	unknown   map[int64]bool      // organizations whose endpoints must be looked up
	polls     fifo[endpointQueue] // queues that need a poll
	runnable  fifo[endpointQueue] // queues with deliveries that may begin
	parked    fifo[endpointQueue] // queues that wait because maxRunning is reached
	pace      pace                // queues that yield to calls
	toRecord  fifo[tenant]        // organizations with tries to record
	timers    timers
	polling   int
	recording int
	running   int
	held      int // claimed deliveries and unrecorded tries
	lookingUp bool
	sweeping  bool
	sweptAt   clock.Micros // the time of the last sweep for due deliveries
	// unreadableLogged maps the id of an endpoint to the time of the last log line about its
	// unreadable secret.
	unreadableLogged map[string]clock.Micros
	behindAt         clock.Micros    // the time of the next sweep for endpoints behind
	nextDue          clock.Micros    // the earliest known due time
	sweepCursor      webhook.Address // where the next sweep for endpoints behind continues
	waiters          []chan struct{}
	idleCalls        int  // the number of calls of Idle, for tests
	sweepForced      bool // set if Idle needs a sweep
	ending           bool
	attempts         context.Context
	workers          sync.WaitGroup
}

// New returns a dispatcher. It makes deliveries while Run runs.
func New(o Options) *Dispatcher {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Rand == nil {
		o.Rand = rand.Int64N
	}
	if o.Calls == nil {
		o.Calls = func() bool { return false }
	}
	if o.Attempted == nil {
		o.Attempted = func(string) {}
	}
	if o.Waited == nil {
		o.Waited = func(time.Duration) {}
	}
	return &Dispatcher{
		Options: o, states: webhook.StateStore{Clock: o.Clock, Logger: o.Logger, Notices: o.Notices}, db: o.DB,
		clock: o.Clock, log: o.Logger,
		inbox: make(chan func(), 256), signal: make(chan struct{}, 1),
		notified: map[int64]bool{}, changed: map[int64]bool{},
		queues: map[webhook.Address]*endpointQueue{}, tenants: map[int64]*tenant{}, known: map[int64]knownEndpoints{},
		unknown:          map[int64]bool{},
		unreadableLogged: map[string]clock.Micros{},
	}
}

// Run makes deliveries until ctx ends. Then running attempts may go on for the grace period. Run
// returns all other claimed deliveries to the queue, where other processes find them.
func (d *Dispatcher) Run(ctx context.Context) {
	attempts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	d.attempts = attempts
	defer d.workers.Wait()
	defer d.db.SubscribeLocal(event.Topic, func(word string) { d.notify(word, false) })()
	defer d.db.SubscribeLocal(webhook.Topic, func(word string) { d.notify(word, true) })()
	for ctx.Err() == nil {
		d.takeNotified()
		next := d.step()
		select {
		case <-ctx.Done():
		case <-d.signal:
		case f := <-d.inbox:
			d.runInbox(f)
		case <-d.at(next):
		}
	}
	d.shutDown(cancel)
}

// at returns a channel that receives at the time t. It also receives if the clock passes t while at
// runs.
func (d *Dispatcher) at(t clock.Micros) <-chan time.Time {
	wake := d.clock.After(t.Sub(clock.Now(d.clock)))
	if clock.Now(d.clock) >= t {
		return d.clock.After(0)
	}
	return wake
}

// runInbox runs f and then the functions in the inbox.
func (d *Dispatcher) runInbox(f func()) {
	for f != nil {
		f()
		select {
		case f = <-d.inbox:
		default:
			f = nil
		}
	}
}

// notify stores a notification about an organization and wakes the loop. changed says that its
// endpoints may have changed. notify never blocks.
func (d *Dispatcher) notify(word string, changed bool) {
	organization, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return
	}
	d.mu.Lock()
	d.notified[organization] = true
	if changed {
		d.changed[organization] = true
	}
	d.mu.Unlock()
	select {
	case d.signal <- struct{}{}:
	default: // the loop already has a signal
	}
}

// takeNotified queues polls of the endpoints of the notified organizations.
func (d *Dispatcher) takeNotified() {
	d.mu.Lock()
	told, forget := d.notified, d.changed
	if len(told) > 0 {
		d.notified = map[int64]bool{}
	}
	if len(forget) > 0 {
		d.changed = map[int64]bool{}
	}
	d.mu.Unlock()
	for organization := range forget {
		delete(d.known, organization)
		if t := d.tenants[organization]; t != nil {
			t.changes++
		}
	}
	now := clock.Now(d.clock)
	for organization := range told {
		known, is := d.known[organization]
		if !is || known.until <= now {
			d.unknown[organization] = true
			continue
		}
		d.wantPolls(organization, known.ids)
	}
}

func (d *Dispatcher) wantPolls(organization int64, ids []string) {
	for _, id := range ids {
		q := d.queueOf(webhook.Address{Organization: organization, ID: id})
		q.pollWanted = true
		d.enqueue(q)
	}
}

// step starts all work that may start now. It returns the time when more work is due without a
// notification.
func (d *Dispatcher) step() (next clock.Micros) {
	now := clock.Now(d.clock)
	for _, q := range d.timers.expired(now) {
		d.enqueue(q)
	}
	if len(d.unknown) > 0 && !d.lookingUp && !d.ending {
		d.lookUp()
	}
	if !d.sweeping && !d.ending && d.sweepAt() <= now {
		d.sweep()
	}
	d.beginPaced(now)
	for d.runnable.len() > 0 {
		q := d.runnable.pop()
		q.inRunnable = false
		if !d.yields(q, now) && d.beginNext(q, now) {
			d.enqueue(q)
		}
	}
	for d.polling < maxPolls && d.polls.len() > 0 {
		q := d.polls.pop()
		q.inPolls = false
		d.startPoll(q)
	}
	for d.recording < maxRecorders && d.toRecord.len() > 0 {
		d.startRecording(d.toRecord.pop())
	}
	d.answerIdle()
	next = d.sweepAt()
	if d.sweeping {
		next = now.Add(sweepEvery)
	}
	if d.pace.waiting.len() > 0 {
		next = min(next, max(d.pace.next, now))
	}
	return earliest(next, d.timers.first())
}

// sweepAt returns the time of the next sweep.
func (d *Dispatcher) sweepAt() clock.Micros {
	return min(d.behindAt, max(earliest(d.nextDue, d.behindAt), d.sweptAt.Add(sweepPause)))
}

// beginNext starts the first delivery of a queue. It reports whether the caller must enqueue the
// queue again. That is so if the delivery started, or if the queue needs a poll or a timer.
func (d *Dispatcher) beginNext(q *endpointQueue, now clock.Micros) bool {
	if !q.mayBegin(now) || d.ending {
		return q.notBefore > now && !d.ending
	}
	item := q.ready[0]
	switch {
	case item.expires(now): // a poll finds the delivery again after its lease
		q.ready = q.ready[1:]
		d.held--
		q.pollWanted = true
		d.nextDue = earliest(d.nextDue, item.leaseEnd)
		return true
	case !item.fresh(now):
		q.recheck = true
		return true
	case !d.admits(q):
		d.park(q)
		return false
	}
	q.ready = q.ready[1:]
	q.running++
	d.running++
	q.tenant.running++
	if q.running == 1 {
		q.tenant.endpoints++
	}
	t := d.newTry(item)
	if item.first {
		d.Waited(t.began.Sub(item.event.CreatedAt))
	}
	d.workers.Go(func() {
		t.outcome = d.attempt(d.attempts, item)
		d.inbox <- func() { d.attemptEnded(t) }
	})
	return true
}

// attemptEnded updates the state of the loop after an attempt.
func (d *Dispatcher) attemptEnded(t *try) {
	q, now := t.queue, clock.Now(d.clock)
	q.running--
	d.running--
	q.tenant.running--
	if q.running == 0 {
		q.tenant.endpoints--
	}
	switch {
	case t.outcome.Interrupted:
	case t.outcome.Succeeded():
		q.succeeded()
		d.Attempted("succeeded")
	default:
		q.failed()
		q.gone = q.gone || t.outcome.Gone()
		d.Attempted(string(t.outcome.Code))
		if pause := q.pause(); pause > 0 {
			q.notBefore = now.Add(pause)
		}
	}
	if q.latency == 0 {
		q.latency = t.outcome.Took
	}
	q.latency = (7*q.latency + t.outcome.Took) / 8
	q.lastUsed = now
	d.count(t)
	d.recordLater(t)
	d.unpark(&q.tenant.parked, now)
	d.unpark(&d.parked, now)
	d.enqueue(q)
}

// count adds an attempt to the usage of its hour. Each attempt is counted once, even if its
// recording is repeated.
func (d *Dispatcher) count(t *try) {
	if !t.outcome.Interrupted {
		d.Usage.Count(&usage.Call{Organization: t.queue.Organization, Kind: usage.Deliveries, Subject: t.queue.ID,
			At:     t.began,
			Status: t.outcome.Status, Took: t.outcome.Took})
	}
}

// shutDown ends Run. It starts no more attempts.
func (d *Dispatcher) shutDown(cancel func()) {
	d.ending = true
	late, last := d.clock.After(grace), d.clock.After(grace+lastTime)
	for {
		for _, q := range d.queues {
			for _, item := range q.ready {
				d.recordLater(&try{delivery: item})
			}
			q.ready = nil
		}
		d.step()
		if d.polling+d.running+d.held == 0 && !d.lookingUp && !d.sweeping {
			return
		}
		select {
		case f := <-d.inbox:
			d.runInbox(f)
		case <-late:
			cancel()
		case <-last:
			d.reportHeld()
			go d.discard()
			return
		}
	}
}

// reportHeld logs that the process ends with claimed deliveries, and why.
func (d *Dispatcher) reportHeld() {
	if reason := d.db.Writes().Refused(); reason != nil {
		d.log.Warn("deliveries could not be given back, because the database takes no writes; they are made when their leases have ended, and some may come twice", "deliveries", d.held, "reason", reason)
		return
	}
	d.log.Warn("deliveries were not given back in time; other processes make them when their leases have ended",
		"deliveries", d.held, "attempts", d.running)
}

// discard empties the inbox, so that workers that end late do not block.
func (d *Dispatcher) discard() {
	ended := make(chan struct{})
	go func() {
		d.workers.Wait()
		close(ended)
	}()
	for {
		select {
		case <-d.inbox:
		case <-ended:
			return
		}
	}
}

// Idle returns when no work is left at present, including work that other replicas left. It returns
// early with an error if ctx ends. Only tests use Idle, heldBack, answerIdle, waiters, idleCalls
// and sweepForced.
func (d *Dispatcher) Idle(ctx context.Context) error {
	done := make(chan struct{})
	ask := func() {
		d.waiters = append(d.waiters, done)
		d.idleCalls++
		d.sweepForced, d.behindAt, d.nextDue, d.sweptAt = true, 1, 1, 0
		for _, q := range d.queues {
			if q.paused || q.notBefore <= clock.Now(d.clock).Add(pollPause) && q.failures <= failuresUntilPause {
				q.notBefore = 0
			}
			d.enqueue(q)
		}
	}
	for _, wait := range []chan func(){d.inbox, nil} {
		select {
		case wait <- ask:
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// heldBack returns the number of claimed deliveries whose queue pauses.
func (d *Dispatcher) heldBack() (n int) {
	now := clock.Now(d.clock)
	for _, q := range d.queues {
		if q.notBefore > now {
			n += len(q.ready)
		}
	}
	return n
}

// answerIdle lets the callers of Idle return if no work is left.
func (d *Dispatcher) answerIdle() {
	if len(d.waiters) == 0 || d.sweepForced || d.sweeping || d.lookingUp || d.polling+d.recording+d.running > 0 ||
		d.held > d.heldBack() ||
		d.polls.len()+d.runnable.len()+d.pace.waiting.len()+len(d.unknown)+len(d.inbox) > 0 {
		return
	}
	d.mu.Lock()
	told := len(d.notified) > 0
	d.mu.Unlock()
	if told {
		return
	}
	for _, done := range d.waiters {
		close(done)
	}
	d.waiters = nil
}

// attempt makes one attempt at a delivery. The request has no traceparent, because the receiver
// belongs to somebody else. Two receivers could compare trace ids and learn which changes came from
// one call.
func (d *Dispatcher) attempt(ctx context.Context, item *delivery) Outcome {
	body, err := json.Marshal(item.event)
	if err != nil { // this never happens: an event has only texts and a time
		return Outcome{Code: webhook.ProtocolError}
	}
	span := d.Tracer.Continue("webhook delivery", trace.Client, item.event.Trace)
	o := d.Send(ctx, Message{URL: item.target.url, EventID: item.event.ID, Body: body, Secrets: item.target.secrets})
	noteAttempt(span, item, o)
	return o
}

// noteAttempt ends the span of an attempt. The span does not have the URL of the receiver, because
// users choose the URL.
func noteAttempt(span *trace.Span, item *delivery, o Outcome) {
	if span == nil {
		return
	}
	span.Text("kartei.event.id", item.event.ID)
	span.Text("kartei.event.type", item.event.Type)
	span.Text("kartei.webhook_endpoint.id", item.queue.ID)
	span.Number("kartei.delivery.attempt", int64(item.attempts+1))
	if o.Status != 0 {
		span.Number("http.response.status_code", int64(o.Status))
	}
	switch {
	case o.Interrupted:
		span.Fail("INTERRUPTED")
	case !o.Succeeded():
		span.Fail(string(o.Code))
	}
	span.End()
}
