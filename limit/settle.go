package limit

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"kartei/store/db"
)

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
	o.waiting, o.contested, o.due, o.full = nil, nil, false, false
	o.drawn, o.spare = o.spare, nil
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
		if j.full || a.touched || a.parts() && (a.calm > now || l.idle(o, a, now)) {
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
		a.touched, mine.idle = false, l.idle(o, a, now)
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
	case waited > l.opts.patience():
		known = final
	case r.question > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(org.holds)), func(h hold) bool { return h.Seen < r.question }):
		known = told
	}
	if r.asks {
		r.contested = known == unsure && len(org.holds) > 0 && waited < l.opts.curiosity()
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
	j.alone, j.told = len(j.found[""].holds) == 0, j.at
	if cap(j.drawn) <= 2*mostDrawn {
		j.spare = j.drawn[:0]
	}
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
	j.alone = false
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
