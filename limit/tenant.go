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

	"kartei/db"
)

// On PostgreSQL the stored accounts are what counts, and replicas hold parts of
// what is left of them. A call is charged to the part that its replica holds,
// in memory; what was taken is told behind the calls, in the same transaction
// that grants the next part. Only a call for which the part does not suffice is
// charged in a transaction of its own organization, with all that wait. It is
// refused only when nobody holds what it asks for: where others do they are
// asked, and give back what they do not need.

const (
	// tellEvery is how long what was taken may stay untold.
	tellEvery = 250 * time.Millisecond
	// idleTime is how long a replica keeps parts of an account that it does not
	// use, in microseconds.
	idleTime = 2_000_000
	// tellers is how many organizations are told of at the same time while no
	// call waits for it.
	tellers = 4
	// patience is how long a call waits for what others hold. It is longer than
	// death, so that it ends sooner only where the data base is slow.
	patience = 2 * death
	// curiosity is how long GET /rate_limit waits for what others have to tell.
	curiosity = time.Second
)

// tenant is what this replica knows of an organization.
type tenant struct {
	organization int64

	mu sync.Mutex
	// accounts are those that calls are charged to here: as they were stored
	// last, less what was drawn since.
	accounts map[string]*account
	drawn    []drawn
	// waiting are the requests that came, contested those that wait for others;
	// each transaction tries all of them.
	waiting, contested []*request
	// due asks for a transaction, full for one that tells everything and gives
	// back what is wanted elsewhere.
	due, full bool
	serving   bool
	gone      bool // it was dropped: whoever found it looks again
}

// drawn is one thing that happened to a part: a call was charged, or returned
// records.
type drawn struct {
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
	charge Charge
	now    int64
	asks   bool
	since  time.Duration
	// question is the number of that which was put for it; puts is set where the
	// transaction puts one.
	question        int64
	contested, puts bool

	decision Decision
	statuses []Status
	err      error
	answered chan struct{}
}

type tenants struct {
	mu             sync.RWMutex
	byOrganization map[int64]*tenant
	closing        atomic.Bool
	sent           atomic.Int64 // transactions
	serving        sync.WaitGroup
	few            chan struct{}
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
		if o.gone = !o.serving && len(o.accounts)+len(o.drawn)+len(o.contested) == 0; o.gone {
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
func (l *Ledger) takeHeld(c *Charge, now int64) (Decision, error) {
	o := l.tenants.tenant(c.Organization)
	if a, ok := o.of(c.Principal, c.Key); ok && l.member.fresh() {
		if d, ok := l.table.draw(&a, c, now); ok {
			if d.Violated == nil {
				o.drew(&a, c, drawn{points: c.Points, at: a[byKey].at})
				if !o.serving && l.table.low(&a, c) {
					l.serve(o)
				}
			}
			o.mu.Unlock()
			return d, nil
		}
	}
	r := l.request(o, *c, now, false)
	o.mu.Unlock()
	<-r.answered // the data base answers within its own limits of time
	return r.decision, r.err
}

// drew notes what happened to a part.
func (o *tenant) drew(a *accounts, c *Charge, d drawn) {
	d.principal, d.key, d.class = c.Principal, c.Key, c.class()
	o.drawn = append(o.drawn, d)
	for i := range a {
		if a[i] != nil {
			a[i].used, a[i].touched = d.at, true
		}
	}
}

// doneHeld ends a call that was charged.
func (l *Ledger) doneHeld(c *Charge, records int, now int64) {
	o := l.tenants.tenant(c.Organization)
	defer o.mu.Unlock()
	key := o.accounts[c.Key]
	if key == nil || key.running == 0 {
		return // never: accounts whose calls run are kept
	}
	a := accounts{byKey: key}
	key.end(c)
	key.touched = true
	for i, p := range l.table.levels[byKey] {
		switch r := &l.table.rules[p]; {
		case r.Unit == Calls:
			key.counters[i].part++
		case r.Unit == Records && c.Reads:
			key.counters[i].part -= int64(records)
		}
	}
	if records > 0 && c.Reads {
		l.table.returned(&a, c, records, now)
		key.alerts = nil // who stores the account raises them
		o.drew(&a, c, drawn{ends: true, records: records, at: now})
	}
}

// statusHeld asks all who hold something of the organization, and tells what
// is left.
func (l *Ledger) statusHeld(c *Charge, now int64) ([]Status, error) {
	o := l.tenants.tenant(c.Organization)
	r := l.request(o, *c, now, true)
	o.mu.Unlock()
	<-r.answered
	return r.statuses, r.err
}

// request has something done in the next transaction.
func (l *Ledger) request(o *tenant, c Charge, now int64, asks bool) *request {
	r := &request{charge: c, now: now, asks: asks, since: l.member.elapsed(), answered: make(chan struct{})}
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
				j.install(l)
			}
			o.mu.Unlock()
			if err == nil {
				l.alerted(j.alerts)
			}
		}
	})
}

// job is one transaction.
type job struct {
	*tenant
	seq      int64
	at       int64
	full     bool
	requests []*request
	drawn    []drawn
	names    []string
	own      map[string]*own
	kept     bool // something is held of other accounts

	// What comes out of it.
	found    map[string]*account
	question int64 // that it puts, if any
	alerts   int
	open     int64 // the last question of others
	behind   bool  // it is not answered
}

// own is what this replica has of an account when a transaction begins.
type own struct {
	running int64
	reading int64
	parts   []int64
	granted []int64 // by the transaction, besides
	idle    bool
	frozen  bool // what it had is given back
	held    bool // afterwards
}

// prepare takes what there is to do.
func (l *Ledger) prepare(o *tenant) *job {
	j := &job{tenant: o, seq: l.tenants.sent.Add(1), full: o.full, requests: append(o.waiting, o.contested...), drawn: o.drawn, own: map[string]*own{}}
	o.waiting, o.contested, o.drawn, o.due, o.full = nil, nil, nil, false, false
	now := l.now(time.Time{})
	j.at = now
	names := map[string]bool{"": true}
	for i := range j.drawn {
		d := &j.drawn[i]
		if d.seq == 0 {
			d.seq = j.seq
		}
		names[d.principal], names[d.key] = true, true
	}
	for _, r := range j.requests {
		names[r.charge.Principal], names[r.charge.Key] = true, true
		for _, s := range subjects(&r.charge) {
			if a := o.accounts[s.id]; a != nil {
				a.used = max(a.used, now)
			}
		}
	}
	for name, a := range o.accounts {
		if j.full || a.touched || a.parts() && (a.calm > now || now-a.used > idleTime) {
			names[name] = true
		}
		j.kept = j.kept || a.held && !names[name]
	}
	j.names = slices.Sorted(maps.Keys(names))
	for _, name := range j.names {
		mine := &own{}
		j.own[name] = mine
		a := o.accounts[name]
		if a == nil {
			continue
		}
		mine.running, mine.reading = a.running, a.reading
		a.touched, mine.idle = false, now-a.used > idleTime
		mine.frozen = j.full || mine.idle || a.calm > now
		a.at = max(a.at, now) // what is drawn from now on is not before
		l.table.each(levelOfName(name), a, func(_ string, _ *rule, c *counter) {
			if c.part < 0 || mine.frozen {
				c.part = 0
			}
			mine.parts = append(mine.parts, c.part)
		})
	}
	return j
}

// run runs the transaction.
func (l *Ledger) run(j *job) error {
	if len(j.requests) == 0 && !j.full {
		l.tenants.few <- struct{}{}
		defer func() { <-l.tenants.few }()
	}
	for try := 1; ; try++ {
		err := l.opts.DB.Write(context.Background(), func(tx db.Tx) error { return l.settle(tx, j) })
		var strange *strangerError
		if !errors.As(err, &strange) || try == 3 {
			return err
		}
		if err := l.member.look(context.Background(), strange.incarnation); err != nil {
			return err
		}
	}
}

// settle is the transaction: it tells what was drawn, does what is asked for
// and grants new parts. It may run more than once.
func (l *Ledger) settle(tx db.Tx, j *job) error {
	ctx := context.Background()
	// What a crash of the data base's server would lose is counts of its last
	// fraction of a second; waiting for its disk would cost every call.
	tx.Queue("set local synchronous_commit = off")
	found, err := l.lockAccounts(ctx, tx, j.organization, j.names)
	if err != nil {
		return err
	}
	j.found, j.question, j.alerts = found, 0, 0
	j.look(l.table)
	l.table.tell(found, j.organization, j.drawn)
	for name, a := range found {
		a.running, a.reading = j.own[name].running, j.own[name].reading
		i := 0
		l.table.each(levelOfName(name), a, func(_ string, _ *rule, c *counter) {
			if i < len(j.own[name].parts) {
				c.part = j.own[name].parts[i]
				c.reserved += c.part
			}
			i++
		})
	}
	for _, r := range j.requests {
		l.answer(r, j)
	}
	if err := l.store(ctx, tx, j); err != nil {
		return err
	}
	if j.question > 0 {
		tx.Notify(topic, j.word(asks, l.incarnation))
	}
	if org := found[""]; org.mine != nil && org.mine.Seen < j.open && !(j.behind && j.own[""].held) {
		tx.Notify(topic, j.word(tells, l.incarnation))
	}
	return nil
}

// look takes what happened here while the transaction waited for the accounts:
// who put a question meanwhile must be told of it.
func (j *job) look(t *table) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for name, mine := range j.own {
		a := j.accounts[name]
		if a == nil {
			continue
		}
		mine.running = a.running
		if j.full { // with the records that were returned
			mine.reading = a.reading
		}
		i := 0
		t.each(levelOfName(name), a, func(_ string, r *rule, c *counter) {
			if r.Unit == Calls {
				if mine.frozen {
					c.part = 0
				}
				mine.parts[i] = c.part
			}
			i++
		})
	}
	if j.full { // all names are among the transaction's
		for i := range j.tenant.drawn {
			j.tenant.drawn[i].seq = j.seq
		}
		j.drawn, j.tenant.drawn = append(j.drawn, j.tenant.drawn...), nil
	}
}

// tell takes what was drawn from the stored accounts. An account of which this
// replica holds nothing was told already, or what it held was forfeited.
func (t *table) tell(found map[string]*account, organization int64, list []drawn) {
	for i := range list {
		d := &list[i]
		var a accounts
		for l, name := range [levels]string{"", d.principal, d.key} {
			if of := found[name]; of != nil && of.mine != nil && d.seq > of.mine.Seq {
				a[l] = of
			}
		}
		t.redo(&a, organization, d)
	}
}

// redo charges what was drawn to accounts that do not know of it.
func (t *table) redo(a *accounts, organization int64, d *drawn) {
	c := ofClass(d.class)
	for l := range a {
		if a[l] != nil {
			a[l].at = max(a[l].at, d.at)
		}
	}
	c.Organization, c.Principal, c.Key, c.Points = organization, d.principal, d.key, d.points
	if d.ends {
		t.returned(a, &c, d.records, d.at)
	} else {
		t.charge(a, t.class(&c), &c, d.at)
	}
}

// answer does one request on the accounts.
func (l *Ledger) answer(r *request, j *job) {
	org := j.found[""]
	a := accounts{org, j.found[r.charge.Principal], j.found[r.charge.Key]}
	known, waited := unsure, l.member.elapsed()-r.since
	switch {
	case waited > patience:
		known = final
	case r.question > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(org.holds)), func(h hold) bool { return h.Seen < r.question }):
		known = told
	}
	if r.asks {
		r.contested = known == unsure && len(org.holds) > 0 && waited < curiosity
		r.statuses = l.table.status(&a, r.now, nil)
	} else {
		r.decision, r.contested = l.table.take(&a, &r.charge, r.now, known)
	}
	// What one account gave back may show that another one is in the way.
	if r.puts = r.contested && (r.question == 0 || known == told); r.puts {
		j.question = org.asked + 1
	}
}

// store writes the accounts, and what this replica holds of them from now on.
func (l *Ledger) store(ctx context.Context, tx db.Tx, j *job) error {
	org := j.found[""]
	grants := l.member.fresh() && !l.tenants.closing.Load()
	kept := j.kept
	for _, name := range slices.Backward(j.names) { // the organization's own is the last
		a, mine := j.found[name], j.own[name]
		h := l.table.grant(levelOfName(name), a, hold{Seq: j.seq, Told: j.at, Running: a.running, Slots: a.running, Reading: a.reading}, grants && !mine.idle)
		mine.granted = mine.granted[:0]
		i := 0
		l.table.each(levelOfName(name), a, func(_ string, _ *rule, c *counter) {
			had := int64(0)
			if i < len(mine.parts) {
				had = mine.parts[i]
			}
			mine.granted = append(mine.granted, c.part-had)
			i++
		})
		mine.held = len(h.Parts) > 0 || h.Slots > 0 || h.Reading > 0 || name == "" && kept
		kept = kept || mine.held
		if name == "" {
			h.Seen = j.seen(org)
			a.asked = max(a.asked, j.question)
		}
		if mine.held {
			if a.holds == nil {
				a.holds = map[string]hold{}
			}
			a.holds[l.incarnation] = h
		}
		text := l.table.encode(levelOfName(name), a)
		delete(a.holds, l.incarnation)
		alerts := a.alerts
		a.alerts = nil
		tx.Queue(upsertAccount, j.organization, name, text, a.at)
		if err := l.alert(ctx, tx, alerts); err != nil {
			return err
		}
		j.alerts += len(alerts)
	}
	return nil
}

// seen is the last question that is answered with this transaction: all, where
// it tells everything, or this replica held nothing before; and its own, where
// none was open.
func (j *job) seen(org *account) int64 {
	seen := org.asked
	j.open = org.asked
	if org.mine != nil && !j.full {
		seen = org.mine.Seen
	}
	j.behind = seen < org.asked
	if !j.behind && j.question > 0 {
		seen = j.question
	}
	return seen
}

// install makes what was stored what calls are charged to.
func (j *job) install(l *Ledger) {
	for i := range j.tenant.drawn { // meanwhile
		d := &j.tenant.drawn[i]
		l.table.redo(&accounts{j.found[""], j.found[d.principal], j.found[d.key]}, j.organization, d)
	}
	for name, a := range j.found {
		mine, old := j.own[name], j.accounts[name]
		a.alerts = nil
		a.running, a.reading = a.running-mine.running, a.reading-mine.reading // what the transaction began
		if old != nil {
			a.running, a.reading = a.running+old.running, a.reading+old.reading
			a.touched, a.used = old.touched, old.used
		} else {
			a.used = a.at
		}
		k := 0
		var parts []int64
		if old != nil {
			l.table.each(levelOfName(name), old, func(_ string, _ *rule, c *counter) { parts = append(parts, c.part) })
		}
		l.table.each(levelOfName(name), a, func(_ string, _ *rule, c *counter) {
			c.granted, c.part, c.since = c.part, mine.granted[k], 0 // nothing is drawn here late
			if parts != nil {
				c.part += parts[k]
			}
			k++
		})
		a.held = mine.held
		j.accounts[name] = a
		if !a.held && a.running == 0 && a.lockedUntil <= a.at && name != "" {
			delete(j.accounts, name)
		}
	}
	if len(j.accounts) == 1 && !j.accounts[""].held {
		clear(j.accounts)
	}
	for _, r := range j.requests {
		switch {
		case !r.contested:
			close(r.answered)
		case len(j.found[""].holds) == 0: // only this replica's own parts stand in the way
			j.waiting = append(j.waiting, r)
			j.due = true
		default:
			if r.puts {
				r.question = j.question
			}
			j.contested = append(j.contested, r)
		}
	}
	if j.behind {
		j.tenant.due, j.tenant.full = true, true
	}
}

// failed keeps what was not told, perhaps, for the next transaction.
func (j *job) failed(l *Ledger, err error) {
	j.tenant.drawn = append(j.drawn, j.tenant.drawn...)
	for _, name := range j.names {
		if j.accounts[name] == nil { // it may be held all the same
			j.accounts[name] = l.table.newAccount(levelOfName(name), l.now(time.Time{}))
			j.accounts[name].used = j.accounts[name].at
		}
		j.accounts[name].touched = true
	}
	j.tenant.full = j.tenant.full || j.full
	for _, r := range j.requests {
		r.err = err
		close(r.answered)
	}
}

// topic is what replicas notify when they ask the others, or have told them.
const topic = "kartei_limits"

const (
	asks  = "ask"
	tells = "tell"
)

func (j *job) word(kind, incarnation string) string {
	return fmt.Sprintf("%s %d %s", kind, j.organization, incarnation)
}

// hear follows a notification; an empty word says that some were missed.
func (l *Ledger) hear(word string) {
	part := strings.Fields(word)
	if len(part) != 3 {
		l.tenants.each(func(o *tenant) { l.heard(o, true) })
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
	l.heard(o, part[0] == asks)
}

// heard tells everything of an organization where others ask, and tries again
// what waited for their answer.
func (l *Ledger) heard(o *tenant, asked bool) {
	asked = asked && len(o.accounts) > 0
	if o.full = o.full || asked; asked || o.serving || len(o.contested) > 0 {
		l.serve(o)
	}
}

// tellAll has told what was not, and given back what is not used, or all of it.
func (l *Ledger) tellAll(everything bool) {
	now := l.now(time.Time{})
	l.tenants.each(func(o *tenant) {
		due := everything || len(o.drawn)+len(o.contested) > 0
		for name, a := range o.accounts {
			idle := now-a.used > idleTime
			due = due || a.touched || idle && a.parts()
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
func (l *Ledger) runHeld(ctx context.Context) {
	var beside sync.WaitGroup
	beside.Go(func() { l.member.run(ctx) })
	beside.Go(func() { l.opts.DB.Listen(ctx, topic, l.hear) })
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-l.clock.After(tellEvery):
			l.tellAll(false)
		}
	}
	beside.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := errors.Join(l.drain(last), l.member.leave(last)); err != nil {
		l.opts.Logger.Warn("limits not saved at the end", "error", err)
	}
}

// drain gives everything back and waits until it is told.
func (l *Ledger) drain(ctx context.Context) error {
	l.tenants.closing.Store(true)
	l.tellAll(true)
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

// forUpdate locks the accounts in the order of their names, the organization's
// first.
const forUpdate = ` order by subject for update`

// lockAccounts returns the named accounts, held until the transaction ends.
// Who holds the organization's account may make those that are missing.
func (l *Ledger) lockAccounts(ctx context.Context, tx db.Tx, organization int64, names []string) (map[string]*account, error) {
	found, err := l.readAccounts(ctx, tx, organization, names, forUpdate)
	if err != nil || len(found) == len(names) {
		return found, err
	}
	now := l.now(time.Time{})
	if found[""] == nil {
		fresh := l.table.encode(byOrganization, l.table.newAccount(byOrganization, now))
		tx.Queue(`insert into limits (organization, subject, state, updated_at) values ($1, '', $2, $3)
			on conflict (organization, subject) do nothing`, organization, fresh, now)
	}
	// Others may have made some while this waited for the organization's.
	if found, err = l.readAccounts(ctx, tx, organization, names, forUpdate); err != nil {
		return nil, err
	}
	for _, name := range names {
		if found[name] == nil {
			found[name] = l.table.newAccount(levelOfName(name), now)
		}
	}
	return found, nil
}
