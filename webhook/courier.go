package webhook

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
)

// Topic is what is told (db.Tx.Tell) when an endpoint was made or changed, or
// has something to do that is no new event, with its organization's number as
// word: then its deliveries begin at once and not with the next sweep.
const Topic = "webhooks"

// The bounds of a courier.
const (
	// Under way at once: in the process, and of one organization. The first
	// attempt of an endpoint is not counted by widestOrganization, so that
	// endpoints that answer have theirs however many of the same organization do
	// not; but no more endpoints of one than mostEndpoints are served at once. The
	// last quarter of the process is for organizations that have few under way.
	widestProcess      = 2048
	widestOrganization = 128
	mostEndpoints      = 512
	reserved           = widestProcess / 4
	fewRunning         = 16
	// Looks at endpoints, and transactions that store what became of attempts.
	visits, settles = 16, 8
	// settleMost is how many tries one transaction stores.
	settleMost = 256
	// unstored is how many tries of one endpoint may wait to be stored before
	// no more deliveries are taken for it.
	unstored = 8 * widest
	// sweepEvery is how often it is looked for what nobody told of: what other
	// replicas have left.
	sweepEvery = 2 * time.Second
	// sweepPause is the least time between two looks for what is due.
	sweepPause = 100 * time.Millisecond
	// sweepPage and sweepPages bound what a sweep finds.
	sweepPage, sweepPages = 1000, 10
	// remembered is how long it is known which endpoints an organization has, as
	// long as nobody tells of a change.
	remembered = 2 * time.Second
	// quiet is how long an endpoint is left alone for which a look found nothing,
	// so that changes that it does not ask for cost little.
	quiet = 25 * time.Millisecond
	// keptFor is how long the window of an endpoint is kept that has nothing to do.
	keptFor = 30 * time.Second
	// current is how long before its attempt it may have been asked whether a
	// delivery may be made. Of what this process has changed it knows at once.
	current = time.Second
	// spare is what the lease of a delivery must have beyond the time of its
	// attempt when that begins.
	spare = 2 * time.Second
	// afterFailure is how long the data base is left alone that failed.
	afterFailure = time.Second
	// unreadableEvery is how often it is logged that a secret cannot be read.
	unreadableEvery = time.Minute
	// grace is how long attempts may go on when the process stops; then they are
	// given back, which takes lastTime at most.
	grace, lastTime = 5 * time.Second, 3 * time.Second
)

// Options are what a Courier is made of.
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

// Courier makes the deliveries of all organizations. Any number of couriers may
// share a data base.
type Courier struct {
	Options
	keeper
	db    db.DB
	clock clock.Clock
	log   *slog.Logger
	// inbox holds what the loop is to do with its state, which nobody else touches.
	inbox  chan func()
	signal chan struct{}

	mu sync.Mutex
	// told are the organizations that were told of, forget those whose endpoints
	// may be others now.
	told, forget map[int64]bool

	// What follows is the loop's.
	lanes    map[address]*lane
	tenants  map[int64]*tenant
	known    map[int64]endpoints
	asking   map[int64]bool // whose endpoints are to be looked up
	looks    queue[lane]    // that want a visit
	ring     queue[lane]    // that have deliveries to begin
	parked   queue[lane]    // that wait for the process's bound
	pace     pace           // those that give way to calls
	storing  queue[tenant]  // that have tries to store
	alarms   alarms
	visiting int
	settling int
	running  int
	held     int // deliveries taken, begun or not, and tries not stored
	finding  bool
	sweeping bool
	swept    clock.Micros // when it was last looked for what is due
	// unreadable is when it was logged last that an endpoint's secret cannot be read.
	unreadable map[string]clock.Micros
	behindAt   clock.Micros // when it is next looked for who is behind
	nextDue    clock.Micros // when something is due, as far as is known
	cursor     address      // where the next look for who is behind goes on
	waiters    []chan struct{}
	asks       int  // how often Idle was called, which is for tests
	forced     bool // a sweep was asked for by Idle
	ending     bool
	attempts   context.Context
	ground     sync.WaitGroup
}

// NewCourier returns a courier, which delivers while Run runs.
func NewCourier(o Options) *Courier {
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
	return &Courier{
		Options: o, keeper: keeper{o.Clock, o.Logger, o.Notices}, db: o.DB, clock: o.Clock, log: o.Logger,
		inbox: make(chan func(), 256), signal: make(chan struct{}, 1),
		told: map[int64]bool{}, forget: map[int64]bool{},
		lanes: map[address]*lane{}, tenants: map[int64]*tenant{}, known: map[int64]endpoints{}, asking: map[int64]bool{},
		unreadable: map[string]clock.Micros{},
	}
}

// Run delivers until ctx ends. Then attempts that are under way may end; those
// that do not in time are given back, like what was taken and not begun, and
// another process makes them.
func (c *Courier) Run(ctx context.Context) {
	attempts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	c.attempts = attempts
	defer c.ground.Wait()
	defer c.db.Hear(event.Topic, func(word string) { c.hear(word, false) })()
	defer c.db.Hear(Topic, func(word string) { c.hear(word, true) })()
	for ctx.Err() == nil {
		c.takeTold()
		next := c.dispatch()
		select {
		case <-ctx.Done():
		case <-c.signal:
		case f := <-c.inbox:
			c.do(f)
		case <-c.at(next):
		}
	}
	c.end(cancel)
}

// at returns a channel that receives at a point in time, also where that passes
// between a look at the clock and the waiting.
func (c *Courier) at(t clock.Micros) <-chan time.Time {
	wake := c.clock.After(t.Sub(clock.Now(c.clock)))
	if clock.Now(c.clock) >= t {
		return c.clock.After(0)
	}
	return wake
}

// do carries out what is in the inbox.
func (c *Courier) do(f func()) {
	for f != nil {
		f()
		select {
		case f = <-c.inbox:
		default:
			f = nil
		}
	}
}

// hear notes what was told, and returns at once.
func (c *Courier) hear(word string, changed bool) {
	organization, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	c.told[organization] = true
	if changed {
		c.forget[organization] = true
	}
	c.mu.Unlock()
	select {
	case c.signal <- struct{}{}:
	default: // it is going to look anyway
	}
}

// takeTold has the endpoints looked at of organizations that were told of.
func (c *Courier) takeTold() {
	c.mu.Lock()
	told, forget := c.told, c.forget
	if len(told) > 0 {
		c.told = map[int64]bool{}
	}
	if len(forget) > 0 {
		c.forget = map[int64]bool{}
	}
	c.mu.Unlock()
	for organization := range forget {
		delete(c.known, organization)
		if t := c.tenants[organization]; t != nil {
			t.changes++
		}
	}
	now := clock.Now(c.clock)
	for organization := range told {
		known, is := c.known[organization]
		if !is || known.until <= now {
			c.asking[organization] = true
			continue
		}
		c.lookAt(organization, known.ids)
	}
}

func (c *Courier) lookAt(organization int64, ids []string) {
	for _, id := range ids {
		l := c.lane(address{organization, id})
		l.look = true
		c.consider(l)
	}
}

// dispatch begins all that may begin, and returns when there is something to do
// that nobody tells of.
func (c *Courier) dispatch() (next clock.Micros) {
	now := clock.Now(c.clock)
	for _, l := range c.alarms.ring(now) {
		c.consider(l)
	}
	if len(c.asking) > 0 && !c.finding && !c.ending {
		c.find()
	}
	if !c.sweeping && !c.ending && c.sweepAt() <= now {
		c.sweep()
	}
	c.takeWay(now)
	for c.ring.len() > 0 {
		l := c.ring.pop()
		l.inRing = false
		if !c.givesWay(l, now) && c.begin(l, now) {
			c.consider(l)
		}
	}
	for c.visiting < visits && c.looks.len() > 0 {
		l := c.looks.pop()
		l.inLooks = false
		c.visit(l)
	}
	for c.settling < settles && c.storing.len() > 0 {
		c.store(c.storing.pop())
	}
	c.answer()
	next = c.sweepAt()
	if c.sweeping {
		next = now.Add(sweepEvery)
	}
	if c.pace.line.len() > 0 {
		next = min(next, max(c.pace.next, now))
	}
	return earliest(next, c.alarms.first())
}

// sweepAt is when it is looked for what nobody told of.
func (c *Courier) sweepAt() clock.Micros {
	return min(c.behindAt, max(earliest(c.nextDue, c.behindAt), c.swept.Add(sweepPause)))
}

// begin begins the first of a lane's deliveries, and reports whether it did or
// another one may begin.
func (c *Courier) begin(l *lane, now clock.Micros) bool {
	if !l.mayBegin(now) || c.ending {
		return l.notBefore > now && !c.ending
	}
	d := l.ready[0]
	switch {
	case d.expires(now): // it is found again when its lease has ended
		l.ready = l.ready[1:]
		c.held--
		l.look = true
		c.nextDue = earliest(c.nextDue, d.until)
		return true
	case !d.fresh(now):
		l.stale = true
		return true
	case !c.admits(l):
		c.park(l)
		return false
	}
	l.ready = l.ready[1:]
	l.running++
	c.running++
	l.tenant.running++
	if l.running == 1 {
		l.tenant.endpoints++
	}
	t := c.newTry(d)
	if d.first {
		c.Waited(t.began.Sub(d.event.CreatedAt))
	}
	c.ground.Go(func() {
		t.outcome = c.attempt(c.attempts, d)
		c.inbox <- func() { c.attempted(t) }
	})
	return true
}

// attempted notes how an attempt ended.
func (c *Courier) attempted(t *try) {
	l, now := t.lane, clock.Now(c.clock)
	l.running--
	c.running--
	l.tenant.running--
	if l.running == 0 {
		l.tenant.endpoints--
	}
	switch {
	case t.outcome.Interrupted:
	case t.outcome.Succeeded():
		l.succeeded()
		c.Attempted("succeeded")
	default:
		l.failed()
		l.gone = l.gone || t.outcome.Gone()
		c.Attempted(string(t.outcome.Code))
		if pause := l.pause(); pause > 0 {
			l.notBefore = now.Add(pause)
		}
	}
	if l.took == 0 {
		l.took = t.outcome.Took
	}
	l.took = (7*l.took + t.outcome.Took) / 8
	l.used = now
	c.toStore(t)
	c.unpark(&l.tenant.parked, now)
	c.unpark(&c.parked, now)
	c.consider(l)
}

// end ends Run: nothing more begins.
func (c *Courier) end(cancel func()) {
	c.ending = true
	late, last := c.clock.After(grace), c.clock.After(grace+lastTime)
	for {
		for _, l := range c.lanes {
			for _, d := range l.ready {
				c.toStore(&try{delivery: d})
			}
			l.ready = nil
		}
		c.dispatch()
		if c.visiting+c.running+c.held == 0 && !c.finding && !c.sweeping {
			return
		}
		select {
		case f := <-c.inbox:
			c.do(f)
		case <-late:
			cancel()
		case <-last:
			c.log.Warn("deliveries were not given back in time: others make them when their leases have ended", "attempts", c.running)
			go c.discard()
			return
		}
	}
}

// discard empties the inbox for those that come too late.
func (c *Courier) discard() {
	ended := make(chan struct{})
	go func() {
		c.ground.Wait()
		close(ended)
	}()
	for {
		select {
		case <-c.inbox:
		case <-ended:
			return
		}
	}
}

// Idle returns when there is nothing to do at the present time, also nothing
// that other replicas have left, or when ctx ends. It is for tests, as are
// pausing, answer, and of the state waiters, asks and forced.
func (c *Courier) Idle(ctx context.Context) error {
	done := make(chan struct{})
	ask := func() {
		c.waiters = append(c.waiters, done)
		c.asks++
		c.forced, c.behindAt, c.nextDue, c.swept = true, 1, 1, 0
		for _, l := range c.lanes {
			if l.rests || l.notBefore <= clock.Now(c.clock).Add(quiet) && l.failures <= patience {
				l.notBefore = 0
			}
			c.consider(l)
		}
	}
	for _, wait := range []chan func(){c.inbox, nil} {
		select {
		case wait <- ask:
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// pausing is how many deliveries are taken that a pause keeps from being begun.
func (c *Courier) pausing() (n int) {
	now := clock.Now(c.clock)
	for _, l := range c.lanes {
		if l.notBefore > now {
			n += len(l.ready)
		}
	}
	return n
}

// answer tells those who wait in Idle.
func (c *Courier) answer() {
	if len(c.waiters) == 0 || c.forced || c.sweeping || c.finding || c.visiting+c.settling+c.running > 0 || c.held > c.pausing() ||
		c.looks.len()+c.ring.len()+c.pace.line.len()+len(c.asking)+len(c.inbox) > 0 {
		return
	}
	c.mu.Lock()
	told := len(c.told) > 0
	c.mu.Unlock()
	if told {
		return
	}
	for _, done := range c.waiters {
		close(done)
	}
	c.waiters = nil
}

// attempt makes one attempt at a delivery. The receiver is sent no traceparent:
// it belongs to somebody else, whom the webhook-id tells which event it was, and
// two receivers could compare whose changes came of the same call.
func (c *Courier) attempt(ctx context.Context, d *delivery) Outcome {
	body, err := json.Marshal(d.event)
	if err != nil { // never: an event is texts and a time
		return Outcome{Code: ProtocolError}
	}
	span := c.Tracer.Continue("webhook delivery", trace.Client, d.event.Trace)
	o := c.Send(ctx, Message{URL: d.to.url, EventID: d.event.ID, Body: body, Secrets: d.to.secrets})
	noteAttempt(span, d, o)
	return o
}

// noteAttempt ends the span of an attempt. It does not name the receiver's
// address, which users choose.
func noteAttempt(span *trace.Span, d *delivery, o Outcome) {
	if span == nil {
		return
	}
	span.Text("kartei.event.id", d.event.ID)
	span.Text("kartei.event.type", d.event.Type)
	span.Text("kartei.webhook_endpoint.id", d.lane.id)
	span.Number("kartei.delivery.attempt", int64(d.attempts+1))
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
