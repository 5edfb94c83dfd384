// Package watch owns the watches by which pages learn of changes: their admission, limits and messages.
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
	// beat is the interval at which a watch checks whether its caller may still watch. It then also
	// sends an empty message. Proxies end a connection without data after a minute, some after half
	// a minute.
	beat = 25 * time.Second
	// look is the interval at which a watch polls for changes by other replicas. A notification of
	// PostgreSQL would serialize all commits.
	look = 3 * time.Second
	// trust is the time for which a check of the caller is valid. Later messages need a new check,
	// because the session may have ended in the meantime.
	trust = time.Second
	// maxAll, maxEach and maxPerson are the maximum numbers of watches of the process, of one
	// credential and of one person. A browser has one watch.
	maxAll    = 2000
	maxEach   = 4
	maxPerson = 40
)

// Options configure a Hub.
type Options struct {
	// DB sends notifications of changes. It is nil if the API stays pending.
	DB db.DB
	// Access accepts or refuses the callers.
	Access interface {
		Resolve(ctx context.Context, p access.Presentation, from netip.Addr, fresh bool) (a *access.Actor, assumed bool, err error)
	}
	Clock clock.Clock
	// Ready returns the fault of every call while the instance is starting or paused, else nil.
	Ready func() error
	// Families are the families of records.
	Families []op.Family
}

// Hub manages all watches of the process.
type Hub struct {
	Options

	mu   sync.Mutex
	n    int
	each map[string]int // number of watches, by the id of the credential and of the person
	end  chan struct{}
	once sync.Once
}

// NewHub returns a hub without watches.
func NewHub(o Options) *Hub {
	return &Hub{Options: o, each: map[string]int{}, end: make(chan struct{})}
}

// enter counts one more watch. It fails if there are too many.
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

// End ends all watches. Watches that begin later end at once.
func (h *Hub) End() { h.once.Do(func() { close(h.end) }) }

// watch is one running call of Watch.
type watch struct {
	*Hub
	actor *access.Actor
	// admitted is the time of the last check of the caller.
	admitted time.Time

	mu      sync.Mutex
	changed []string // families
	seen    clock.Micros
	signal  chan struct{}
}

// Watch calls tell with the families whose records in the caller's organization have changed. It
// names no record, so it also reports changes that the caller may not see. It omits families that
// the caller may not read. A change by another replica is reported for all families.
//
// tell runs in the goroutine of the caller. It is called at once and every 25 seconds with no
// families. If a call of tell takes long, the next call reports all changes in the meantime.
//
// Watch returns the error of tell, or a fault if the caller may not watch any longer. It returns
// nil at the end of ctx or of the hub. A watch is not a call of the API: it is not logged, does not
// keep a session alive, and has no limits except maxAll, maxEach and maxPerson.
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
	w.take() // the caller's page already shows earlier changes
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
		if ctx.Err() != nil { // ctx may also end during poll
			return nil //nolint:nilerr // the caller has left, which is no failure
		}
		if err != nil {
			return err
		}
	}
}

// admit checks whether the caller may watch, and stores the actor.
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
		return op.Explain(op.NotAllowed())
	}
	w.mu.Lock()
	w.actor = actor
	w.mu.Unlock()
	return nil
}

// hear receives the notifications of this process. It does not block.
func (w *watch) hear(message string) {
	organization, family, tick := record.Told(message)
	w.mu.Lock()
	defer w.mu.Unlock()
	if organization == w.actor.Org() {
		w.note(tick, family)
	}
}

// note adds changed families. The caller must hold the lock.
func (w *watch) note(tick clock.Micros, families ...string) {
	w.seen = max(w.seen, tick)
	for _, f := range families {
		if !slices.Contains(w.changed, f) {
			w.changed = append(w.changed, f)
		}
	}
	select {
	case w.signal <- struct{}{}:
	default: // a signal is already pending
	}
}

// poll adds all families if another replica has changed data since the last call.
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

// take returns the families that changed since its last call and that the caller may read.
func (w *watch) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	families := w.changed
	w.changed = nil
	return slices.DeleteFunc(families, func(f string) bool { return !w.actor.May(f + ":read") })
}

// pass calls tell with the changed families, if there are any.
func (w *watch) pass(tell func([]string) error) error {
	if families := w.take(); len(families) > 0 {
		return tell(families)
	}
	return nil
}
