// Package watch owns who learns of changes as they happen.
package watch

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/store/db"
)

const (
	// beat is the interval at which a watch asks whether its caller may
	// still watch. Its stream is alive then, too: proxies end a silent one after
	// a minute, some after half of that.
	beat = 25 * time.Second
	// look is the interval at which a watch looks for changes by other
	// replicas. A notification of PostgreSQL would serialize all commits.
	look = 3 * time.Second
	// trust is how long a caller counts as admitted. No later message is sent
	// without a new check: a session may have ended meanwhile.
	trust = time.Second
	// maxAll, maxEach and maxPerson bound the watches of the
	// process, of one credential and of one person: a browser has one.
	maxAll    = 2000
	maxEach   = 4
	maxPerson = 40
)

// Options configure a Hub.
type Options struct {
	// DB tells of changes. An API that stays pending has none.
	DB db.DB
	// Access accepts or refuses the callers.
	Access interface {
		Resolve(ctx context.Context, p access.Presentation, from netip.Addr, fresh bool) (a *access.Actor, assumed bool, err error)
	}
	Clock clock.Clock
	// Ready returns the refusal of every call while the instance is not ready.
	Ready func() error
	// Families are the families of records.
	Families []op.Family
}

// Hub holds the callers who watch.
type Hub struct {
	Options

	mu   sync.Mutex
	n    int
	each map[string]int // by the ids of the credential and of the person
	end  chan struct{}
	once sync.Once
}

// NewHub returns a hub without callers.
func NewHub(o Options) *Hub {
	return &Hub{Options: o, each: map[string]int{}, end: make(chan struct{})}
}

// enter counts a further watch, unless there are too many.
func (h *Hub) enter(credential, person string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.each[credential] >= maxEach || h.each[person] >= maxPerson {
		return &fault.Fault{Code: fault.RateLimited, RetryAfter: beat, Detail: manyWatches,
			Extra: map[string]any{"violated-policies": []string{"watches"}}}
	}
	if h.n >= maxAll {
		return &fault.Fault{Code: fault.Overloaded, RetryAfter: beat}
	}
	h.n++
	h.each[credential]++
	h.each[person]++
	return nil
}

func (h *Hub) leave(credential, person string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n--
	for _, id := range []string{credential, person} {
		if h.each[id]--; h.each[id] == 0 {
			delete(h.each, id)
		}
	}
}

var manyWatches = i18n.Text("Too many connections for changes as they happen. A sign-in may have four, a person forty.")

// End ends all watches, also later ones.
func (h *Hub) End() { h.once.Do(func() { close(h.end) }) }

// watch is one call of Watch.
type watch struct {
	*Hub
	actor *access.Actor
	// admitted is when the caller was asked last.
	admitted time.Time

	mu      sync.Mutex
	changed []string // families
	seen    clock.Micros
	signal  chan struct{}
}

// Watch tells a person in which families the records of the organization have
// changed, also while the module is off. It names no record, so it also reports
// a change that the caller may not see, but no family without the right to
// read. Changes of other replicas name all families.
//
// tell runs in the goroutine of the caller, at once and every 25 seconds without
// families. The next call reports all changes of a call that takes long. Watch
// returns the error of tell, the refusal once the credential is refused, or nil
// at the end of ctx or of the process. A watch is no call: it is not logged, has
// no limits but those above, and does not keep a session alive.
func (h *Hub) Watch(
	ctx context.Context, who access.Presentation, from netip.Addr, tell func(families []string) error,
) error {
	w := &watch{Hub: h, signal: make(chan struct{}, 1)}
	if err := w.admit(ctx, who, from); err != nil {
		return err
	}
	credential, person := w.actor.Credential().ID, w.actor.PrincipalID()
	if err := h.enter(credential, person); err != nil {
		return err
	}
	defer h.leave(credential, person)
	defer h.DB.SubscribeLocal(record.Topic, w.hear)()
	if err := w.poll(ctx); err != nil {
		return err
	}
	w.take() // what was changed before is on the caller's page
	return w.run(ctx, who, from, tell)
}

func (w *watch) run(ctx context.Context, who access.Presentation, from netip.Addr, tell func([]string) error) error {
	if err := tell(nil); err != nil {
		return err
	}
	next := w.Clock.Now().Add(beat)
	for {
		wait := next.Sub(w.Clock.Now())
		if w.DB.Dialect().Name != "sqlite" {
			wait = min(wait, look)
		}
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-w.end:
			return nil
		case <-w.signal:
			if w.Clock.Now().Sub(w.admitted) >= trust {
				err = w.admit(ctx, who, from)
			}
			if err == nil {
				err = w.pass(tell)
			}
		case <-w.Clock.After(wait):
			if w.Clock.Now().Before(next) {
				err = w.poll(ctx)
			} else if err = w.admit(ctx, who, from); err == nil {
				err = tell(nil)
				next = w.Clock.Now().Add(beat)
			}
		}
		if ctx.Err() != nil { // also in the middle of a look for changes
			return nil //nolint:nilerr // the caller has left, which is no failure
		}
		if err != nil {
			return err
		}
	}
}

// admit checks whether the caller may watch.
func (w *watch) admit(ctx context.Context, who access.Presentation, from netip.Addr) error {
	w.admitted = w.Clock.Now()
	if err := w.Ready(); err != nil {
		return err
	}
	actor, _, err := w.Access.Resolve(access.Unattended(ctx), who, from, true)
	if err != nil {
		return op.Explain(err)
	}
	if err = actor.SecondFactor(clock.Now(w.Clock)); err != nil {
		return op.Explain(err)
	}
	if err = actor.Gate(false); err != nil {
		return op.Explain(err)
	}
	if !actor.Credential().Duties.Person {
		err = op.NotAllowed()
	}
	if err != nil {
		return op.Explain(err)
	}
	w.mu.Lock()
	w.actor = actor
	w.mu.Unlock()
	return op.Explain(err)
}

// hear receives the messages of this process. It returns at once.
func (w *watch) hear(message string) {
	organization, family, tick := record.Told(message)
	w.mu.Lock()
	defer w.mu.Unlock()
	if organization == w.actor.Org() {
		w.note(tick, family)
	}
}

// note notes families that changed. The caller holds the lock.
func (w *watch) note(tick clock.Micros, families ...string) {
	w.seen = max(w.seen, tick)
	for _, f := range families {
		if !slices.Contains(w.changed, f) {
			w.changed = append(w.changed, f)
		}
	}
	select {
	case w.signal <- struct{}{}:
	default: // it is signalled already
	}
}

// poll looks for changes of other replicas.
func (w *watch) poll(ctx context.Context) error {
	var tick clock.Micros
	err := w.DB.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select coalesce(max(tick), 0) from clocks where organization = $1`,
			w.actor.Org()).Scan(&tick)
	})
	if err != nil {
		return op.Explain(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if tick > w.seen {
		var all []string
		for _, f := range w.Families {
			all = append(all, f.Plural)
		}
		w.note(tick, all...)
	}
	return nil
}

// take returns the families that changed since the last time, and that the caller
// may read.
func (w *watch) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	families := w.changed
	w.changed = nil
	return slices.DeleteFunc(families, func(f string) bool { return !w.actor.May(f + ":read") })
}

// pass tells which families changed, if any.
func (w *watch) pass(tell func([]string) error) error {
	if families := w.take(); len(families) > 0 {
		return tell(families)
	}
	return nil
}
