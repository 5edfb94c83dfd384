package limit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"kartei/store/db"
)

// transaction is one transaction of an organization. It reports usage, serves requests and renews
// the leases of this replica.
type transaction struct {
	*tenant
	seq      int64
	at       int64
	full     bool
	requests []*request
	usages   []usage
	names    []string
	own      map[string]*localState
	kept     bool // set if the replica keeps leases on accounts that are not in names

	// The fields below are the result.
	found      map[string]*account
	recall     int64 // the number of the recall that the transaction starts, or 0
	alerts     int
	openRecall int64 // the number of the last recall by another replica
	unanswered bool  // set if this transaction does not answer that recall
	// unwanted are the requests that the transaction charged although their callers had stopped
	// waiting.
	unwanted []*request
}

// localState is this replica's state of an account when the transaction begins.
type localState struct {
	running int64
	reading int64
	leases  []int64
	granted []int64 // by how much the transaction increases each lease
	idle    bool
	frozen  bool // set if the transaction returns the leases
	held    bool // set if the replica has a holding of the account after the transaction
}

// prepare returns a transaction for all unreported usage and all requests of a tenant.
func (l *Ledger) prepare(o *tenant) *transaction {
	j := &transaction{
		tenant:   o,
		seq:      l.tenants.sent.Add(1),
		full:     o.full,
		requests: append(o.waiting, o.disputed...),
		usages:   o.unreported,
		own:      map[string]*localState{},
	}
	o.waiting, o.disputed, o.due, o.full = nil, nil, false, false
	o.unreported, o.spareUsages = o.spareUsages, nil
	now := l.now(time.Time{})
	j.at = now
	names := map[string]bool{"": true}
	for i := range j.usages {
		d := &j.usages[i]
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
		if j.full || a.touched || a.leased() && (a.cooldown > now || l.idle(o, a, now)) {
			names[name] = true
		}
		j.kept = j.kept || a.held && !names[name]
	}
	j.names = slices.Sorted(maps.Keys(names))
	for _, name := range j.names {
		local := &localState{}
		j.own[name] = local
		a := o.accounts[name]
		if a == nil {
			continue
		}
		local.running, local.reading = a.running, a.reading
		a.touched, local.idle = false, l.idle(o, a, now)
		local.frozen = j.full || local.idle || a.cooldown > now
		a.at = max(a.at, now) // no later usage gets an earlier time
		l.table.each(levelOfName(name), a, func(_ string, _ *rule, c *counter) {
			if c.lease < 0 || local.frozen {
				c.lease = 0
			}
			local.leases = append(local.leases, c.lease)
		})
	}
	return j
}

// run runs transactions in as few database transactions as possible, and hands their results to
// their tenants.
func (l *Ledger) run(round []*transaction) {
	for create := false; len(round) > 1; create = true {
		missing, err := l.runTogether(round, create)
		if err != nil {
			missing = nil
		}
		for _, j := range round {
			if !slices.Contains(missing, j) {
				l.finish(j, err)
			}
		}
		round = missing
	}
	for _, j := range round {
		l.finish(j, l.runAlone(j))
	}
}

// runAlone runs one transaction in its own database transaction.
func (l *Ledger) runAlone(j *transaction) error {
	if len(j.requests) == 0 && !j.full {
		l.tenants.reporters <- struct{}{}
		defer func() { <-l.tenants.reporters }()
	}
	return l.write(func(tx db.Tx) error { return l.transact(tx, j) })
}

// write runs f in a database transaction. If f meets a replica that this process does not know,
// write looks the replica up and tries again, up to three times.
func (l *Ledger) write(f func(tx db.Tx) error) error {
	for try := 1; ; try++ {
		err := l.opts.DB.Write(context.Background(), f)
		var unknown *unknownReplicaError
		if !errors.As(err, &unknown) || try == 3 {
			return err
		}
		if err := l.replicas.Resolve(context.Background(), unknown.incarnation); err != nil {
			return err
		}
	}
}

// asynchronous lets a commit return before the server has written it to its disk. A crash of the
// server then loses the counts of a fraction of a second. Waiting would slow down every call.
const asynchronous = "set local synchronous_commit = off"

// transact reports usage, serves the requests and grants new leases within tx. It may run more than
// once.
func (l *Ledger) transact(tx db.Tx, j *transaction) error {
	ctx := context.Background()
	tx.Queue(asynchronous)
	found, err := l.lockAccounts(ctx, tx, j.organization, j.names)
	if err != nil {
		return err
	}
	rows, raised := l.reckon(j, found)
	for _, r := range rows {
		tx.Queue(upsertAccount, j.organization, r.name, r.text, r.at)
	}
	if err := l.alert(ctx, tx, raised); err != nil {
		return err
	}
	l.notify(tx, j)
	return nil
}

// runTogether runs the transactions of many organizations in one database transaction. It returns
// the transactions that it left out because their organization has no account yet.
//
// If create is set, it creates these accounts first, in the order of the organizations. All
// transactions lock in this order.
func (l *Ledger) runTogether(round []*transaction, create bool) (missing []*transaction, err error) {
	slices.SortFunc(round, func(a, b *transaction) int { return cmp.Compare(a.organization, b.organization) })
	err = l.write(func(tx db.Tx) (err error) {
		missing, err = l.transactTogether(tx, round, create)
		return err
	})
	return missing, err
}

const (
	// selectTogether reads and locks accounts in the order of the parameter. The lateral query
	// prevents a plan that reads the whole table.
	selectTogether = `select a.organization, a.subject, a.state from %s as wanted(value), lateral (select organization, subject, state from limits
		where organization = cast(wanted.value ->> 0 as bigint) and subject = wanted.value ->> 1 for update) as a`
	upsertTogether = `insert into limits (organization, subject, state, updated_at)
		select cast(r.value ->> 0 as bigint), r.value ->> 1, r.value ->> 2, cast(r.value ->> 3 as bigint) from %s as r(value) where true
		on conflict (organization, subject) do update set state = excluded.state, updated_at = excluded.updated_at`
	createTogether = `insert into limits (organization, subject, state, updated_at)
		select cast(r.value ->> 0 as bigint), '', r.value ->> 1, cast(r.value ->> 2 as bigint) from %s as r(value) where true
		on conflict (organization, subject) do nothing`
)

// transactTogether does for many organizations what transact does for one.
func (l *Ledger) transactTogether(tx db.Tx, round []*transaction, create bool) (missing []*transaction, err error) {
	ctx := context.Background()
	tx.Queue(asynchronous)
	tx.Queue("set local enable_seqscan = off") // a plan may have been made while the table was small
	if create {
		l.createTogether(tx, round)
	}
	found, err := l.lockTogether(ctx, tx, round)
	if err != nil {
		return nil, err
	}
	if err := l.completeTogether(ctx, tx, round, found); err != nil {
		return nil, err
	}
	var stored [][]any
	var raised []Alert
	for _, j := range round {
		if found[j.organization] == nil {
			missing = append(missing, j)
			continue
		}
		rows, some := l.reckon(j, found[j.organization])
		raised = append(raised, some...)
		for _, r := range rows {
			stored = append(stored, []any{j.organization, r.name, r.text, r.at})
		}
	}
	if len(stored) > 0 {
		tx.Queue(fmt.Sprintf(upsertTogether, fmt.Sprintf(tx.Dialect().Rows, "$1")), db.Tuples(stored))
	}
	if err := l.alert(ctx, tx, raised); err != nil {
		return nil, err
	}
	for _, j := range round {
		if found[j.organization] != nil {
			l.notify(tx, j)
		}
	}
	return missing, nil
}

// createTogether creates the accounts of organizations that have none.
func (l *Ledger) createTogether(tx db.Tx, round []*transaction) {
	now := l.now(time.Time{})
	fresh := l.table.encode(byOrganization, l.table.newAccount(byOrganization, now))
	var rows [][]any
	for _, j := range round {
		rows = append(rows, []any{j.organization, fresh, now})
	}
	tx.Queue(fmt.Sprintf(createTogether, fmt.Sprintf(tx.Dialect().Rows, "$1")), db.Tuples(rows))
}

// completeTogether adds the missing accounts of the organizations to found. The holder of the lock
// on the organization's account may create its other accounts.
//
// Another transaction may have created some accounts while this transaction waited for the lock. So
// completeTogether reads them again. It removes an organization that has no account of its own.
func (l *Ledger) completeTogether(
	ctx context.Context, tx db.Tx, round []*transaction, found map[int64]map[string]*account,
) error {
	var incomplete []*transaction
	for _, j := range round {
		switch accounts := found[j.organization]; {
		case accounts[""] == nil:
			delete(found, j.organization)
		case len(accounts) < len(j.names):
			incomplete = append(incomplete, j)
		}
	}
	if len(incomplete) == 0 {
		return nil
	}
	again, err := l.lockTogether(ctx, tx, incomplete)
	if err != nil {
		return err
	}
	now := l.now(time.Time{})
	for _, j := range incomplete {
		accounts := again[j.organization]
		for _, name := range j.names {
			if accounts[name] == nil {
				accounts[name] = l.table.newAccount(levelOfName(name), now)
			}
		}
		found[j.organization] = accounts
	}
	return nil
}

// lockTogether returns the stored accounts of the transactions, by organization and name. They are
// locked until the transaction ends. The accounts of an organization are locked in the order of
// lockAccounts, its own account first.
func (l *Ledger) lockTogether(
	ctx context.Context, tx db.Tx, round []*transaction,
) (map[int64]map[string]*account, error) {
	var wanted [][]any
	for _, j := range round {
		for _, name := range j.names {
			wanted = append(wanted, []any{j.organization, name})
		}
	}
	rows, err := tx.Query(ctx, fmt.Sprintf(selectTogether, fmt.Sprintf(tx.Dialect().Rows, "$1")), db.Tuples(wanted))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var unknown error
	found := map[int64]map[string]*account{}
	for rows.Next() {
		var organization int64
		var name, text string
		if err := rows.Scan(&organization, &name, &text); err != nil {
			return nil, err
		}
		a, err := l.read(name, text, &unknown)
		if err != nil {
			return nil, err
		}
		if found[organization] == nil {
			found[organization] = map[string]*account{}
		}
		found[organization][name] = a
	}
	if unknown != nil {
		return nil, unknown
	}
	return found, rows.Err()
}

// reckon charges the usage and serves the requests on the stored accounts. It returns the new rows
// of the accounts and the alerts that they raise.
func (l *Ledger) reckon(j *transaction, found map[string]*account) ([]row, []Alert) {
	j.found, j.recall, j.alerts = found, 0, 0
	j.refresh(l.table)
	l.table.applyUsages(found, j.organization, j.usages)
	for name, a := range found {
		a.running, a.reading = j.own[name].running, j.own[name].reading
		i := 0
		l.table.each(levelOfName(name), a, func(_ string, _ *rule, c *counter) {
			if i < len(j.own[name].leases) {
				c.lease = j.own[name].leases[i]
				c.reserved += c.lease
			}
			i++
		})
	}
	for _, r := range j.requests {
		l.try(r, j)
	}
	return l.encode(j)
}

// notify sends a notification if the transaction starts a recall. It sends another one if the
// transaction answers a recall of another replica.
func (l *Ledger) notify(tx db.Tx, j *transaction) {
	if j.recall > 0 {
		tx.Notify(topic, j.message(recallWord, l.incarnation))
	}
	if org := j.found[""]; org.mine != nil && org.mine.Recalled < j.openRecall && !(j.unanswered && j.own[""].held) {
		tx.Notify(topic, j.message(reportWord, l.incarnation))
	}
}

// refresh adds the changes in this replica while the transaction waited for the row locks. A
// replica that started a recall in that time must see them.
func (j *transaction) refresh(t *table) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for name, local := range j.own {
		a := j.accounts[name]
		if a == nil {
			continue
		}
		local.running = a.running
		if j.full { // usages then include the returned records
			local.reading = a.reading
		}
		i := 0
		t.each(levelOfName(name), a, func(_ string, r *rule, c *counter) {
			if r.Unit == Calls {
				if local.frozen {
					c.lease = 0
				}
				local.leases[i] = c.lease
			}
			i++
		})
	}
	if j.full { // names then has all accounts
		for i := range j.tenant.unreported {
			j.tenant.unreported[i].seq = j.seq
		}
		j.usages, j.tenant.unreported = append(j.usages, j.tenant.unreported...), nil
	}
}

// applyUsages charges usages to the stored accounts. The sequence number makes that idempotent. It
// skips an account without a holding of this replica, because the usage was already reported or the
// holding forfeited.
func (t *table) applyUsages(found map[string]*account, organization int64, list []usage) {
	for i := range list {
		d := &list[i]
		var a accounts
		for l, name := range [levels]string{"", d.principal, d.key} {
			if of := found[name]; of != nil && of.mine != nil && d.seq > of.mine.Seq {
				a[l] = of
			}
		}
		t.replay(&a, organization, d)
	}
}

// replay charges one usage to the accounts that are not nil.
func (t *table) replay(a *accounts, organization int64, d *usage) {
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

// try serves one request on the accounts, and says whether it is disputed.
func (l *Ledger) try(r *request, j *transaction) {
	org := j.found[""]
	a := accounts{org, j.found[r.charge.Principal], j.found[r.charge.Key]}
	known, waited := unsure, l.replicas.Elapsed()-r.since
	switch {
	case waited > l.opts.callWait():
		known = final
	case r.recall > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(org.holdings)),
		func(h holding) bool { return h.Recalled < r.recall }):
		known = reported
	}
	if r.statusOnly {
		r.disputed = known == unsure && len(org.holdings) > 0 && waited < l.opts.statusWait()
		r.statuses = l.table.status(&a, &r.charge, r.now, nil)
	} else {
		r.decision, r.disputed = l.table.take(&a, &r.charge, r.now, known)
	}
	// Once the leases on one account have returned, leases on another account may still prevent the
	// call.
	if r.startsRecall = r.disputed && (r.recall == 0 || known == reported); r.startsRecall {
		j.recall = org.recalls + 1
	}
}

// row is the new row of an account.
type row struct {
	name, text string
	at         int64
}

// encode returns the rows of the accounts with the new holdings of this replica. It also returns
// the alerts that the accounts raise.
func (l *Ledger) encode(j *transaction) (rows []row, raised []Alert) {
	org := j.found[""]
	grants := l.replicas.Fresh() && !l.tenants.closing.Load()
	kept := j.kept
	for _, name := range slices.Backward(j.names) { // the account of the organization comes last
		a, local := j.found[name], j.own[name]
		h := l.table.grant(levelOfName(name), a,
			holding{Seq: j.seq, Reported: j.at, Running: a.running, Slots: a.running, Reading: a.reading}, grants && !local.idle)
		local.granted = local.granted[:0]
		i := 0
		l.table.each(levelOfName(name), a, func(_ string, _ *rule, c *counter) {
			had := int64(0)
			if i < len(local.leases) {
				had = local.leases[i]
			}
			local.granted = append(local.granted, c.lease-had)
			i++
		})
		local.held = len(h.Leases) > 0 || h.Slots > 0 || h.Reading > 0 || name == "" && kept
		kept = kept || local.held
		if name == "" {
			h.Recalled = j.recalled(org)
			a.recalls = max(a.recalls, j.recall)
		}
		if local.held {
			if a.holdings == nil {
				a.holdings = map[string]holding{}
			}
			a.holdings[l.incarnation] = h
		}
		text := l.table.encode(levelOfName(name), a)
		delete(a.holdings, l.incarnation)
		alerts := a.alerts
		a.alerts = nil
		rows = append(rows, row{name, text, a.at})
		raised = append(raised, alerts...)
	}
	j.alerts = len(raised)
	return rows, raised
}

// recalled returns the number of the last recall that this transaction answers. The transaction
// answers all recalls if it reports everything, or if this replica had no holding before. If no
// other recall is open, it answers its own recall too.
func (j *transaction) recalled(org *account) int64 {
	seen := org.recalls
	j.openRecall = org.recalls
	if org.mine != nil && !j.full {
		seen = org.mine.Recalled
	}
	j.unanswered = seen < org.recalls
	if !j.unanswered && j.recall > 0 {
		seen = j.recall
	}
	return seen
}

// apply replaces the accounts in memory by the stored accounts. This replica then charges calls to
// them.
func (j *transaction) apply(l *Ledger) {
	j.alone, j.reportedAt = len(j.found[""].holdings) == 0, j.at
	if cap(j.usages) <= 2*maxUnreported {
		j.spareUsages = j.usages[:0]
	}
	for i := range j.tenant.unreported { // usage since the transaction began
		d := &j.tenant.unreported[i]
		l.table.replay(&accounts{j.found[""], j.found[d.principal], j.found[d.key]}, j.organization, d)
	}
	for name, a := range j.found {
		local, old := j.own[name], j.accounts[name]
		a.alerts = nil
		a.running, a.reading = a.running-local.running, a.reading-local.reading // calls that the transaction itself began
		if old != nil {
			a.running, a.reading = a.running+old.running, a.reading+old.reading
			a.touched, a.used = old.touched, old.used
		} else {
			a.used = a.at
		}
		k := 0
		var parts []int64
		if old != nil {
			l.table.each(levelOfName(name), old, func(_ string, _ *rule, c *counter) { parts = append(parts, c.lease) })
		}
		l.table.each(levelOfName(name), a, func(_ string, _ *rule, c *counter) {
			c.granted, c.lease, c.since = c.lease, local.granted[k], 0 // no late report reaches this copy
			if parts != nil {
				c.lease += parts[k]
			}
			k++
		})
		a.held = local.held
		j.accounts[name] = a
		if !a.held && a.running == 0 && a.lockedUntil <= a.at && name != "" {
			delete(j.accounts, name)
		}
	}
	if len(j.accounts) == 1 && !j.accounts[""].held {
		clear(j.accounts)
	}
	for _, r := range j.requests {
		r.tries++
		switch {
		case r.givenUp:
			if !r.disputed && !r.statusOnly && r.decision.Violated == nil {
				j.unwanted = append(j.unwanted, r)
			}
			close(r.done)
		case !r.disputed:
			close(r.done)
		case len(j.found[""].holdings) == 0: // only leases of this replica prevent the call
			j.waiting = append(j.waiting, r)
			j.due = true
		default:
			if r.startsRecall {
				r.recall = j.recall
			}
			j.disputed = append(j.disputed, r)
		}
	}
	if j.unanswered {
		j.tenant.due, j.tenant.full = true, true
	}
}

// failed keeps the usage for the next transaction, which reports it again. The failed transaction
// may have been committed all the same.
func (j *transaction) failed(l *Ledger, err error) {
	j.tenant.unreported = append(j.usages, j.tenant.unreported...)
	j.alone = false
	for _, name := range j.names {
		if j.accounts[name] == nil { // if the transaction was committed, the lease exists
			j.accounts[name] = l.table.newAccount(levelOfName(name), l.now(time.Time{}))
			j.accounts[name].used = j.accounts[name].at
		}
		j.accounts[name].touched = true
	}
	j.tenant.full = j.tenant.full || j.full
	for _, r := range j.requests {
		r.err = err
		close(r.done)
	}
}

// forUpdate locks the rows of the accounts in the order of their names. The account of the
// organization comes first.
const forUpdate = ` order by subject for update`

// lockAccounts returns the accounts with these names. Their rows stay locked until the transaction
// ends. The holder of the lock on the organization's account may create its other accounts.
func (l *Ledger) lockAccounts(
	ctx context.Context, tx db.Tx, organization int64, names []string,
) (map[string]*account, error) {
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
	// Another transaction may have created accounts while this one waited for the lock.
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
