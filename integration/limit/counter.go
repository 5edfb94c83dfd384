package limit

import (
	"slices"
	"time"
)

// rule is a compiled policy. All its times are microseconds.
//
// A policy with a capacity is a token bucket with continuous refill. Its level
// is counted in units of 1/window of a point. So each microsecond adds exactly
// quota units, a point is exactly window units, and nothing is ever rounded.
//
// Any other policy is a sliding window log. It allows at most the quota in any
// interval of the window's length. The log keeps each entry until the window has
// passed.
//
// For a quota above wholeLog, that log would need too much memory. Then all
// usage within one granule, a sixtieth of the window, shares one entry. The time
// of the entry is the latest time of that usage. Entries therefore expire up to
// a granule late, and never early.
type rule struct {
	Policy
	bucket  bool
	window  int64
	full    int64 // the level of a full bucket
	granule int64
}

// wholeLog is the largest quota for which a sliding window keeps every entry.
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

// counter is the state of one policy for one subject.
type counter struct {
	// level is the level of a bucket at the time at. If reports of replicas can come late, base is
	// the level at the time since. log then has the usage after since.
	level, at   int64
	base, since int64
	// log has the entries of a sliding window, and sum is their total usage. The first entry that
	// has not expired is log[gone].
	log  []usageEntry
	gone int
	sum  int64
	// alerted is the time until which the policy raises no further alert about much usage.
	// exhausted is the time until which the policy raises no further alert about a refusal.
	alerted, exhausted int64
	// reserved is the sum of all leases. Replicas may use the leases without a transaction, so
	// transactions do not grant this amount again. lease is the unused rest of this replica's
	// lease. granted is the size of that lease when it was granted.
	reserved, lease, granted int64
}

// usageEntry is an entry of the log: the total amount that was used from the time first to the time
// last.
type usageEntry struct{ first, last, amount int64 }

func (r *rule) fresh(now int64) counter { return counter{level: r.full, at: now} }

// advance refills a bucket, or expires the entries of a log, up to the time now. If now is before
// the counter's time, advance changes nothing.
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

// refill returns the level of a bucket at the time now, and the time of that level. If now is
// before at, refill returns level and at.
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

// late is the maximum number of entries that a bucket keeps. A late report is inserted between
// them. Only quotas far above the contract's quotas would need more entries.
const late = 300

// fold moves the base of a bucket up to the time until. No report of usage before until is due any
// more.
func (r *rule) fold(c *counter, until int64) {
	n := 0
	for ; n < len(c.log) && (c.log[n].last <= until || len(c.log)-n > late); n++ {
		c.base, c.since = r.refill(c.base, c.since, c.log[n].last)
		c.base = max(0, c.base-c.log[n].amount*r.window)
	}
	c.log = slices.Delete(c.log, 0, n)
	c.base, c.since = r.refill(c.base, c.since, min(until, c.at))
}

// replay computes the level of a bucket from its base and its log.
func (r *rule) replay(c *counter) {
	now := c.at
	c.level, c.at = c.base, c.since
	for _, e := range c.log {
		c.level, c.at = r.refill(c.level, c.at, e.last)
		c.level = max(0, c.level-e.amount*r.window)
	}
	r.advance(c, now)
}

// amount returns the amount that is charged before the call runs. A call that costs more than the
// capacity is charged the whole capacity. So a small quota slows a caller down, but makes no
// operation impossible.
func (r *rule) amount(c *Charge) int64 {
	switch r.Unit {
	case Points:
		return min(max(c.Points, 0), r.Capacity)
	case Records: // their number is known only after the call
		return 0
	case Calls:
		if c.Nested {
			return 0
		}
	}
	return 1
}

// page is the maximum number of records that a call returns.
const page = 100

// least returns the remainder that a call needs, if the call takes amount. Records are charged when
// the call returns them. So a call that returns records needs a remainder of one record.
//
// If beside is set, the leases of other replicas must stay untouched. Then the call needs a page
// for itself and a page for each running call.
func (r *rule) least(amount, running int64, beside bool) int64 {
	switch {
	case r.Unit != Records:
		return amount
	case beside:
		return page * (running + 1)
	}
	return 1
}

// left returns the remainder of the policy in whole units. It is negative if a window has exceeded
// its quota.
func (r *rule) left(c *counter) int64 {
	if r.bucket {
		return c.level / r.window
	}
	return r.Quota - c.sum
}

// leaseSize returns the part of the free amount that one replica gets as a lease. Leases are small.
// A killed replica then forfeits little, and other replicas still find a free amount. Deletes have
// no leases: they are rare, so each delete is charged in a transaction.
func (r *rule) leaseSize(free int64) int64 {
	switch r.Unit {
	case Deletes:
		return 0
	case Calls:
		return (free + 3) / 4
	case Records: // a killed replica's records are lost for an hour
		if free < 20*page {
			return 0
		}
		return free / 20
	}
	return free / 8
}

// take charges amount at the time now. The caller must have advanced the counter. The level of a
// bucket never falls below zero. A window of records may exceed its quota. If a report is late, now
// may be before the counter's time.
func (r *rule) take(c *counter, now, amount int64) {
	switch {
	case amount == 0:
	case r.bucket && c.since > 0 && now < c.at && len(c.log) < late:
		now = max(now, c.since)
		n := len(c.log)
		for n > 0 && c.log[n-1].last > now {
			n--
		}
		c.log = slices.Insert(c.log, n, usageEntry{now, now, amount})
		r.replay(c)
	case r.bucket:
		c.level = max(0, c.level-amount*r.window)
		if c.since > 0 {
			c.log = append(c.log, usageEntry{c.at, c.at, amount})
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
		c.log = slices.Insert(c.log, n, usageEntry{now, now, amount})
	}
}

// read stores the remainder of the policy, and the time until it is whole again, in s.
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

// used returns the usage that counts at the counter's time.
func (r *rule) used(c *counter) int64 {
	if r.bucket {
		return r.Capacity - c.level/r.window
	}
	return c.sum
}

// rests reports whether the counter equals a new counter at the time now.
func (r *rule) rests(c *counter, now int64) bool {
	r.advance(c, now)
	return c.sum == 0 && (!r.bucket || c.level == r.full) && c.alerted <= now && c.exhausted <= now
}
