package limit

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"sync/atomic"
	"time"

	"kartei/integration/limit/replicas"
	"kartei/kit/clock"
	"kartei/store/db"
)

// Options are the dependencies of a Ledger. With the zero value, a Ledger counts in this process
// only, and the counts end with the process.
type Options struct {
	// DB stores the accounts; nil means that nothing is stored. On SQLite, the ledger reads an
	// account at the first call of its subject and saves it in the background. On PostgreSQL, the
	// replicas share the accounts.
	DB db.DB
	// Replica is the name of this process among those that share DB. It stays
	// the same after a restart.
	Replica string
	// ServerTime makes the ledger follow the database's clock. Replicas whose clocks differ then
	// count alike.
	ServerTime bool
	// Lease is the time for which a replica counts as alive after its last heartbeat. 0 means 5 s.
	// All replicas that share DB have the same value. A replica that is only slow does no harm. Its
	// leases count as used, and its next transaction finds that they are gone.
	Lease time.Duration
	// Patience is the time for which a call waits for a database that does not respond. Then the
	// call is charged in this process only. 0 means Lease.
	Patience time.Duration
	// Alert is called in the transaction that saves an account whose day or hour
	// quota is almost used up. It may run more than once.
	Alert func(ctx context.Context, tx db.Tx, a Alert) error
	// Alerted is called after the commit of a transaction in which Alert was called.
	Alerted func()
	// Logger gets warnings about incidents; nil is slog.Default().
	Logger *slog.Logger
}

// Ledger is the Limiter. It is exact: exactly as many calls pass as the quotas allow, with any
// number of concurrent callers.
//
// On SQLite, the only process counts in memory and saves the accounts in the background. On
// PostgreSQL, the replicas share the accounts. Each replica holds leases on parts of the remaining
// amounts and charges its calls to the leases.
type Ledger struct {
	table  *table
	clock  clock.Clock
	opts   Options
	memory *memory
	// stored reads accounts from the database. It is nil if there is no database.
	stored reader
	// fallback has the accounts to which calls are charged while the database cannot be reached.
	fallback *memory

	// incarnation is the name under which the database stores the holdings of this process. Each
	// start has a new incarnation, and the holdings of the previous process are forfeited.
	incarnation string

	start time.Time
	base  int64 // start, in microseconds since 1970
	// offset is the difference of the database's clock from the clock of this process, in
	// microseconds. It is positive if the database's clock is ahead.
	offset atomic.Int64

	// tenants and replicas are the state of a ledger that shares its accounts with other replicas.
	// replicas is nil if the ledger does not share them.
	tenants  tenants
	replicas *replicas.Membership
	// listening is set once this process has received a notification of the other replicas.
	listening atomic.Bool

	incidents atomic.Uint64
}

// Open returns a ledger. It panics if config.Check finds an error. If opts has a database, the
// caller must call Start before the first charge. Run must then run as long as calls are charged.
func Open(config Config, c clock.Clock, opts Options) *Ledger {
	t := newTable(config)
	opts.Lease = cmp.Or(opts.Lease, 5*time.Second)
	opts.Patience = cmp.Or(opts.Patience, opts.Lease)
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	l := &Ledger{
		table: t, clock: c, opts: opts, memory: newMemory(t), fallback: newMemory(t), start: c.Now(),
		incarnation: rand.Text(),
	}
	l.base = l.start.UnixMicro()
	if opts.DB != nil {
		l.stored = l.readStored
	}
	l.tenants.byOrganization, l.tenants.reporters = map[int64]*tenant{}, make(chan struct{}, maxReporters)
	if opts.DB != nil && opts.DB.Dialect().Name != "sqlite" && t.config.Metered {
		l.replicas = replicas.New(replicas.Options{
			DB: opts.DB, Name: opts.Replica, Incarnation: l.incarnation, Lease: opts.Lease, Logger: opts.Logger,
			Heartbeat: l.followClock,
			Died:      func() { l.tenants.each(func(o *tenant) { l.follow(o, false) }) },
		})
		t.shared = true
	}
	return l
}

// Metered reports whether limits are enforced.
func (l *Ledger) Metered() bool { return l.table.config.Metered }

// Declared returns the decision about a caller that has no usage yet.
func (l *Ledger) Declared(c Charge) Decision {
	_, d := l.table.begin(&c)
	return d
}

// Incidents returns the number of calls that were charged only in the memory of this process,
// because the database could not be reached.
func (l *Ledger) Incidents() uint64 { return l.incidents.Load() }

// now returns the time of a call in microseconds since 1970. A zero at means the present time. The
// monotonic clock measures it. So no caller gains or loses points if the time of the machine is
// set.
func (l *Ledger) now(at time.Time) int64 {
	if at.IsZero() {
		at = l.clock.Now()
	}
	return l.base + at.Sub(l.start).Microseconds() + l.offset.Load()
}

// followClock sets the offset to the database's clock if Options.ServerTime is set. now is a time
// of the database's clock. The clock showed it at some point within the last period of the length
// took.
func (l *Ledger) followClock(now int64, took time.Duration) {
	if !l.opts.ServerTime {
		return
	}
	own := l.base + l.clock.Now().Sub(l.start).Microseconds()
	least, greatest := now-own, now-own+took.Microseconds()
	l.offset.Store(min(max(l.offset.Load(), least), greatest))
}

// Take charges a call before it runs. If the database cannot be reached, Take charges the call in
// this process only. Then Take refuses deletes with the error of the database.
func (l *Ledger) Take(ctx context.Context, c Charge) (Decision, error) {
	if !l.Metered() {
		return l.Declared(c), nil
	}
	now := l.now(c.At)
	d, err := l.take(ctx, &c, now)
	switch {
	case err == nil:
		if d.Violated == nil {
			d.countedIn = inLedger
		}
		return d, nil
	case ctx.Err() != nil: // the caller is no longer there
		return Decision{}, err
	case c.Delete: // a delete cannot be undone, so it does not pass without its limit
		return Decision{}, err
	}
	l.incidents.Add(1)
	if d, err = l.takeAlone(ctx, l.fallback, &c, now, nil); d.Violated == nil {
		d.countedIn = inFallback
	}
	return d, err
}

func (l *Ledger) take(ctx context.Context, c *Charge, now int64) (Decision, error) {
	if l.replicas != nil {
		return l.takeShared(ctx, c, now)
	}
	return l.takeAlone(ctx, l.memory, c, now, l.stored)
}

// takeAlone charges the accounts of m, which this process does not share.
func (l *Ledger) takeAlone(ctx context.Context, m *memory, c *Charge, now int64, read reader) (Decision, error) {
	a, err := m.lock(ctx, c, now, read)
	if err != nil {
		return Decision{}, err
	}
	d, _ := l.table.take(&a, c, now, final)
	m.hurry(&a)
	a.unlock()
	return d, nil
}

// Done ends a call that Take let pass, and charges the records that the call returned.
func (l *Ledger) Done(c Charge, d *Decision, records int) {
	if d.countedIn == uncounted {
		return
	}
	now := l.now(time.Time{})
	m := l.memory
	switch {
	case d.countedIn == inFallback:
		m = l.fallback
	case l.replicas != nil:
		l.doneShared(&c, records, now)
		return
	}
	a, err := m.lock(context.Background(), &c, now, nil)
	if err != nil {
		return // this never happens: the accounts of a running call are in memory
	}
	l.table.done(&a, &c, records, now)
	m.hurry(&a)
	a.unlock()
}

// Status returns the status of every policy that concerns the caller in c, in the order of the
// configuration.
func (l *Ledger) Status(ctx context.Context, c Charge) ([]Status, error) {
	out := c.Into[:0]
	if !l.Metered() {
		for i := range l.table.rules {
			if r := &l.table.rules[i]; r.concerns(&c) {
				out = append(out, l.table.atRest(r))
			}
		}
		return out, nil
	}
	now := l.now(c.At)
	m, read := l.memory, l.stored
	if l.replicas != nil {
		list, err := l.statusShared(ctx, &c, now)
		if err == nil || ctx.Err() != nil {
			return list, err
		}
		m, read = l.fallback, nil
	}
	a, err := m.lock(ctx, &c, now, read)
	if err != nil {
		return nil, err
	}
	defer a.unlock()
	return l.table.status(&a, &c, now, out), nil
}
