package limit

import (
	"fmt"
	"strings"
	"sync"

	"kartei/kit/id"

	"github.com/go-json-experiment/json"
)

// level is the kind of subject that a policy counts for. A call is charged to three accounts: its
// organization's, its principal's and its key's. The calls of a session have no key. They share one
// account of all sessions of the principal instead. Calls lock the accounts in the order of the
// levels, which prevents deadlocks.
type level uint8

const (
	byOrganization level = iota
	byPrincipal
	byKey
	bySession
	kinds
)

// levels is the number of accounts of a call.
const levels = 3

func levelOf(name string) level {
	switch name {
	case "organization":
		return byOrganization
	case "principal":
		return byPrincipal
	case sessionLevel:
		return bySession
	}
	return byKey
}

// place returns the index of the level's account in accounts.
func (l level) place() level { return min(l, byKey) }

// last returns the level of the call's third account: bySession for the call of a session, else
// byKey.
func (c *Charge) last() level {
	if c.Session {
		return bySession
	}
	return byKey
}

// sessionsOf is the prefix of the names of the accounts of sessions.
const sessionsOf = "session:"

// Sessions returns the name of the account that all sessions of a principal share. So a new session
// does not bring a new quota.
func Sessions(principal string) string { return sessionsOf + principal }

// subject is the owner of an account. The organizations have separate accounts, so the calls of a
// principal in the sandbox do not count outside of the sandbox.
type subject struct {
	organization int64
	level        level
	id           string // empty for the account of the organization
}

func subjects(c *Charge) [levels]subject {
	return [levels]subject{
		{c.Organization, byOrganization, ""},
		{c.Organization, byPrincipal, c.Principal},
		{c.Organization, c.last(), c.Key},
	}
}

// account is the state of all policies for one subject.
type account struct {
	mu   sync.Mutex
	gone bool // set when a sweep dropped the account from memory; callers then look it up again
	// at is the latest time of a check or a charge, in microseconds since 1970. It never decreases
	// while the account is in memory.
	at       int64
	counters []counter // one for each rule of the level
	// lockedUntil is the end of the lock of a key, and 0 if the key was never locked. refusals
	// counts the recent refusals of the key. share counts the points that the key has taken from
	// the quota of its organization.
	lockedUntil     int64
	refusals, share counter
	// running is the number of running calls in this replica. reading is the number of running
	// calls that may return records.
	running, reading int64
	alerts           []Alert

	// holdings are the holdings of the other replicas, by incarnation. mine is the stored holding
	// of this replica. The account grants no leases until cooldown. recalls is the number of the
	// last recall of leases. Only the account of the organization has recalls.
	holdings          map[string]holding
	mine              *holding
	cooldown, recalls int64
	// used is the time of the last charge in this replica. touched is set while the account has
	// changes in this replica that the database does not have.
	used    int64
	touched bool
	held    bool // set if the stored account has a holding of this replica

	// dirty is set while the account has changes that are not saved. unsaved is the unsaved usage
	// of the day and hour quotas, in thousandths of the quota. saved is the time of the last save.
	dirty   bool
	unsaved int64
	saved   int64
}

// inFlight returns the number of running calls in all replicas.
func (a *account) inFlight() int64 {
	n := a.running
	for _, other := range a.holdings {
		n += other.Running
	}
	return n
}

// inUseElsewhere returns the part of a counter that the running calls of other replicas need. No
// recall frees it before these calls end.
func (r *rule) inUseElsewhere(a *account) (n int64) {
	for _, h := range a.holdings {
		switch r.Unit {
		case Calls:
			n += h.Running
		case Records:
			n += page * h.Reading
		}
	}
	return n
}

// holding is the part of an account that one replica holds.
type holding struct {
	// Seq is the number of the transaction that wrote this holding. The stored account does not
	// include usage that has a later number.
	Seq int64 `json:"seq"`
	// Leases maps the name of each policy to the amount that the replica may charge without a
	// transaction.
	Leases map[string]int64 `json:"leases,omitempty"`
	// Running is the number of running calls of the replica. Slots is the number of calls that the
	// replica may start in addition.
	Running int64 `json:"running,omitempty"`
	Slots   int64 `json:"slots,omitempty"`
	// Reading is the number of calls of the replica that may have returned records it has not
	// reported.
	Reading int64 `json:"reading,omitempty"`
	// Reported is the time up to which the replica has reported its usage, in microseconds since
	// 1970.
	Reported int64 `json:"reported,omitempty"`
	// Recalled is the number of the last recall that the replica has answered.
	Recalled int64 `json:"recalled,omitempty"`
}

// state is the JSON of a stored account. At, Locked, Alerted, Exhausted and Cooldown are times in
// microseconds since 1970. Since and the times in Windows are microseconds before At.
type state struct {
	At        int64                 `json:"at"`
	Levels    map[string]int64      `json:"levels,omitempty"`
	Since     map[string]int64      `json:"since,omitempty"`
	Windows   map[string][][3]int64 `json:"windows,omitempty"`
	Alerted   map[string]int64      `json:"alerted,omitempty"`
	Exhausted map[string]int64      `json:"exhausted,omitempty"`
	Locked    int64                 `json:"locked,omitempty"`
	Holdings  map[string]holding    `json:"holdings,omitempty"`
	Cooldown  int64                 `json:"cooldown,omitempty"`
	Recalls   int64                 `json:"recalls,omitempty"`
}

// The names under which the account of a key stores its counters that belong to no policy.
const (
	shareName    = "share"
	refusalsName = "refusals"
)

// each calls f with every counter of an account, and with the counter's rule and name.
func (t *table) each(l level, a *account, f func(name string, r *rule, c *counter)) {
	for i, p := range t.levels[l] {
		f(t.rules[p].Name, &t.rules[p], &a.counters[i])
	}
	if l == byKey {
		f(shareName, &t.share, &a.share)
		f(refusalsName, &t.refusals, &a.refusals)
	}
}

// reportedUntil returns the time up to which all holders of leases have reported their usage.
func (a *account) reportedUntil() int64 {
	until := a.at
	for _, h := range a.holdings {
		if len(h.Leases) > 0 {
			until = min(until, h.Reported)
		}
	}
	return until
}

// encode returns the JSON text of an account, as the database stores it.
func (t *table) encode(l level, a *account) string {
	s := state{At: a.at, Locked: a.lockedUntil, Holdings: a.holdings, Recalls: a.recalls}
	if a.cooldown > a.at {
		s.Cooldown = a.cooldown
	}
	s.Levels, s.Since, s.Windows = map[string]int64{}, map[string]int64{}, map[string][][3]int64{}
	s.Alerted, s.Exhausted = map[string]int64{}, map[string]int64{}
	t.each(l, a, func(name string, r *rule, c *counter) {
		r.advance(c, a.at)
		// Times are stored as differences from the account's time, because differences are shorter.
		switch {
		case r.bucket && c.since > 0:
			r.fold(c, a.reportedUntil())
			s.Levels[name], s.Since[name] = c.base, a.at-c.since
		case r.bucket && c.level < r.full:
			s.Levels[name] = c.level
		}
		for _, e := range c.log[c.gone:] {
			s.Windows[name] = append(s.Windows[name], [3]int64{a.at - e.first, a.at - e.last, e.amount})
		}
		if c.alerted > a.at {
			s.Alerted[name] = c.alerted
		}
		if c.exhausted > a.at {
			s.Exhausted[name] = c.exhausted
		}
	})
	b, err := json.Marshal(s, json.OmitZeroStructFields(true))
	if err != nil {
		panic("limit: " + err.Error()) // a state has only numbers and names, so encoding cannot fail
	}
	return string(b)
}

// backward is the largest difference between a stored time and the clock, in microseconds, that is
// the skew between two replicas. If a stored time is further ahead, the clock was set back. Then
// the account continues as if no time had passed.
const backward = 5_000_000

// decode returns the account that a JSON text describes, at the time now. It fails if the text is
// not valid. The leases of dead replicas count as used, because those replicas may have used them.
// The calls of dead replicas no longer run.
func (t *table) decode(l level, text string, now int64, me string, alive func(string) bool) (*account, error) {
	var s state
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("limit: a stored account cannot be read: %w", err)
	}
	put := int64(0) // the number of microseconds by which the account's times move back
	if s.At > now+backward {
		put = s.At - now
	}
	a := t.newAccount(l, s.At-put)
	a.dirty = put > 0 // if the change were not saved, each read would move the times again
	if s.Locked > 0 {
		a.lockedUntil = s.Locked - put
	}
	t.each(l, a, func(name string, r *rule, c *counter) {
		if v, ok := s.Levels[name]; ok && r.bucket {
			c.level = min(v, r.full)
			c.base, c.since = c.level, a.at-s.Since[name]
		}
		for _, e := range s.Windows[name] {
			c.log = append(c.log, usageEntry{a.at - e[0], a.at - e[1], e[2]})
			c.sum += e[2]
		}
		if r.bucket {
			r.replay(c)
			if c.sum = 0; !t.shared {
				c.log, c.since = nil, 0
			}
		}
		c.alerted, c.exhausted = max(0, s.Alerted[name]-put), max(0, s.Exhausted[name]-put)
	})
	a.recalls, a.cooldown, a.holdings = s.Recalls, max(0, s.Cooldown-put), s.Holdings
	for replica, h := range s.Holdings {
		switch {
		case replica == me:
			a.mine = &h
			delete(a.holdings, me)
		case alive(replica):
			t.each(l, a, func(name string, r *rule, c *counter) {
				c.reserved += h.Leases[name]
				switch {
				case r.Unit == Calls && name != refusalsName:
					c.reserved += h.Slots
				case r.Unit == Records:
					c.reserved += page * h.Reading
				}
			})
		default:
			t.forfeit(l, a, h, now)
			delete(a.holdings, replica)
		}
	}
	return a, nil
}

// forfeit charges the leases of a dead replica to the account.
func (t *table) forfeit(l level, a *account, h holding, now int64) {
	a.at = max(a.at, now)
	t.each(l, a, func(name string, r *rule, c *counter) {
		if lease := h.Leases[name]; lease > 0 {
			r.advance(c, a.at)
			r.take(c, a.at, lease)
		}
	})
}

func (t *table) newAccount(l level, now int64) *account {
	a := &account{at: now, saved: now, counters: make([]counter, len(t.levels[l]))}
	t.each(l, a, func(_ string, r *rule, c *counter) {
		if *c = r.fresh(now); r.bucket && t.shared {
			c.base, c.since = r.full, now
		}
	})
	return a
}

// rests reports whether an account equals a new account, so that it need not be kept in memory.
func (t *table) rests(l level, a *account, now int64) bool {
	if a.running > 0 || len(a.holdings) > 0 || len(a.alerts) > 0 || a.lockedUntil > now {
		return false
	}
	rests := true
	t.each(l, a, func(_ string, r *rule, c *counter) { rests = r.rests(c, now) && rests })
	return rests
}

// name returns the subject's name in the database. The name of the organization is empty and sorts
// first.
func (s *subject) name() string { return s.id }

// levelOfName returns the level of an account with this stored name.
func levelOfName(name string) level {
	switch {
	case name == "":
		return byOrganization
	case strings.HasPrefix(name, sessionsOf):
		return bySession
	case strings.HasPrefix(name, id.User), strings.HasPrefix(name, id.ServiceAccount):
		return byPrincipal
	}
	return byKey // any other name is the id of a credential
}
