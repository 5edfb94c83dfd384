package limit

import (
	"math/bits"
	"slices"
	"time"
)

// table is the compiled configuration. It says which policies apply to a call, and how the call is
// charged to its accounts.
type table struct {
	config  Config
	shared  bool // set if replicas share the accounts, whose reports come late
	rules   []rule
	levels  [kinds][]int // the rules of a level, as indices into rules
	classes [16]class
	// share limits the organization's points that one key may take. refusals limits the 429
	// responses that a key may get before it is locked.
	share, refusals rule
}

// class is a set of calls to which the same policies apply. There are sixteen classes.
type class struct {
	uses   []use
	rest   []Status // the statuses of a caller without usage
	header string
}

// use is the place of the counter of a policy. level is the index of the account in accounts. slot
// is the index of the counter in the account.
type use struct {
	rule  *rule
	level level
	slot  int
}

func newTable(config Config) *table {
	if err := config.Check(); err != nil {
		panic(err)
	}
	config = config.withDefaults()
	t := &table{config: config}
	for i, p := range config.Policies {
		t.rules = append(t.rules, newRule(p))
		l := levelOf(p.Level)
		t.levels[l] = append(t.levels[l], i)
		if p.Name == "organization" {
			p.Quota = max(1, p.Quota/100*config.Share+p.Quota%100*config.Share/100)
			p.Capacity = p.Quota
			t.share = newRule(p)
		}
	}
	t.refusals = newRule(Policy{refusalsName, "key", Calls, config.LockAfter, config.LockAfter, config.LockWindow})
	for i := range t.classes {
		t.classes[i] = t.newClass(ofClass(uint8(i)))
	}
	return t
}

func (t *table) newClass(c Charge) class {
	var k class
	for i := range t.rules {
		r := &t.rules[i]
		if !r.applies(&c) {
			continue
		}
		l := levelOf(r.Level)
		k.uses = append(k.uses, use{r, l.place(), slices.Index(t.levels[l], i)})
		k.rest = append(k.rest, t.atRest(r))
	}
	_, k.header = Headers(k.rest)
	return k
}

// atRest returns the status of a policy without usage. If limits are not enforced, its remainder is
// the quota and not the capacity, as the contract demands.
func (t *table) atRest(r *rule) Status {
	s := Status{Policy: r.Policy, Remaining: r.Quota}
	if t.config.Metered {
		s.Remaining = r.Capacity
	}
	return s
}

func (t *table) class(c *Charge) *class { return &t.classes[c.class()] }

// class returns the index of the call's class in table.classes.
func (c *Charge) class() (i uint8) {
	if c.Write {
		i |= 1
	}
	if c.Delete {
		i |= 2
	}
	if c.Reads {
		i |= 4
	}
	if c.Session {
		i |= 8
	}
	return i
}

// ofClass returns a charge that belongs to the class with this index.
func ofClass(i uint8) Charge {
	return Charge{Write: i&1 != 0, Delete: i&2 != 0, Reads: i&4 != 0, Session: i&8 != 0}
}

// begin returns the class of a call, and the decision about a caller without usage.
func (t *table) begin(c *Charge) (*class, Decision) {
	k := t.class(c)
	return k, Decision{Statuses: append(c.Into[:0], k.rest...), PolicyHeader: k.header}
}

// urgent is the unsaved usage, in thousandths of a day or hour quota, at which an account is saved
// at once.
const urgent = 100

// accounts are the three accounts to which one call is charged, in the order of
// their levels.
type accounts [levels]*account

// knowledge says how much is known about the holdings of other replicas.
type knowledge uint8

const (
	// unsure means that leases may be used or not, and that calls may have ended.
	unsure knowledge = iota
	// reported means that each replica has reported its running calls since the call arrived.
	reported
	// final means that the decision waits for no further report.
	final
)

// take checks every policy that applies, and charges all policies or none. The caller holds the
// locks of the accounts. If only leases of other replicas prevent the call, take neither allows nor
// refuses it. The call is then disputed, and the accounts are in cooldown until the leases are
// recalled.
func (t *table) take(a *accounts, c *Charge, now int64, known knowledge) (d Decision, disputed bool) {
	k, d := t.begin(c)
	key := a[byKey]
	for l := range a {
		a[l].at = max(a[l].at, now)
	}
	if key.lockedUntil > key.at {
		t.showLock(&d, key)
		return d, false
	}
	for i := range k.uses {
		u := &k.uses[i]
		ok, open := t.permits(a[u.level], u, &a[u.level].counters[u.slot], u.rule, c, known)
		if u.level == byOrganization {
			own, ownOpen := t.permits(key, u, &key.share, &t.share, c, known)
			ok, open = ok && own, open || ownOpen
		}
		disputed = disputed || open
		if !ok {
			d.Violated = append(d.Violated, u.rule.Name)
			d.Quota = d.Quota || u.rule.long()
		}
	}
	if d.Violated != nil && known != final && key.reserved() && t.locksNext(key) {
		key.cooldown, disputed = key.at+cooldownTime, true // the lock must hold in all replicas
	}
	if disputed {
		return d, true
	}
	if d.Violated == nil {
		t.charge(a, k, c, key.at)
		key.begin(c)
	}
	for i := range k.uses {
		t.read(a, &k.uses[i], &d.Statuses[i], d.Violated == nil, d.Violated != nil)
	}
	tightestFirst(d.Statuses)
	if d.Violated != nil {
		t.refuse(a, &d, k, c)
	}
	return d, false
}

// cooldownTime is the time for which an account grants no leases after a dispute, in microseconds.
const cooldownTime = 1_000_000

// permits checks one policy for a call. ok says that the policy lets the call pass. open says that
// the result depends on leases of other replicas. Then permits puts the account in cooldown.
func (t *table) permits(a *account, u *use, counter *counter, r *rule, c *Charge, known knowledge) (ok, open bool) {
	r.advance(counter, a.at)
	left := r.left(counter)
	if r.Unit == Calls {
		left = r.Quota - a.running
	}
	amount := r.amount(c)
	need := r.least(amount, a.beside(), false)
	ok = need == 0 || left >= need && (counter.reserved == 0 || left >= r.least(amount, a.beside(), true)+counter.reserved)
	if known == reported && counter.reserved == r.inUseElsewhere(a) {
		// The running calls use everything that the other replicas hold, and are known. The records
		// that they return are charged when they end.
		ok, known = ok || r.Unit == Records && left >= need, final
	}
	if !ok && left >= need && known != final {
		a.cooldown, open = a.at+cooldownTime, true
	}
	return ok, open
}

// charge charges a call to every policy of the accounts that are not nil. at may be before the
// account's time, because reports come late.
func (t *table) charge(a *accounts, k *class, c *Charge, at int64) {
	key := a[byKey]
	for i := range k.uses {
		u := &k.uses[i]
		account, amount := a[u.level], u.rule.amount(c)
		if u.level == byOrganization && key != nil {
			t.share.advance(&key.share, key.at)
			t.share.take(&key.share, at, t.share.amount(c))
		}
		if account == nil || u.rule.Unit == Calls {
			continue
		}
		counter := &account.counters[u.slot]
		u.rule.advance(counter, account.at)
		u.rule.take(counter, at, amount)
		if u.rule.long() && amount > 0 {
			t.took(key, u.rule, counter, c, amount)
		}
		account.dirty = true
	}
	if key != nil {
		key.dirty = true
	}
}

// takeLeased charges a call to the leases of this replica. ok is false if the leases do not
// suffice. Then takeLeased charges nothing.
func (t *table) takeLeased(a *accounts, c *Charge, now int64) (d Decision, ok bool) {
	k, key := t.class(c), a[byKey]
	for l := range a {
		a[l].at = max(a[l].at, now)
	}
	if key.lockedUntil > key.at {
		_, d = t.begin(c)
		t.showLock(&d, key)
		return d, true
	}
	for i := range k.uses {
		u := &k.uses[i]
		if a[u.level].counters[u.slot].lease < u.rule.least(u.rule.amount(c), key.beside(), true) {
			return d, false
		}
		if u.level == byOrganization && key.share.lease < t.share.amount(c) {
			return d, false
		}
	}
	_, d = t.begin(c)
	t.charge(a, k, c, key.at)
	key.alerts = nil // the transaction that stores the account raises these alerts
	key.begin(c)
	for i := range k.uses {
		u := &k.uses[i]
		a[u.level].counters[u.slot].lease -= u.rule.amount(c)
		if u.level == byOrganization {
			key.share.lease -= t.share.amount(c)
		}
		t.read(a, u, &d.Statuses[i], true, false)
	}
	tightestFirst(d.Statuses)
	return d, true
}

// low reports whether more than half of a lease is used. The replica then asks for more.
func (t *table) low(a *accounts, c *Charge) bool {
	k := t.class(c)
	for i := range k.uses {
		u := &k.uses[i]
		if counter := &a[u.level].counters[u.slot]; u.rule.Unit != Calls && 2*counter.lease < counter.granted {
			return true
		}
	}
	return 2*a[byKey].share.lease < a[byKey].share.granted
}

// grant gives this replica leases on the free part of an account, and returns the replica's new
// holding. If more is not set, the replica only keeps its old leases.
func (t *table) grant(l level, a *account, h holding, more bool) holding {
	h.Leases = map[string]int64{}
	t.each(l, a, func(name string, r *rule, c *counter) {
		kept := c.lease
		if more && a.cooldown <= a.at && name != refusalsName {
			r.advance(c, a.at)
			free := r.left(c)
			if r.Unit == Calls {
				free = r.Quota - a.running
			}
			c.lease = max(kept, r.leaseSize(free-c.reserved+kept))
		}
		c.reserved += c.lease - kept
		switch {
		case r.Unit == Calls && name != refusalsName:
			h.Slots += c.lease
		case c.lease > 0:
			h.Leases[name] = c.lease
		}
	})
	return h
}

// took records usage of a day or hour quota. The account is then saved soon. took raises an alert
// if the usage has reached AlertAt.
func (t *table) took(key *account, r *rule, counter *counter, c *Charge, amount int64) {
	key.unsaved += max(1, amount*1000/r.Quota)
	used := r.used(counter)
	if counter.alerted > key.at || used*100 < t.config.AlertAt*r.Quota {
		return
	}
	counter.alerted = key.at + r.window
	t.alert(key, r, c, used, false)
}

func (t *table) alert(key *account, r *rule, c *Charge, used int64, exhausted bool) {
	key.alerts = append(key.alerts, Alert{
		c.Organization, c.Principal, c.Key, c.Session, r.Name, used, r.Quota, key.at, exhausted,
	})
	key.dirty, key.unsaved = true, key.unsaved+urgent
}

// read stores the remainder of a policy in s. If over is set, one running call does not count,
// because it has ended when its caller reads s.
//
// The remainder of the organization's policy is shared by all keys. It is replaced by the remainder
// of the key's share if that is smaller. If the call was not refused, the share's remainder must
// also be less than a tenth of the quota.
func (t *table) read(a *accounts, u *use, s *Status, over, refused bool) {
	key := a[byKey]
	if u.rule.Unit == Calls {
		n := key.inFlight()
		if over {
			n = max(0, n-1)
		}
		s.Remaining = max(0, u.rule.Quota-n)
		if s.Reset = 0; n > 0 {
			s.Reset = time.Second
		}
		return
	}
	account := a[u.level]
	u.rule.read(&account.counters[u.slot], account.at, s)
	if u.level == byOrganization {
		var share Status
		t.share.read(&key.share, key.at, &share)
		if share.Remaining < s.Remaining && (share.Remaining < u.rule.Quota/10 || refused) {
			s.Remaining, s.Reset = share.Remaining, max(s.Reset, share.Reset)
		}
	}
}

// refuse sets RetryAfter of a refused call and counts the refusal. It locks a
// key that has too many refusals.
func (t *table) refuse(a *accounts, d *Decision, k *class, c *Charge) {
	key := a[byKey]
	d.RetryAfter = retryAfter(d)
	if c.Session { // a session is never locked and has no key to pause
		return
	}
	if t.config.Exhausted {
		t.noteExhausted(key, d, k, c)
	}
	t.refusals.advance(&key.refusals, key.at)
	t.refusals.take(&key.refusals, key.at, 1)
	key.dirty = true
	if key.refusals.sum > t.config.LockAfter {
		key.refusals = t.refusals.fresh(key.at)
		key.lockedUntil = key.at + t.config.LockTime.Microseconds()
		key.unsaved += urgent
		t.showLock(d, key)
	}
}

// locksNext reports whether the next refusal locks the key.
func (t *table) locksNext(key *account) bool {
	t.refusals.advance(&key.refusals, key.at)
	return key.refusals.sum >= t.config.LockAfter
}

// reserved reports whether any replica holds leases on the account. The replica's calls may then
// pass without a transaction.
func (a *account) reserved() bool {
	for _, h := range a.holdings {
		if len(h.Leases) > 0 {
			return true
		}
	}
	return a.leased()
}

// leased reports whether this replica has an unused lease on the account.
func (a *account) leased() bool {
	for i := range a.counters {
		if a.counters[i].lease > 0 {
			return true
		}
	}
	return a.share.lease > 0
}

// noteExhausted raises an alert if the day quota of deletes refused the call. It raises at most one
// alert in each window.
func (t *table) noteExhausted(key *account, d *Decision, k *class, c *Charge) {
	for i := range k.uses {
		u := &k.uses[i]
		if u.rule.Unit != Deletes || !u.rule.long() || !slices.Contains(d.Violated, u.rule.Name) {
			continue
		}
		if counter := &key.counters[u.slot]; counter.exhausted <= key.at {
			counter.exhausted = key.at + u.rule.window
			t.alert(key, u.rule, c, u.rule.used(counter), true)
		}
	}
}

// showLock makes d the refusal of a locked key. The policy key then has no remainder until the lock
// ends.
func (t *table) showLock(d *Decision, key *account) {
	rest := time.Duration(key.lockedUntil-key.at) * time.Microsecond
	first := slices.IndexFunc(d.Statuses, func(s Status) bool { return s.Name == "key" })
	if first >= 0 {
		s := d.Statuses[first]
		s.Remaining, s.Reset = 0, rest
		copy(d.Statuses[1:first+1], d.Statuses[:first])
		d.Statuses[0] = s
	}
	d.Violated, d.Quota, d.Locked = []string{"key"}, false, true
	d.RetryAfter = (rest + time.Second - 1).Truncate(time.Second)
}

// beside returns the number of running calls that may still return records. Nested calls count too.
func (a *account) beside() int64 { return max(a.running, a.reading) }

// begin counts a call as running in the account of its key.
func (a *account) begin(c *Charge) {
	if !c.Nested {
		a.running++
	}
	if c.Reads {
		a.reading++
	}
}

// end stops counting a call as running.
func (a *account) end(c *Charge) {
	if !c.Nested {
		a.running = max(0, a.running-1)
	}
	if c.Reads {
		a.reading = max(0, a.reading-1)
	}
}

// done ends a call that passed, and charges its records.
func (t *table) done(a *accounts, c *Charge, records int, now int64) {
	key := a[byKey]
	key.at = max(key.at, now)
	key.end(c)
	key.dirty = true
	t.returned(a, c, records, key.at)
}

// returned charges the records that a call returned. at is the time of the charge.
func (t *table) returned(a *accounts, c *Charge, records int, at int64) {
	if records <= 0 || !c.Reads {
		return
	}
	k := t.class(c)
	for i := range k.uses {
		u := &k.uses[i]
		account := a[u.level]
		if u.rule.Unit != Records || account == nil {
			continue
		}
		account.at = max(account.at, at)
		counter := &account.counters[u.slot]
		u.rule.advance(counter, account.at)
		u.rule.take(counter, at, int64(records))
		account.dirty = true
		t.took(account, u.rule, counter, c, int64(records))
	}
}

// Returned subtracts records from the statuses of the decision. The caller will pass the same
// number to Done, which charges them.
func (d *Decision) Returned(records int) {
	for i := range d.Statuses {
		s := &d.Statuses[i]
		if s.Unit != Records || records <= 0 {
			continue
		}
		s.Remaining = max(0, s.Remaining-int64(records))
		if s.Capacity > s.Quota { // a bucket
			s.Reset += s.Window * time.Duration(records) / time.Duration(s.Quota)
		} else {
			s.Reset = s.Window
		}
		tightestFirst(d.Statuses)
		return
	}
}

// Least lowers each status of the decision to the smallest status of the same policy in the other
// decisions.
func (d *Decision) Least(others ...*Decision) {
	for i := range d.Statuses {
		s := &d.Statuses[i]
		for _, other := range others {
			for _, o := range other.Statuses {
				if o.Name == s.Name && (o.Remaining < s.Remaining || o.Remaining == s.Remaining && o.Reset > s.Reset) {
					*s = o
				}
			}
		}
	}
	tightestFirst(d.Statuses)
}

// status appends the status of every policy that concerns the caller to out. The current call does
// not count as running, because it has ended when its caller reads the response.
func (t *table) status(a *accounts, c *Charge, now int64, out []Status) []Status {
	for l := range a {
		a[l].at = max(a[l].at, now)
	}
	var slots [kinds]int
	for i := range t.rules {
		r := &t.rules[i]
		l := levelOf(r.Level)
		u := use{r, l.place(), slots[l]}
		slots[l]++
		if !r.concerns(c) {
			continue
		}
		r.advance(&a[u.level].counters[u.slot], a[u.level].at)
		t.share.advance(&a[byKey].share, a[byKey].at)
		s := t.atRest(r)
		t.read(a, &u, &s, a[byKey].running > 0, false)
		out = append(out, s)
	}
	return out
}

// tightestFirst moves the tightest status to the front: its Remaining is the smallest share of its
// Capacity. The others keep their order. If two are equally tight, the earlier one comes first.
func tightestFirst(s []Status) {
	t := 0
	for i := 1; i < len(s); i++ {
		if tighter(&s[i], &s[t]) {
			t = i
		}
	}
	if t > 0 {
		first := s[t]
		copy(s[1:t+1], s[:t])
		s[0] = first
	}
}

// tighter reports whether a has a smaller share of its capacity left than b. It compares cross
// products in 128 bits, because fractions would be inexact.
func tighter(a, b *Status) bool {
	ah, al := bits.Mul64(uint64(a.Remaining), uint64(b.Capacity))
	bh, bl := bits.Mul64(uint64(b.Remaining), uint64(a.Capacity))
	return ah < bh || ah == bh && al < bl
}

// retryAfter returns the longest Reset of the policies that refused and of the first status, but at
// least one second. The RateLimit header shows the first status.
func retryAfter(d *Decision) time.Duration {
	seconds := max(1, d.Statuses[0].ResetSeconds())
	for i := range d.Statuses {
		if slices.Contains(d.Violated, d.Statuses[i].Name) {
			seconds = max(seconds, d.Statuses[i].ResetSeconds())
		}
	}
	return time.Duration(seconds) * time.Second
}
