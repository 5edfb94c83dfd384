package limit

import (
	"slices"
	"time"
)

// rule is a policy made ready to be applied. All its times are microseconds.
//
// Where the contract gives a capacity it is a token bucket that refills all
// the time: the level is counted in units of 1/window of a point, so each
// microsecond adds exactly quota, a point is exactly window, and nothing is
// ever rounded.
//
// Elsewhere it is a sliding window: in no stretch of time of the window's
// length is more taken than the quota. Each taking is kept until the window
// has passed over it. Where the quota is so large that keeping each would cost
// memory (above wholeLog), takings within a granule, a sixtieth of the window,
// are kept as one that has the time of the last: they come back together, up
// to a granule late and never early.
type rule struct {
	Policy
	bucket  bool
	window  int64
	full    int64 // the level of a full bucket
	granule int64
}

// wholeLog is the largest quota for which a sliding window keeps each taking.
const wholeLog = 300

func newRule(p Policy) rule {
	r := rule{Policy: p, window: p.Window.Microseconds(), bucket: p.bucket()}
	if r.bucket {
		r.full = p.Capacity * r.window
	}
	if !r.bucket && p.Quota > wholeLog {
		r.granule = r.window / 60
	}
	return r
}

// counter is what one subject has taken of one policy.
type counter struct {
	// level and at are the bucket's. Where replicas tell late what they took, base
	// is its level at the time since, and the log what was taken from then on.
	level, at   int64
	base, since int64
	// log and sum are the sliding window's; the first of the log is log[gone].
	log  []taking
	gone int
	sum  int64
	// alerted is until when no further alert is raised, exhausted the same for
	// the refusal.
	alerted, exhausted int64
	// reserved is what replicas may take of this without asking, and perhaps
	// have taken: who decides on the stored account leaves them that. part is
	// what this one has left of its own, granted what it had at first.
	reserved, lease, granted int64
}

// taking is what was taken between the times first and last.
type taking struct{ first, last, amount int64 }

func (r *rule) fresh(now int64) counter { return counter{level: r.full, at: now} }

// advance lets come back what is due at the time now. A time before the
// counter's own changes nothing.
func (r *rule) advance(c *counter, now int64) {
	if r.bucket {
		c.level, c.at = r.refill(c.level, c.at, now)
		return
	}
	for c.gone < len(c.log) && c.log[c.gone].last+r.window <= now {
		c.sum -= c.log[c.gone].amount
		c.gone++
	}
	switch {
	case c.gone == len(c.log):
		c.log, c.gone = c.log[:0], 0
	case c.gone >= 32 && 2*c.gone >= len(c.log):
		c.log, c.gone = c.log[:copy(c.log, c.log[c.gone:])], 0
	}
}

// refill returns the level of a bucket, and its time, at the time now.
func (r *rule) refill(level, at, now int64) (int64, int64) {
	elapsed := now - at
	switch {
	case elapsed <= 0:
		return level, at
	case elapsed > (r.full-level)/r.Quota:
		return r.full, now
	}
	return level + elapsed*r.Quota, now
}

// late is how many takings a bucket keeps that others may tell something
// before; more are needed only by quotas far above the contract's.
const late = 300

// fold makes what a bucket was at the time until its base: nothing is told any
// more that was before.
func (r *rule) fold(c *counter, until int64) {
	n := 0
	for ; n < len(c.log) && (c.log[n].last <= until || len(c.log)-n > late); n++ {
		c.base, c.since = r.refill(c.base, c.since, c.log[n].last)
		c.base = max(0, c.base-c.log[n].amount*r.window)
	}
	c.log = slices.Delete(c.log, 0, n)
	c.base, c.since = r.refill(c.base, c.since, min(until, c.at))
}

// replay reckons the level of a bucket from its base and its log.
func (r *rule) replay(c *counter) {
	now := c.at
	c.level, c.at = c.base, c.since
	for _, e := range c.log {
		c.level, c.at = r.refill(c.level, c.at, e.last)
		c.level = max(0, c.level-e.amount*r.window)
	}
	r.advance(c, now)
}

// amount is what a call takes before it runs. A call that costs more than can
// ever be saved up takes all of it: small quotas make callers slow, they make
// no operation impossible.
func (r *rule) amount(c *Charge) int64 {
	switch r.Unit {
	case Points:
		return min(max(c.Points, 0), r.Capacity)
	case Records: // known only after the call
		return 0
	case Calls:
		if c.Nested {
			return 0
		}
	}
	return 1
}

// page is the most records that a call returns.
const page = 100

// least is what a call that takes amount must find. Records are counted when
// they are returned, so a call that returns some passes while anything is left.
// But not at the cost of what others hold: beside that there must be room for
// what it, and those that run, can return.
func (r *rule) least(amount, running int64, beside bool) int64 {
	switch {
	case r.Unit != Records:
		return amount
	case beside:
		return page * (running + 1)
	}
	return 1
}

// left is what is not taken, in whole units.
func (r *rule) left(c *counter) int64 {
	if r.bucket {
		return c.level / r.window
	}
	return r.Quota - c.sum
}

// portion is how much of what is free a replica may take without asking: so
// little that what a killed one forfeits is there again soon, and that others
// find something. Deletes are few, and each is asked for.
func (r *rule) leaseSize(free int64) int64 {
	switch r.Unit {
	case Deletes:
		return 0
	case Calls:
		return (free + 3) / 4
	case Records: // a kill costs them for an hour
		if free < 20*page {
			return 0
		}
		return free / 20
	}
	return free / 8
}

// take takes amount at the time now, to which the counter is advanced. A
// bucket never falls below empty, a window may go over its quota (records).
// now may be a little in the past, where a replica tells late what it took.
func (r *rule) take(c *counter, now, amount int64) {
	switch {
	case amount == 0:
	case r.bucket && c.since > 0 && now < c.at && len(c.log) < late:
		now = max(now, c.since)
		n := len(c.log)
		for n > 0 && c.log[n-1].last > now {
			n--
		}
		c.log = slices.Insert(c.log, n, taking{now, now, amount})
		r.replay(c)
	case r.bucket:
		c.level = max(0, c.level-amount*r.window)
		if c.since > 0 {
			c.log = append(c.log, taking{c.at, c.at, amount})
		}
	default:
		c.sum += amount
		n := len(c.log)
		for n > c.gone && c.log[n-1].first > now {
			n--
		}
		if n > c.gone && (now-c.log[n-1].first < r.granule || now <= c.log[n-1].last) {
			c.log[n-1].amount += amount
			c.log[n-1].last = max(now, c.log[n-1].last)
			return
		}
		c.log = slices.Insert(c.log, n, taking{now, now, amount})
	}
}

// read puts what is left into s.
func (r *rule) read(c *counter, now int64, s *Status) {
	if r.bucket {
		s.Remaining = c.level / r.window
		s.Reset = time.Duration((r.full-c.level+r.Quota-1)/r.Quota) * time.Microsecond
		return
	}
	s.Remaining, s.Reset = max(0, r.Quota-c.sum), 0
	if n := len(c.log); n > c.gone {
		s.Reset = time.Duration(c.log[n-1].last+r.window-now) * time.Microsecond
	}
}

// used returns how much is taken.
func (r *rule) used(c *counter) int64 {
	if r.bucket {
		return r.Capacity - c.level/r.window
	}
	return c.sum
}

// rests reports whether the counter is as good as a fresh one.
func (r *rule) rests(c *counter, now int64) bool {
	r.advance(c, now)
	return c.sum == 0 && (!r.bucket || c.level == r.full) && c.alerted <= now && c.exhausted <= now
}
