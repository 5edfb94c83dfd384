package limit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// On PostgreSQL the stored accounts are what counts, and replicas hold parts of
// what is left of them. A call is charged to the part that its replica holds,
// in memory; what was taken is told behind the calls, in the same transaction
// that grants the next part. Only a call for which the part does not suffice is
// charged in a transaction of its own organization, with all that wait. It is
// refused only when nobody holds what it asks for: where others do they are
// asked, and give back what they do not need.

// callWait is how long a call waits for what others hold. It is longer than the
// lease, so it ends sooner only if the database is slow.
func (o *Options) callWait() time.Duration { return o.Lease * 2 }

// statusWait is how long GET /rate_limit waits for the reports of others.
func (o *Options) statusWait() time.Duration { return o.Lease / 5 }

const (
	// tellEvery is how long what was taken may stay untold.
	reportEvery = 250 * time.Millisecond
	// tellAlone is the same where no other replica holds anything of the
	// organization, in microseconds: then nobody is the wiser for it, and who
	// comes asks. What is told costs 500 microseconds, server and data base
	// together, five times what a read does; so a replica of 10,000
	// organizations that each call once in some seconds served 2,700 reads a
	// second where it served 15,000 of busy ones.
	reportAlone = 5_000_000
	// mostDrawn is how much of it there may be; more is told at once.
	maxUnreported = 4096
	// idleTime is how long a replica keeps parts of an account that it does not
	// use, in microseconds; idleAlone is the same where no other replica holds
	// anything of the organization: less than patience, should a notification be lost.
	idleTime  = 2_000_000
	idleAlone = 6_000_000
	// tellers is how many organizations are told of at the same time while no
	// call waits for it.
	maxReporters = 4
)

// tenant is what this replica knows of an organization.
type tenant struct {
	organization int64

	mu sync.Mutex
	// accounts are those that calls are charged to here: as they were stored
	// last, less what was drawn since.
	accounts    map[string]*account
	unreported  []usage
	spareUsages []usage // room for what is drawn next
	// waiting are the requests that came, contested those that wait for others;
	// each transaction tries all of them.
	waiting, disputed []*request
	// due asks for a transaction, full for one that tells everything and gives
	// back what is wanted elsewhere.
	due, full bool
	// alone is set where no other replica held anything at the time told, when
	// the last transaction was.
	alone      bool
	reportedAt int64
	serving    bool
	gone       bool // it was dropped: whoever found it looks again
}

// drawn is one thing that happened to a part: a call was charged, or returned
// records.
type usage struct {
	principal, key string
	class          uint8
	points         int64
	ends           bool
	records        int
	at             int64
	// seq is the first transaction that told it, perhaps.
	seq int64
}

// request is one thing that a transaction is to do: charge a call, or tell
// what is left.
type request struct {
	charge     Charge
	now        int64
	statusOnly bool
	since      time.Duration
	// question is the number of that which was put for it; puts is set where the
	// transaction puts one.
	recall                 int64
	disputed, startsRecall bool

	decision Decision
	statuses []Status
	err      error
	done     chan struct{}
}

type tenants struct {
	mu             sync.RWMutex
	byOrganization map[int64]*tenant
	closing        atomic.Bool
	sent           atomic.Int64 // transactions
	serving        sync.WaitGroup
	reporters      chan struct{}
}

// tenant returns the organization's, locked.
func (s *tenants) tenant(organization int64) *tenant {
	for {
		s.mu.RLock()
		o := s.byOrganization[organization]
		s.mu.RUnlock()
		if o == nil {
			s.mu.Lock()
			if o = s.byOrganization[organization]; o == nil {
				o = &tenant{organization: organization, accounts: map[string]*account{}}
				s.byOrganization[organization] = o
			}
			s.mu.Unlock()
		}
		o.mu.Lock()
		if !o.gone {
			return o
		}
		o.mu.Unlock()
	}
}

// each calls f with every organization's, locked, and drops those that are of
// no use any more.
func (s *tenants) each(f func(o *tenant)) {
	s.mu.RLock()
	list := slices.Collect(maps.Values(s.byOrganization))
	s.mu.RUnlock()
	for _, o := range list {
		o.mu.Lock()
		f(o)
		if o.gone = !o.serving && len(o.accounts)+len(o.unreported)+len(o.disputed) == 0; o.gone {
			s.mu.Lock()
			delete(s.byOrganization, o.organization)
			s.mu.Unlock()
		}
		o.mu.Unlock()
	}
}

func (o *tenant) of(principal, key string) (accounts, bool) {
	a := accounts{o.accounts[""], o.accounts[principal], o.accounts[key]}
	return a, a[byOrganization] != nil && a[byPrincipal] != nil && a[byKey] != nil
}

// takeHeld charges a call to what this replica holds, or in a transaction.
func (l *Ledger) takeShared(c *Charge, now int64) (Decision, error) {
	o := l.tenants.tenant(c.Organization)
	if a, ok := o.of(c.Principal, c.Key); ok && l.replicas.Fresh() {
		if d, ok := l.table.takeLeased(&a, c, now); ok {
			if d.Violated == nil {
				o.noteUsage(&a, c, usage{points: c.Points, at: a[byKey].at})
				if !o.serving && (len(o.unreported) >= maxUnreported || l.table.low(&a, c)) {
					l.serve(o)
				}
			}
			o.mu.Unlock()
			return d, nil
		}
	}
	r := l.request(o, *c, now, false)
	o.mu.Unlock()
	<-r.done // the data base answers within its own limits of time
	return r.decision, r.err
}

// drew notes what happened to a part.
func (o *tenant) noteUsage(a *accounts, c *Charge, d usage) {
	d.principal, d.key, d.class = c.Principal, c.Key, c.class()
	o.unreported = append(o.unreported, d)
	for i := range a {
		if a[i] != nil {
			a[i].used, a[i].touched = d.at, true
		}
	}
}

// doneHeld ends a call that was charged.
func (l *Ledger) doneShared(c *Charge, records int, now int64) {
	o := l.tenants.tenant(c.Organization)
	defer o.mu.Unlock()
	key := o.accounts[c.Key]
	if key == nil || key.running == 0 && !c.Nested {
		return // never: accounts whose calls run are kept
	}
	a := accounts{byKey: key}
	key.end(c)
	key.touched = true
	for i, p := range l.table.levels[byKey] {
		switch r := &l.table.rules[p]; {
		case r.Unit == Calls:
			key.counters[i].lease += r.amount(c)
		case r.Unit == Records && c.Reads:
			key.counters[i].lease -= int64(records)
		}
	}
	if records > 0 && c.Reads {
		l.table.returned(&a, c, records, now)
		key.alerts = nil // who stores the account raises them
		o.noteUsage(&a, c, usage{ends: true, records: records, at: now})
	}
}

// statusHeld asks all who hold something of the organization, and tells what
// is left.
func (l *Ledger) statusShared(c *Charge, now int64) ([]Status, error) {
	o := l.tenants.tenant(c.Organization)
	r := l.request(o, *c, now, true)
	o.mu.Unlock()
	<-r.done
	return r.statuses, r.err
}

// request has something done in the next transaction.
func (l *Ledger) request(o *tenant, c Charge, now int64, statusOnly bool) *request {
	r := &request{charge: c, now: now, statusOnly: statusOnly, since: l.replicas.Elapsed(), done: make(chan struct{})}
	o.waiting = append(o.waiting, r)
	l.serve(o)
	return r
}

// serve has a transaction made for an organization.
func (l *Ledger) serve(o *tenant) {
	o.due = true
	if o.serving {
		return
	}
	o.serving = true
	l.tenants.serving.Go(func() {
		for {
			o.mu.Lock()
			if !o.due {
				o.serving = false
				o.mu.Unlock()
				return
			}
			j := l.prepare(o)
			o.mu.Unlock()
			err := l.run(j)
			o.mu.Lock()
			if err != nil {
				j.failed(l, err)
			} else {
				j.apply(l)
			}
			o.mu.Unlock()
			if err == nil {
				l.alerted(j.alerts)
			}
		}
	})
}

// topic is what replicas notify when they ask the others, or have told them.
const topic = "kartei_limits"

const (
	recallWord = "recall"
	reportWord = "report"
)

func (j *transaction) message(kind, incarnation string) string {
	return fmt.Sprintf("%s %d %s", kind, j.organization, incarnation)
}

// hear follows a notification; an empty word says that some were missed.
func (l *Ledger) notified(word string) {
	l.listening.Store(true)
	part := strings.Fields(word)
	if len(part) != 3 {
		l.tenants.each(func(o *tenant) { l.follow(o, true) })
		return
	}
	organization, err := strconv.ParseInt(part[1], 10, 64)
	if err != nil || part[2] == l.incarnation {
		return
	}
	l.tenants.mu.RLock()
	o := l.tenants.byOrganization[organization]
	l.tenants.mu.RUnlock()
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	l.follow(o, part[0] == recallWord)
}

// heard tells everything of an organization where others ask, and tries again
// what waited for their answer.
func (l *Ledger) follow(o *tenant, recalled bool) {
	recalled = recalled && len(o.accounts) > 0
	if o.full = o.full || recalled; recalled || o.serving || len(o.disputed) > 0 {
		l.serve(o)
	}
}

// alone reports whether nobody else held anything of an organization at the
// last transaction, and whoever comes is heard.
func (l *Ledger) alone(o *tenant) bool { return o.alone && l.listening.Load() }

// idle reports whether an account was not used for some time.
func (l *Ledger) idle(o *tenant, a *account, now int64) bool {
	if l.alone(o) {
		return now-a.used > idleAlone
	}
	return now-a.used > idleTime
}

// tellAll has told what was not, and given back what is not used, or all of it.
func (l *Ledger) reportAll(everything bool) {
	now := l.now(time.Time{})
	l.tenants.each(func(o *tenant) {
		if !everything && l.alone(o) && len(o.disputed) == 0 && now-o.reportedAt < reportAlone {
			return
		}
		due := everything || len(o.unreported)+len(o.disputed) > 0
		for name, a := range o.accounts {
			idle := l.idle(o, a, now)
			due = due || a.touched || idle && a.leased()
			if idle && !a.touched && !a.held && a.running == 0 {
				delete(o.accounts, name)
			}
		}
		if due && (everything || !o.serving) {
			o.full = o.full || everything
			l.serve(o)
		}
	})
}

// runHeld keeps in touch with the other replicas until ctx ends, then gives back
// what this one holds.
func (l *Ledger) runShared(ctx context.Context) {
	var beside sync.WaitGroup
	beside.Go(func() { l.replicas.Run(ctx) })
	beside.Go(func() { l.opts.DB.Listen(ctx, topic, l.notified) })
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-l.clock.After(reportEvery):
			l.reportAll(false)
		}
	}
	beside.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := errors.Join(l.drain(last), l.replicas.Leave(last)); err != nil {
		l.opts.Logger.Warn("limits not saved at the end", "error", err)
	}
}

// drain gives everything back and waits until it is told.
func (l *Ledger) drain(ctx context.Context) error {
	l.tenants.closing.Store(true)
	l.reportAll(true)
	served := make(chan struct{})
	go func() {
		l.tenants.serving.Wait()
		close(served)
	}()
	select {
	case <-served:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
