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

	"kartei/app"
	"kartei/event"
	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/kit/trace"
	"kartei/notify"
	"kartei/store/db"
	"kartei/webhook"
)

// The bounds of a dispatcher.
const (
	// Under way at once: in the process, and of one organization. The first
	// attempt of an endpoint is not counted by maxPerTenant, so that
	// endpoints that answer have theirs however many of the same organization do
	// not; but no more endpoints of one than maxTenantEndpoints are served at once. The
	// last quarter of the process is for organizations that have few under way.
	maxRunning         = 2048
	maxPerTenant       = 128
	maxTenantEndpoints = 512
	reserved           = maxRunning / 4
	fewRunning         = 16
	// Looks at endpoints, and transactions that store what became of attempts.
	maxPolls, maxRecorders = 16, 8
	// recordBatch is how many tries one transaction stores.
	recordBatch = 256
	// maxUnrecorded is how many tries of one endpoint may wait to be stored before
	// no more deliveries are taken for it.
	maxUnrecorded = 8 * maxWindow
	// sweepEvery is how often it is looked for what nobody told of: what other
	// replicas have left.
	sweepEvery = 2 * time.Second
	// sweepPause is the least time between two looks for what is due.
	sweepPause = 100 * time.Millisecond
	// sweepPage and sweepPages bound what a sweep finds.
	sweepPage, sweepPages = 1000, 10
	// knownFor is how long it is known which endpoints an organization has, as
	// long as nobody tells of a change.
	knownFor = 2 * time.Second
	// pollPause is how long an endpoint is left alone for which a look found nothing,
	// so that changes that it does not ask for cost little.
	pollPause = 25 * time.Millisecond
	// idleFor is how long the window of an endpoint is kept that has nothing to do.
	idleFor = 30 * time.Second
	// visibilityFor is how long before its attempt it may have been asked whether a
	// delivery may be made. Of what this process has changed it knows at once.
	visibilityFor = time.Second
	// leaseMargin is what the lease of a delivery must have beyond the time of its
	// attempt when that begins.
	leaseMargin = 2 * time.Second
	// afterFailure is how long the data base is left alone that failed.
	afterFailure = time.Second
	// unreadableEvery is how often it is logged that a secret cannot be read.
	unreadableEvery = time.Minute
	// grace is how long attempts may go on when the process stops; then they are
	// given back, which takes lastTime at most.
	grace, lastTime = 5 * time.Second, 3 * time.Second
)

// Options are what a Dispatcher is made of.
type Options struct {
	DB    db.DB
	Clock clock.Clock
	// Vault opens the secrets.
	Vault masterkey.Vault
	// Families are those whose records events are about.
	Families []app.Family
	// Send makes one attempt (Sender.Attempt).
	Send func(context.Context, Message) Outcome
	// Notices tells the owners of endpoints what has become of them; its Forms
	// include those of this package.
	Notices *notify.Center
	Logger  *slog.Logger
	// Rand returns a random number from 0 to below n.
	Rand func(n int64) int64
	// Calls reports whether calls are being answered, to which a backlog gives way.
	Calls func() bool
	// Attempted and Waited are told of each attempt how it ended, and of each
	// first one how long after the commit of its event it began.
	Attempted func(result string)
	Waited    func(time.Duration)
	// Tracer, if set, has attempts be spans: of events that traced calls made.
	Tracer *trace.Tracer
}

// Dispatcher makes the deliveries of all organizations. Any number of dispatchers may
// share a data base.
type Dispatcher struct {
	Options
	states webhook.StateStore
	db     db.DB
	clock  clock.Clock
	log    *slog.Logger
	// inbox holds what the loop is to do with its state, which nobody else touches.
	inbox  chan func()
	signal chan struct{}

	mu sync.Mutex
	// notified are the organizations that were told of, forget those whose endpoints
	// may be others now.
	notified, changed map[int64]bool

	// What follows is the loop's.
	queues    map[webhook.Address]*endpointQueue
	tenants   map[int64]*tenant
	known     map[int64]knownEndpoints
	unknown   map[int64]bool      // whose endpoints are to be looked up
	polls     fifo[endpointQueue] // that want a poll
	runnable  fifo[endpointQueue] // that have deliveries to begin
	parked    fifo[endpointQueue] // that wait for the process's bound
	pace      pace                // those that give way to calls
	toRecord  fifo[tenant]        // that have tries to store
	timers    timers
	polling   int
	recording int
	running   int
	held      int // deliveries taken, begun or not, and tries not stored
	lookingUp bool
	sweeping  bool
	sweptAt   clock.Micros // when it was last looked for what is due
	// unreadableLogged is when it was logged last that an endpoint's secret cannot be read.
	unreadableLogged map[string]clock.Micros
	behindAt         clock.Micros    // when it is next looked for who is behind
	nextDue          clock.Micros    // when something is due, as far as is known
	sweepCursor      webhook.Address // where the next look for who is behind goes on
	waiters          []chan struct{}
	idleCalls        int  // how often Idle was called, which is for tests
	sweepForced      bool // a sweep was asked for by Idle
	ending           bool
	attempts         context.Context
	workers          sync.WaitGroup
}

// New returns a dispatcher, which delivers while Run runs.
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
		Options: o, states: webhook.StateStore{Clock: o.Clock, Logger: o.Logger, Notices: o.Notices}, db: o.DB, clock: o.Clock, log: o.Logger,
		inbox: make(chan func(), 256), signal: make(chan struct{}, 1),
		notified: map[int64]bool{}, changed: map[int64]bool{},
		queues: map[webhook.Address]*endpointQueue{}, tenants: map[int64]*tenant{}, known: map[int64]knownEndpoints{}, unknown: map[int64]bool{},
		unreadableLogged: map[string]clock.Micros{},
	}
}

// Run delivers until ctx ends. Then attempts that are under way may end; those
// that do not in time are given back, like what was taken and not begun, and
// another process makes them.
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

// at returns a channel that receives at a point in time, also where that passes
// between a look at the clock and the waiting.
func (d *Dispatcher) at(t clock.Micros) <-chan time.Time {
	wake := d.clock.After(t.Sub(clock.Now(d.clock)))
	if clock.Now(d.clock) >= t {
		return d.clock.After(0)
	}
	return wake
}

// runInbox carries out what is in the inbox.
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

// notify notes what was told, and returns at once.
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
	default: // it is going to look anyway
	}
}

// takeNotified has the endpoints looked at of organizations that were told of.
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

// step begins all that may begin, and returns when there is something to do
// that nobody tells of.
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

// sweepAt is when it is looked for what nobody told of.
func (d *Dispatcher) sweepAt() clock.Micros {
	return min(d.behindAt, max(earliest(d.nextDue, d.behindAt), d.sweptAt.Add(sweepPause)))
}

// beginNext begins the first of a queue's deliveries, and reports whether it did or
// another one may begin.
func (d *Dispatcher) beginNext(q *endpointQueue, now clock.Micros) bool {
	if !q.mayBegin(now) || d.ending {
		return q.notBefore > now && !d.ending
	}
	item := q.ready[0]
	switch {
	case item.expires(now): // it is found again when its lease has ended
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

// attemptEnded notes how an attempt ended.
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
	d.recordLater(t)
	d.unpark(&q.tenant.parked, now)
	d.unpark(&d.parked, now)
	d.enqueue(q)
}

// shutDown ends Run: nothing more begins.
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
			d.log.Warn("deliveries were not given back in time: others make them when their leases have ended", "attempts", d.running)
			go d.discard()
			return
		}
	}
}

// discard empties the inbox for those that come too late.
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

// Idle returns when there is nothing to do at the present time, also nothing
// that other replicas have left, or when ctx ends. It is for tests, as are
// pausing, answer, and of the state waiters, asks and forced.
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

// heldBack is how many deliveries are taken that a pause keeps from being begun.
func (d *Dispatcher) heldBack() (n int) {
	now := clock.Now(d.clock)
	for _, q := range d.queues {
		if q.notBefore > now {
			n += len(q.ready)
		}
	}
	return n
}

// answerIdle tells those who wait in Idle.
func (d *Dispatcher) answerIdle() {
	if len(d.waiters) == 0 || d.sweepForced || d.sweeping || d.lookingUp || d.polling+d.recording+d.running > 0 || d.held > d.heldBack() ||
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

// attempt makes one attempt at a delivery. The receiver is sent no traceparent:
// it belongs to somebody else, whom the webhook-id tells which event it was, and
// two receivers could compare whose changes came of the same call.
func (d *Dispatcher) attempt(ctx context.Context, item *delivery) Outcome {
	body, err := json.Marshal(item.event)
	if err != nil { // never: an event is texts and a time
		return Outcome{Code: webhook.ProtocolError}
	}
	span := d.Tracer.Continue("webhook delivery", trace.Client, item.event.Trace)
	o := d.Send(ctx, Message{URL: item.target.url, EventID: item.event.ID, Body: body, Secrets: item.target.secrets})
	noteAttempt(span, item, o)
	return o
}

// noteAttempt ends the span of an attempt. It does not name the receiver's
// address, which users choose.
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
