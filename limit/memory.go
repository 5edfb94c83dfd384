package limit

import (
	"context"
	"math/bits"
	"time"

	"kartei/clock"
)

// memory is the limiter of one process. It holds no goroutine and nothing
// that must be closed.
type memory struct {
	policies []Policy
	meters   []*meter // nil where the policy is not counted
	classes  [8]class
	metered  bool
	clock    clock.Clock
	start    time.Time
}

// class is a set of calls to which the same policies apply.
type class struct {
	policies []int    // indices into memory.policies
	rest     []Status // what they show when nothing is taken
	header   string
}

// New returns a limiter that counts in this process's memory, exactly: of any
// number of callers at the same time as many pass as the quota allows. It
// panics where config.Check finds an error.
func New(config Config, c clock.Clock) Limiter { return newMemory(config, c, counted) }

func newMemory(config Config, c clock.Clock, counted func(Policy) bool) *memory {
	if err := config.Check(); err != nil {
		panic(err)
	}
	l := &memory{policies: config.Policies, metered: config.Metered, clock: c, start: c.Now()}
	if l.policies == nil {
		l.policies = Policies()
	}
	l.meters = make([]*meter, len(l.policies))
	for i, p := range l.policies {
		if l.metered && counted(p) {
			l.meters[i] = newMeter(p)
		}
	}
	for i := range l.classes {
		l.classes[i] = l.newClass(Charge{Write: i&1 != 0, Delete: i&2 != 0, Reads: i&4 != 0})
	}
	return l
}

func (l *memory) newClass(c Charge) class {
	var k class
	for i, p := range l.policies {
		if p.applies(&c) {
			k.policies = append(k.policies, i)
			k.rest = append(k.rest, l.atRest(i))
		}
	}
	_, k.header = Headers(k.rest)
	return k
}

// atRest is a policy of which nothing is taken. Where nothing is counted the
// contract wants the quota and not the capacity as what remains.
func (l *memory) atRest(i int) Status {
	s := Status{Policy: l.policies[i], Remaining: l.policies[i].Quota}
	if l.meters[i] != nil {
		s.Remaining = s.Capacity
	}
	return s
}

func (l *memory) class(c *Charge) *class {
	i := 0
	if c.Write {
		i |= 1
	}
	if c.Delete {
		i |= 2
	}
	if c.Reads {
		i |= 4
	}
	return &l.classes[i]
}

func (l *memory) Metered() bool { return l.metered }

// now is the time of the call since the limiter was made, in microseconds. On
// the system's clock it is monotonic: setting the machine's time gives nobody
// points and takes none.
func (l *memory) now(c *Charge) int64 {
	at := c.At
	if at.IsZero() {
		at = l.clock.Now()
	}
	return at.Sub(l.start).Microseconds()
}

// hold is a bucket that one Take has locked.
type hold struct {
	shard  *shard
	bucket *bucket
	amount int64 // in the bucket's units
	status int   // index into the class
	meter  *meter
}

// Take locks the buckets of all counted policies in the order of the table
// (so two Takes never wait for each other), asks each, and takes from all or
// from none.
func (l *memory) Take(_ context.Context, c Charge) (Decision, error) {
	k := l.class(&c)
	d := Decision{Statuses: append(c.Into[:0], k.rest...), PolicyHeader: k.header}
	if !l.metered {
		return d, nil
	}
	var held [8]hold
	n, now := 0, l.now(&c)
	for j, i := range k.policies {
		m := l.meters[i]
		if m == nil {
			continue
		}
		p := &l.policies[i]
		s := p.subject(&c)
		h := &held[n]
		n++
		*h = hold{m.shard(s), nil, p.amount(&c) * m.window, j, m}
		h.shard.mu.Lock()
		h.bucket = m.bucket(h.shard, s, now)
		if h.bucket.level < h.amount {
			d.Violated = append(d.Violated, p.Name)
			d.Quota = d.Quota || p.Window >= time.Hour
		}
	}
	for i := range held[:n] {
		h := &held[i]
		if d.Violated == nil {
			h.bucket.level -= h.amount
		}
		h.meter.read(h.bucket.level, &d.Statuses[h.status])
		h.shard.mu.Unlock()
	}
	tightestFirst(d.Statuses)
	if d.Violated != nil {
		d.RetryAfter = retryAfter(&d)
	}
	return d, nil
}

func (l *memory) Status(_ context.Context, c Charge) ([]Status, error) {
	out := c.Into[:0]
	now := l.now(&c)
	for i, p := range l.policies {
		s := l.atRest(i)
		if m := l.meters[i]; m != nil {
			m.peek(p.subject(&c), now, &s)
		}
		out = append(out, s)
	}
	return out, nil
}

// tightestFirst moves the status with the smallest share of its capacity
// remaining to the front and keeps the order of the others; of equals the
// first in the table wins.
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

// tighter compares a/A with b/B as a*B with b*A, in 128 bits.
func tighter(a, b *Status) bool {
	ah, al := bits.Mul64(uint64(a.Remaining), uint64(b.Capacity))
	bh, bl := bits.Mul64(uint64(b.Remaining), uint64(a.Capacity))
	return ah < bh || ah == bh && al < bl
}

// retryAfter is the longest reset of the policies that refused and of the one
// that the answer's RateLimit header shows, at least one second.
func retryAfter(d *Decision) time.Duration {
	seconds := max(1, d.Statuses[0].ResetSeconds())
	for i := range d.Statuses {
		for _, name := range d.Violated {
			if d.Statuses[i].Name == name {
				seconds = max(seconds, d.Statuses[i].ResetSeconds())
			}
		}
	}
	return time.Duration(seconds) * time.Second
}
