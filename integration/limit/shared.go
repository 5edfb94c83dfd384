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

	"kartei/store/db"
)

// On PostgreSQL, the stored accounts decide, and replicas hold leases on parts of the remaining
// amounts. A replica charges a call to its own lease, in memory. The transaction that renews the
// lease reports the usage in the background.
//
// If the lease does not suffice, the call waits for a transaction. The transaction serves all
// waiting calls of the organization. It refuses a call only if no lease of another replica prevents
// the call. Otherwise it recalls the leases, and each replica returns the amounts that it does not
// need.

// callWait returns the maximum time for which a call waits for the leases of other replicas. It is
// longer than the lease of a replica, so only a slow database lets it pass.
func (o *Options) callWait() time.Duration { return o.Lease * 2 }

// statusWait returns the maximum time for which GET /rate_limit waits for the reports of other
// replicas.
func (o *Options) statusWait() time.Duration { return o.Lease / 5 }

const (
	// reportEvery is the maximum time for which usage stays unreported.
	reportEvery = 250 * time.Millisecond
	// reportAlone replaces reportEvery, in microseconds, while no other replica has a holding of
	// the organization. No other replica then reads the counts, so a report can wait. A replica
	// that joins recalls the leases.
	//
	// A report costs 500 microseconds, five times as much as a read. In a test, 10,000
	// organizations each made a call every few seconds. Early reports reduced the reads from 15,000
	// to 2,700 a second.
	reportAlone = 5_000_000
	// maxUnreported is the number of unreported usages of an organization that starts a report at
	// once.
	maxUnreported = 4096
	// idleTime is the time after which a replica returns an unused lease, in microseconds.
	// idleAlone replaces it if no other replica has a holding of the organization. idleAlone is
	// less than callWait, because a notification can be lost.
	idleTime  = 2_000_000
	idleAlone = 6_000_000
	// maxReporters is the maximum number of concurrent transactions that only report usage, if each
	// organization has its own transaction.
	maxReporters = 4
	// maxTogether is the maximum number of organizations that one transaction serves. All of them
	// wait for its commit.
	maxTogether = 64
	// maxWorkers is the maximum number of concurrent transactions on one server. With more
	// transactions, fewer calls would share a commit.
	maxWorkers = 2
)

// tenant is the state of one organization in this replica.
type tenant struct {
	organization int64

	mu sync.Mutex
	// accounts are the accounts of the last transaction with the usage since then. Calls are
	// charged to them.
	accounts    map[string]*account
	unreported  []usage
	spareUsages []usage // empty; its memory is reused for unreported
	// waiting has the new requests. disputed has the requests that wait for reports of other
	// replicas. Each transaction tries all requests.
	waiting, disputed []*request
	// due asks for another transaction. full asks for a transaction that reports all usage and
	// returns all leases.
	due, full bool
	// alone is set if no other replica had a holding at reportedAt. reportedAt is the time of the
	// last transaction.
	alone      bool
	reportedAt int64
	serving    bool
	gone       bool // set when the tenant was dropped from the map; callers then look it up again
}

// usage is one entry of a report. It is a call that was charged to a lease or, if ends is set, the
// records that a call returned.
type usage struct {
	principal, key string
	class          uint8
	points         int64
	ends           bool
	records        int
	at             int64
	// seq is the number of the first transaction that tried to report the usage. 0 means none.
	seq int64
}

// request is the task of a transaction to charge a call. If statusOnly is set, the task is to read
// the statuses of the caller's policies.
type request struct {
	charge     Charge
	now        int64
	statusOnly bool
	since      time.Duration
	// recall is the number of the recall that was started for the request, or 0. startsRecall is
	// set if the current transaction starts a recall for it.
	recall                 int64
	disputed, startsRecall bool
	// tries is the number of transactions that have tried the request. givenUp is set once the
	// caller has stopped waiting. tenant.mu guards both.
	tries   int
	givenUp bool

	decision Decision
	statuses []Status
	err      error
	done     chan struct{}
}

type tenants struct {
	mu             sync.RWMutex
	byOrganization map[int64]*tenant
	closing        atomic.Bool
	sent           atomic.Int64 // the number of the last transaction
	serving        sync.WaitGroup
	queue          queue
	reporters      chan struct{}
	// together is set if the database is one server. Then one transaction serves many
	// organizations. On a cluster, it would span many servers.
	together atomic.Bool
	// reporting is set while a round of reports of many organizations runs.
	reporting atomic.Bool
}

// tenant returns the tenant of an organization and locks it.
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

// each calls f with every tenant. It locks the tenant for the call. Then it drops the tenant if the
// tenant has neither accounts nor anything to report.
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

// takeShared charges a call to the leases of this replica. If they do not suffice, it charges the
// call in a transaction.
func (l *Ledger) takeShared(ctx context.Context, c *Charge, now int64) (Decision, error) {
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
	err := l.await(ctx, o, r)
	if err != nil {
		return Decision{}, err
	}
	return r.decision, nil
}

// errSilent is the error of a request whose caller stopped waiting for the database.
var errSilent = fmt.Errorf("limit: %w: it does not answer", db.ErrUnavailable)

// await waits until the request is served, and returns its error. It stops waiting if the context
// ends. It also stops if no transaction with the request ends within Options.Patience, because the
// database then hangs.
func (l *Ledger) await(ctx context.Context, o *tenant, r *request) error {
	timer := time.NewTimer(l.opts.Patience)
	defer timer.Stop()
	for seen := 0; ; {
		select {
		case <-r.done:
			return r.err
		case <-ctx.Done():
			return o.giveUp(r, ctx.Err())
		case <-timer.C:
		}
		o.mu.Lock()
		tries := r.tries
		o.mu.Unlock()
		if tries == seen {
			return o.giveUp(r, errSilent)
		}
		seen = tries
		timer.Reset(l.opts.Patience)
	}
}

// giveUp removes a request from later transactions and returns why. The current transaction may
// still charge the call. The end of that transaction then ends the call too.
func (o *tenant) giveUp(r *request, why error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-r.done: // the request was served meanwhile
		return r.err
	default:
	}
	r.givenUp = true
	is := func(other *request) bool { return other == r }
	o.waiting, o.disputed = slices.DeleteFunc(o.waiting, is), slices.DeleteFunc(o.disputed, is)
	return why
}

// noteUsage appends a usage to the unreported usages.
func (o *tenant) noteUsage(a *accounts, c *Charge, d usage) {
	d.principal, d.key, d.class = c.Principal, c.Key, c.class()
	o.unreported = append(o.unreported, d)
	for i := range a {
		if a[i] != nil {
			a[i].used, a[i].touched = d.at, true
		}
	}
}

// doneShared ends a call that was charged to the shared accounts, and charges its records.
func (l *Ledger) doneShared(c *Charge, records int, now int64) {
	o := l.tenants.tenant(c.Organization)
	defer o.mu.Unlock()
	key := o.accounts[c.Key]
	if key == nil || key.running == 0 && !c.Nested {
		return // this never happens: accounts with running calls are kept
	}
	a := accounts{byKey: key}
	key.end(c)
	key.touched = true
	for i, p := range l.table.levels[c.last()] {
		switch r := &l.table.rules[p]; {
		case r.Unit == Calls:
			key.counters[i].lease += r.amount(c)
		case r.Unit == Records && c.Reads:
			key.counters[i].lease -= int64(records)
		}
	}
	if records > 0 && c.Reads {
		l.table.returned(&a, c, records, now)
		key.alerts = nil // the transaction that stores the account raises these alerts
		o.noteUsage(&a, c, usage{ends: true, records: records, at: now})
	}
}

// statusShared recalls the leases of the organization, and returns the status of each policy.
func (l *Ledger) statusShared(ctx context.Context, c *Charge, now int64) ([]Status, error) {
	o := l.tenants.tenant(c.Organization)
	r := l.request(o, *c, now, true)
	o.mu.Unlock()
	if err := l.await(ctx, o, r); err != nil {
		return nil, err
	}
	return r.statuses, nil
}

// request returns a new request, which the next transaction of the tenant serves.
func (l *Ledger) request(o *tenant, c Charge, now int64, statusOnly bool) *request {
	r := &request{charge: c, now: now, statusOnly: statusOnly, since: l.replicas.Elapsed(), done: make(chan struct{})}
	o.waiting = append(o.waiting, r)
	l.serve(o)
	return r
}

// serve adds a tenant to the queue of transactions. If the tenant is being served, its next
// transaction follows the current one.
func (l *Ledger) serve(o *tenant) {
	o.due = true
	if !o.serving {
		o.serving = true
		l.enqueue(o)
	}
}

// queue has the tenants whose transactions are due. A worker runs the transactions of many tenants
// as one. So the calls that arrive during a commit share the next commit.
type queue struct {
	mu      sync.Mutex
	tenants []*tenant
	workers int
}

// enqueue adds a tenant to the queue, and starts a worker if another worker may run. On a cluster,
// each tenant has its own worker and transaction.
func (l *Ledger) enqueue(o *tenant) {
	q := &l.tenants.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tenants = append(q.tenants, o)
	if q.workers < maxWorkers || !l.tenants.together.Load() {
		q.workers++
		l.tenants.serving.Go(l.work)
	}
}

// work runs transactions until none is due.
func (l *Ledger) work() {
	for {
		list := l.dequeue()
		if len(list) == 0 {
			return
		}
		l.transactAll(list)
	}
}

// dequeue returns the tenants of the next transaction. If none is due, it returns nil, and the
// worker must end.
func (l *Ledger) dequeue() []*tenant {
	q := &l.tenants.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.tenants) == 0 {
		q.workers--
		return nil
	}
	n := 1
	if l.tenants.together.Load() {
		n = min(len(q.tenants), maxTogether)
	}
	list := q.tenants[:n:n]
	if q.tenants = q.tenants[n:]; len(q.tenants) == 0 {
		q.tenants = nil
	}
	return list
}

// transactAll runs the due transactions of tenants that no other worker serves. Then it enqueues
// each tenant that already needs another transaction.
func (l *Ledger) transactAll(list []*tenant) {
	var round []*transaction
	for _, o := range list {
		o.mu.Lock()
		round = append(round, l.prepare(o))
		o.mu.Unlock()
	}
	l.run(round)
	for _, o := range list {
		o.mu.Lock()
		if o.serving = o.due; o.due {
			l.enqueue(o)
		}
		o.mu.Unlock()
	}
}

// finish hands the result of a transaction to the tenant and to the waiting calls.
func (l *Ledger) finish(j *transaction, err error) {
	o := j.tenant
	o.mu.Lock()
	if err != nil {
		j.failed(l, err)
	} else {
		j.apply(l)
	}
	o.mu.Unlock()
	for _, r := range j.unwanted {
		l.doneShared(&r.charge, 0, j.at)
	}
	if err == nil {
		l.alerted(j.alerts)
	}
}

// topic is the notification channel of recalls and reports.
const topic = "kartei_limits"

const (
	recallWord = "recall"
	reportWord = "report"
)

func (j *transaction) message(kind, incarnation string) string {
	return fmt.Sprintf("%s %d %s", kind, j.organization, incarnation)
}

// notified handles a notification. An empty notification means that others may be lost.
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

// follow starts a transaction that reports everything if the leases of the tenant were recalled. It
// also retries the disputed requests.
func (l *Ledger) follow(o *tenant, recalled bool) {
	recalled = recalled && len(o.accounts) > 0
	if o.full = o.full || recalled; recalled || o.serving || len(o.disputed) > 0 {
		l.serve(o)
	}
}

// alone reports whether no other replica had a holding at the last transaction. It is false as long
// as no notification has arrived.
func (l *Ledger) alone(o *tenant) bool { return o.alone && l.listening.Load() }

// idle reports whether an account has been unused for so long that the replica returns its lease.
func (l *Ledger) idle(o *tenant, a *account, now int64) bool {
	if l.alone(o) {
		return now-a.used > idleAlone
	}
	return now-a.used > idleTime
}

// reportAll starts transactions that report usage and return idle leases. If everything is set, it
// returns all leases.
func (l *Ledger) reportAll(everything bool) {
	now := l.now(time.Time{})
	together := !everything && l.tenants.together.Load()
	if together && !l.tenants.reporting.CompareAndSwap(false, true) {
		return // the previous round still runs
	}
	var list []*tenant
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
		switch {
		case !due || !everything && o.serving:
		case together && len(o.disputed) == 0:
			list = append(list, o)
		default:
			o.full = o.full || everything
			l.serve(o)
		}
	})
	if together {
		l.tenants.serving.Go(func() {
			defer l.tenants.reporting.Store(false)
			for some := range slices.Chunk(list, maxTogether) {
				l.reportTogether(some)
			}
		})
	}
}

// reportTogether reports the usage of many tenants in one transaction. It leaves out tenants that
// another transaction serves.
func (l *Ledger) reportTogether(list []*tenant) {
	l.transactAll(slices.DeleteFunc(list, func(o *tenant) bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.serving || o.gone {
			return true
		}
		o.serving = true
		return false
	}))
}

// runShared exchanges reports with the other replicas until ctx ends. Then it returns the leases of
// this replica.
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

// oneServer reports whether the database is one server. If the database cannot say so, oneServer
// returns false.
func (l *Ledger) oneServer(ctx context.Context) bool {
	cluster := true
	err := l.opts.DB.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, "select exists (select 1 from pg_extension where extname = 'citus')").Scan(&cluster)
	})
	return err == nil && !cluster
}

// drain returns all leases and waits until the database has stored their return. It fails if ctx
// ends first.
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
