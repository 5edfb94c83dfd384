package api

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/record"
	"kartei/store/db"
)

const (
	// watchBeat is the interval at which a watch asks whether its caller may
	// still watch. Its stream is alive then, too: proxies end a silent one after
	// a minute, some after half of that.
	watchBeat = 25 * time.Second
	// watchPoll is the interval at which a watch looks for changes by other
	// replicas. A notification of PostgreSQL would serialize all commits.
	watchPoll = 3 * time.Second
	// watchTrust is how long a caller counts as admitted. No later message is sent
	// without a new check: a session may have ended meanwhile.
	watchTrust = time.Second
	// maxWatches, maxWatchesEach and maxWatchesPerson bound the watches of the
	// process, of one credential and of one person: a browser has one.
	maxWatches       = 2000
	maxWatchesEach   = 4
	maxWatchesPerson = 40
)

// watches are the callers of Watch.
type watches struct {
	mu   sync.Mutex
	n    int
	each map[string]int // by the ids of the credential and of the person
	end  chan struct{}
	once sync.Once
}

// enter counts a further watch, unless there are too many.
func (w *watches) enter(credential, person string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.each[credential] >= maxWatchesEach || w.each[person] >= maxWatchesPerson {
		return &fault.Fault{Code: fault.RateLimited, RetryAfter: watchBeat, Detail: manyWatches,
			Extra: map[string]any{"violated-policies": []string{"watches"}}}
	}
	if w.n >= maxWatches {
		return &fault.Fault{Code: fault.Overloaded, RetryAfter: watchBeat}
	}
	w.n++
	w.each[credential]++
	w.each[person]++
	return nil
}

func (w *watches) leave(credential, person string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n--
	for _, id := range []string{credential, person} {
		if w.each[id]--; w.each[id] == 0 {
			delete(w.each, id)
		}
	}
}

var manyWatches = i18n.Text("Too many connections for changes as they happen. A sign-in may have four, a person forty.")

// Unattended returns a context for calls that a page makes by itself, and not its
// person. They keep no session alive.
func Unattended(ctx context.Context) context.Context { return access.Unattended(ctx) }

// EndWatches ends all watches, also later ones. A process that stops would wait
// for them.
func (a *API) EndWatches() { a.watches.once.Do(func() { close(a.watches.end) }) }

// watch is one call of Watch.
type watch struct {
	*API
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
func (a *API) Watch(ctx context.Context, who Credential, from netip.Addr, tell func(families []string) error) error {
	w := &watch{API: a, signal: make(chan struct{}, 1)}
	if err := w.admit(ctx, who, from); err != nil {
		return err
	}
	credential, person := w.actor.Credential().ID, w.actor.PrincipalID()
	if err := a.watches.enter(credential, person); err != nil {
		return err
	}
	defer a.watches.leave(credential, person)
	defer a.db.SubscribeLocal(record.Topic, w.hear)()
	if err := w.poll(ctx); err != nil {
		return err
	}
	w.take() // what was changed before is on the caller's page
	return w.run(ctx, who, from, tell)
}

func (w *watch) run(ctx context.Context, who Credential, from netip.Addr, tell func([]string) error) error {
	if err := tell(nil); err != nil {
		return err
	}
	beat := w.clock.Now().Add(watchBeat)
	for {
		wait := beat.Sub(w.clock.Now())
		if w.db.Dialect().Name != "sqlite" {
			wait = min(wait, watchPoll)
		}
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-w.watches.end:
			return nil
		case <-w.signal:
			if w.clock.Now().Sub(w.admitted) >= watchTrust {
				err = w.admit(ctx, who, from)
			}
			if err == nil {
				err = w.pass(tell)
			}
		case <-w.clock.After(wait):
			if w.clock.Now().Before(beat) {
				err = w.poll(ctx)
			} else if err = w.admit(ctx, who, from); err == nil {
				err = tell(nil)
				beat = w.clock.Now().Add(watchBeat)
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
func (w *watch) admit(ctx context.Context, who Credential, from netip.Addr) error {
	w.admitted = w.clock.Now()
	if err := w.Ready(); err != nil {
		return err
	}
	actor, _, err := w.access.Resolve(access.Unattended(ctx), who, from, true)
	if err != nil {
		return explain(err)
	}
	if err = actor.SecondFactor(clock.Now(w.clock)); err != nil {
		return explain(err)
	}
	if err = actor.Gate(false); err != nil {
		return explain(err)
	}
	if !actor.Credential().Duties.Person {
		err = &fault.Fault{Code: fault.Forbidden, Reason: string(access.NoScope), Detail: notAdministered}
	}
	if err != nil {
		return explain(err)
	}
	w.mu.Lock()
	w.actor = actor
	w.mu.Unlock()
	return explain(err)
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
	err := w.db.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, `select coalesce(max(tick), 0) from clocks where organization = $1`,
			w.actor.Org()).Scan(&tick)
	})
	if err != nil {
		return explain(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if tick > w.seen {
		var all []string
		for _, f := range Families {
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
