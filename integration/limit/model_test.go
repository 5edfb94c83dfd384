package limit

import (
	"context"
	"math/big"
	"slices"
	"testing"
	"time"

	"kartei/kit/clock"
	"kartei/test/seed"

	"pgregory.net/rapid"
)

// refBucket is a token bucket of the reference. The reference implements the contract's limits in
// the simplest way, with fractions and lists, and without regard to speed.

type refBucket struct {
	level, capacity, perMicro *big.Rat
	at                        time.Time
}

func newRefBucket(p Policy, at time.Time) *refBucket {
	return &refBucket{
		level: big.NewRat(p.Capacity, 1), capacity: big.NewRat(p.Capacity, 1),
		perMicro: big.NewRat(p.Quota, p.Window.Microseconds()), at: at,
	}
}

func (r *refBucket) fill(now time.Time) {
	in := new(big.Rat).Mul(r.perMicro, big.NewRat(now.Sub(r.at).Microseconds(), 1))
	r.at = now
	if r.level.Add(r.level, in); r.level.Cmp(r.capacity) > 0 {
		r.level.Set(r.capacity)
	}
}

func (r *refBucket) left() int64 {
	return new(big.Int).Quo(r.level.Num(), r.level.Denom()).Int64()
}

// reset returns the time until the bucket is full, rounded up to whole microseconds.
func (r *refBucket) reset() time.Duration {
	missing := new(big.Rat).Sub(r.capacity, r.level)
	micros := missing.Quo(missing, r.perMicro)
	n := new(big.Int).Add(micros.Num(), new(big.Int).Sub(micros.Denom(), big.NewInt(1)))
	return time.Duration(n.Quo(n, micros.Denom()).Int64()) * time.Microsecond
}

// refWindow is a sliding window that keeps every entry forever. For large quotas, all entries of a
// granule expire together, as the comment of rule says.
type refWindow struct {
	window, granule time.Duration
	takings         []refCharge
}

type refCharge struct {
	at, first, last time.Time // first and last are times of the first and last charge of the granule
	amount          int64
}

func (w *refWindow) take(now time.Time, amount int64) {
	if amount == 0 {
		return
	}
	first := now
	if n := len(w.takings); n > 0 && w.takings[n-1].last.Add(w.window).After(now) &&
		(now.Sub(w.takings[n-1].first) < w.granule || now.Equal(w.takings[n-1].last)) {
		first = w.takings[n-1].first
		for i := range w.takings {
			if w.takings[i].first.Equal(first) {
				w.takings[i].last = now
			}
		}
	}
	w.takings = append(w.takings, refCharge{now, first, now, amount})
}

// sum returns the usage that counts at a time, and the time until it is zero. exactly returns the
// true usage in the window before a time, without granules.
func (w *refWindow) sum(now time.Time) (n int64, reset time.Duration) {
	for _, t := range w.takings {
		if t.last.Add(w.window).After(now) {
			n, reset = n+t.amount, max(reset, t.last.Add(w.window).Sub(now))
		}
	}
	return n, reset
}

func (w *refWindow) exactly(now time.Time, window time.Duration) (n int64) {
	for _, t := range w.takings {
		if t.at.Add(window).After(now) {
			n += t.amount
		}
	}
	return n
}

// office is the reference for one organization.
type office struct {
	policies []Policy
	now      func() time.Time
	buckets  map[string]*refBucket
	windows  map[string]*refWindow
	running  map[string]int64
	locked   map[string]time.Time
}

func (o *office) window(name, id string, p Policy) *refWindow {
	w := o.windows[name+id]
	if w == nil {
		w = &refWindow{window: p.Window}
		if p.Quota > 300 {
			w.granule = p.Window / 60
		}
		o.windows[name+id] = w
	}
	return w
}

func (o *office) bucket(key string, p Policy) *refBucket {
	if o.buckets[key] == nil {
		o.buckets[key] = newRefBucket(p, o.now())
	}
	o.buckets[key].fill(o.now())
	return o.buckets[key]
}

func who(p Policy, c Charge) string {
	return map[string]string{"key": c.Key, "session": c.Key, "principal": c.Principal, "organization": ""}[p.Level]
}

func concerns(p Policy, c Charge) bool {
	if c.Session != (p.Level == "session") {
		return false
	}
	switch p.Unit {
	case Writes:
		return c.Write
	case Deletes:
		return c.Delete
	case Records:
		return c.Reads
	}
	return true
}

func costs(p Policy, c Charge) int64 {
	switch p.Unit {
	case Points:
		return min(c.Points, p.Capacity)
	case Records:
		return 0
	case Calls:
		if c.Nested {
			return 0
		}
	}
	return 1
}

func share(p Policy) Policy {
	p.Quota, p.Capacity = p.Quota/2, p.Quota/2
	return p
}

// left returns the remainder of a policy, and the time until it is whole again. over is set for a
// call that has ended when its caller reads the response.
func (o *office) left(p Policy, c Charge, over, refused bool) (int64, time.Duration) {
	switch {
	case p.Unit == Calls:
		n := o.running[c.Key]
		if over {
			n--
		}
		if n <= 0 {
			return p.Quota, 0
		}
		return max(0, p.Quota-n), time.Second
	case p.Name == "key":
		b := o.bucket(c.Key, p)
		return b.left(), b.reset()
	}
	n, reset := o.window(p.Name, who(p, c), p).sum(o.now())
	left := max(0, p.Quota-n)
	if p.Name == "organization" {
		local, mineReset := o.window("share", c.Key, share(p)).sum(o.now())
		if own := max(0, share(p).Quota-local); own < left && (own < p.Quota/10 || refused) {
			return own, max(reset, mineReset)
		}
	}
	return left, reset
}

// take returns the names of the policies that refuse a call. If none refuses, it charges the call.
func (o *office) take(c Charge) (violated []string) {
	if o.locked[c.Key].After(o.now()) {
		return []string{"key"}
	}
	for _, p := range o.policies {
		if !concerns(p, c) {
			continue
		}
		var ok bool
		switch {
		case p.Unit == Calls:
			ok = c.Nested || o.running[c.Key] < p.Quota
		case p.Name == "key":
			ok = o.bucket(c.Key, p).level.Cmp(big.NewRat(costs(p, c), 1)) >= 0
		case p.Unit == Records:
			n, _ := o.window(p.Name, c.Key, p).sum(o.now())
			ok = n < p.Quota
		default:
			n, _ := o.window(p.Name, who(p, c), p).sum(o.now())
			ok = n+costs(p, c) <= p.Quota
			if p.Name == "organization" {
				local, _ := o.window("share", c.Key, share(p)).sum(o.now())
				ok = ok && local+costs(share(p), c) <= share(p).Quota
			}
		}
		if !ok {
			violated = append(violated, p.Name)
		}
	}
	if violated != nil && !c.Session {
		w := o.window("refused", c.Key, Policy{Quota: 50, Window: time.Minute})
		w.take(o.now(), 1)
		if n, _ := w.sum(o.now()); n > 50 {
			delete(o.windows, "refused"+c.Key)
			o.locked[c.Key] = o.now().Add(5 * time.Minute)
			return []string{"key"}
		}
	}
	if violated != nil {
		return violated
	}
	for _, p := range o.policies {
		switch {
		case !concerns(p, c):
		case p.Unit == Calls:
			o.running[c.Key] += costs(p, c)
		case p.Name == "key":
			b := o.bucket(c.Key, p)
			b.level = new(big.Rat).Sub(b.level, big.NewRat(costs(p, c), 1))
		default:
			o.window(p.Name, who(p, c), p).take(o.now(), costs(p, c))
			if p.Name == "organization" {
				o.window("share", c.Key, share(p)).take(o.now(), costs(share(p), c))
			}
		}
	}
	return nil
}

// sane checks the windows of the reference against the contract. No window has more usage than the
// quota. Windows of records may exceed it by one page for each concurrent call.
func (o *office) sane(t *rapid.T, p Policy, c Charge) {
	if p.Unit == Calls || p.Name == "key" {
		return
	}
	w := o.window(p.Name, who(p, c), p)
	limit := p.Quota
	if p.Unit == Records {
		limit += 12 * 100
	}
	if n := w.exactly(o.now(), p.Window); n > limit {
		t.Fatalf("%s: %d in a window of %v", p.Name, n, p.Window)
	}
	n, _ := w.sum(o.now())
	if later := w.exactly(o.now(), p.Window+w.granule); n > later {
		t.Fatalf("%s: %d count, but only %d were taken within a granule more than the window", p.Name, n, later)
	}
}

// checkDecision compares the decision about a call with the reference.
func (o *office) checkDecision(t *rapid.T, d Decision, c Charge, violated []string) {
	if !slices.Equal(d.Violated, violated) {
		t.Fatalf("%+v: violated %v, want %v", c, d.Violated, violated)
	}
	locked := o.locked[c.Key].Sub(o.now())
	var names []string
	for _, p := range o.policies {
		if concerns(p, c) {
			names = append(names, p.Name)
		}
	}
	if len(d.Statuses) != len(names) {
		t.Fatalf("%d statuses for %v", len(d.Statuses), names)
	}
	longest, quota := time.Second, false
	for i, s := range d.Statuses {
		if locked > 0 {
			if s.Name == "key" && (i != 0 || s.Remaining != 0 || s.Reset != locked) {
				t.Fatalf("locked for %v: %+v", locked, d.Statuses)
			}
			longest = locked
			continue
		}
		p := o.policies[slices.IndexFunc(o.policies, func(p Policy) bool { return p.Name == s.Name })]
		left, reset := o.left(p, c, violated == nil, violated != nil)
		if s.Policy != p || s.Remaining != left || s.Reset != reset {
			t.Fatalf("%s: %d, %v, want %d, %v", s.Name, s.Remaining, s.Reset, left, reset)
		}
		first := d.Statuses[0]
		if big.NewRat(s.Remaining, s.Capacity).Cmp(big.NewRat(first.Remaining, first.Capacity)) < 0 {
			t.Fatalf("%s is tighter than %s", s.Name, first.Name)
		}
		if i == 0 || slices.Contains(violated, s.Name) {
			longest = max(longest, reset)
		}
		quota = quota || slices.Contains(violated, s.Name) && p.Window >= time.Hour
		o.sane(t, p, c)
	}
	if d.Quota != quota {
		t.Fatalf("quota %t, violated %v", d.Quota, violated)
	}
	if want := (longest + time.Second - 1).Truncate(time.Second); violated != nil && d.RetryAfter != want {
		t.Fatalf("retry after %v, want %v", d.RetryAfter, want)
	}
}

type runningCall struct {
	charge   Charge
	decision Decision
}

// TestModel checks that the limiter and the reference agree on long random schedules. It compares
// every response: the policies that refused, each remainder and reset, the headers and the lock.
func TestModel(t *testing.T) {
	// The limits in small are lower than the limits of the contract, so calls reach them more
	// often.
	small, err := With(Override{"key", 40, 60}, Override{"writes", 8, 8}, Override{"principal", 90, 90},
		Override{"organization", 120, 120}, Override{"deletes", 3, 3}, Override{"deletes-day", 9, 9},
		Override{"outflow", 600, 600},
		Override{"session-writes", 12, 12}, Override{"session-deletes", 3, 3}, Override{"session-deletes-day", 9, 9},
		Override{"session-outflow", 700, 700})
	if err != nil {
		t.Fatal(err)
	}
	for name, policies := range map[string][]Policy{"contract": Policies(), "small": small} {
		t.Run(name, func(t *testing.T) {
			seed.Check(t, func(t *rapid.T) { compare(t, policies) })
		})
	}
}

// comparison is a limiter and its reference, which get the same calls.
type comparison struct {
	clock   *clock.Fake
	limiter *Ledger
	office  *office
	running []runningCall
}

func compare(t *rapid.T, policies []Policy) {
	c := clock.NewFake(start)
	m := &comparison{clock: c, limiter: New(Config{Metered: true, Policies: policies}, c), office: &office{
		policies: policies, now: c.Now, buckets: map[string]*refBucket{}, windows: map[string]*refWindow{},
		running: map[string]int64{}, locked: map[string]time.Time{},
	}}
	t.Repeat(map[string]func(*rapid.T){
		"call": m.call, "hang": m.hang, "end": m.endOne, "wait": m.wait, "status": m.status, "store": m.store,
	})
}

// charge draws the charge of a call.
func (m *comparison) charge(t *rapid.T) Charge {
	key := rapid.SampledFrom([]string{"key_a", "key_b", "key_c", Sessions("usr_a")}).Draw(t, "key")
	ch := Charge{
		Organization: 1, Principal: map[string]string{"key_c": "svc_c"}[key], Key: key,
		Session: key == Sessions("usr_a"),
	}
	if ch.Principal == "" {
		ch.Principal = "usr_a"
	}
	switch rapid.SampledFrom([]string{"get", "list", "search", "create", "delete", "events", "batch"}).Draw(t, "kind") {
	case "get":
		ch.Points, ch.Reads = 1, true
	case "list":
		ch.Points, ch.Reads = 2, true
	case "search":
		ch.Points, ch.Reads = 7, true
	case "create":
		ch.Points, ch.Write = 5, true
	case "delete":
		ch.Points, ch.Write, ch.Delete = 10, true, true
	case "events":
		ch.Points = 1
	case "batch": // a batch itself costs nothing
		return ch
	}
	// A call is nested if a batch of its key runs. It then takes no slot of its own.
	ch.Nested = slices.ContainsFunc(m.running, func(r runningCall) bool {
		return r.charge.Key == ch.Key && r.charge.Points == 0 && r.decision.Violated == nil
	})
	return ch
}

func (m *comparison) take(t *rapid.T, ch Charge) runningCall {
	want := m.office.take(ch)
	d, err := m.limiter.Take(context.Background(), ch)
	if err != nil {
		t.Fatalf("%+v: %v", ch, err)
	}
	m.office.checkDecision(t, d, ch, want)
	return runningCall{ch, d}
}

func (m *comparison) end(r runningCall, records int) {
	m.limiter.Done(r.charge, &r.decision, records)
	if r.decision.Violated != nil {
		return
	}
	if !r.charge.Nested {
		m.office.running[r.charge.Key]--
	}
	for _, p := range m.office.policies {
		if p.Unit == Records && r.charge.Reads {
			m.office.window(p.Name, r.charge.Key, p).take(m.office.now(), int64(records))
		}
	}
}

// call makes several calls in sequence.
func (m *comparison) call(t *rapid.T) {
	ch := m.charge(t)
	records := rapid.IntRange(0, 100).Draw(t, "records")
	gap := time.Duration(rapid.SampledFrom([]int{0, 1, 10_000, 700_000, 3_000_000}).Draw(t, "gap")) * time.Microsecond
	for range rapid.IntRange(1, 60).Draw(t, "times") {
		m.end(m.take(t, ch), records)
		m.clock.Advance(gap)
	}
}

// hang begins a call, which endOne may end later.
func (m *comparison) hang(t *rapid.T) { m.running = append(m.running, m.take(t, m.charge(t))) }

func (m *comparison) endOne(t *rapid.T) {
	if len(m.running) > 0 {
		i := rapid.IntRange(0, len(m.running)-1).Draw(t, "which")
		m.end(m.running[i], rapid.IntRange(0, 100).Draw(t, "records"))
		m.running = slices.Delete(m.running, i, i+1)
	}
}

func (m *comparison) wait(t *rapid.T) {
	unit := rapid.SampledFrom([]time.Duration{time.Microsecond, time.Millisecond, time.Second, time.Minute}).Draw(t,
		"unit")
	m.clock.Advance(time.Duration(rapid.IntRange(0, 3000).Draw(t, "units")) * unit)
}

// status compares the statuses that a key sees.
func (m *comparison) status(t *rapid.T) {
	ch := m.charge(t)
	asking := m.take(t, Charge{Organization: 1, Principal: ch.Principal, Key: ch.Key, Session: ch.Session, Points: 1})
	defer m.end(asking, 0)
	if asking.decision.Violated != nil {
		return
	}
	all, err := m.limiter.Status(context.Background(), ch)
	policies := slices.DeleteFunc(slices.Clone(m.office.policies),
		func(p Policy) bool { return ch.Session != (p.Level == "session") })
	if err != nil || len(all) != len(policies) {
		t.Fatal(all, err)
	}
	for i, s := range all {
		left, reset := m.office.left(policies[i], ch, true, false)
		if s.Policy != policies[i] || s.Remaining != left || s.Reset != reset {
			t.Fatalf("status of %s: %d, %v, want %d, %v", s.Name, s.Remaining, s.Reset, left, reset)
		}
	}
}

// store encodes and decodes all accounts, as a restart does.
func (m *comparison) store(t *rapid.T) {
	l := m.limiter
	for i := range l.memory.shards {
		for s, a := range l.memory.shards[i].accounts {
			back, err := l.table.decode(s.level, l.table.encode(s.level, a), l.now(time.Time{}), "me",
				func(string) bool { return false })
			if err != nil {
				t.Fatal(err)
			}
			back.saved, back.dirty, back.unsaved, back.alerts, back.running = a.saved, a.dirty, a.unsaved, a.alerts, a.running
			l.memory.shards[i].accounts[s] = back
		}
	}
}
