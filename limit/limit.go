// Package limit owns rate limits and quotas: what a call costs, how much each caller has left, locked keys.
package limit

import (
	"context"
	"time"
)

// Unit is what a policy counts.
type Unit string

// The units of the contract's levels.
const (
	Points  Unit = "points"
	Writes  Unit = "writes"
	Calls   Unit = "calls"
	Deletes Unit = "deletes"
	Records Unit = "records"
)

// Policy is one declared limit.
type Policy struct {
	// Name is the policy's name in the RateLimit headers, for example key.
	Name string
	// Level is what the limit applies to: key, principal or organization.
	Level string
	Unit  Unit
	Quota int64
	// Capacity is how much may be saved up; it equals Quota where none is given.
	Capacity int64
	Window   time.Duration
}

// Status is a policy and what is left of it for one subject.
type Status struct {
	Policy
	// Remaining is between 0 and Capacity, in whole units, rounded down.
	Remaining int64
	// Reset is the time until everything that was taken is there again, that
	// is, until Remaining is Capacity.
	Reset time.Duration
}

// ResetSeconds returns Reset in whole seconds, rounded up: the t of the
// RateLimit header and the resetSeconds of GET /rate_limit.
func (s *Status) ResetSeconds() int64 { return int64((s.Reset + time.Second - 1) / time.Second) }

// Charge is what one call takes, and from whom.
type Charge struct {
	Organization int64
	Principal    string
	Key          string
	// Points is the call's cost; negative counts as 0.
	Points int64
	// Write is set for every call that may change something, deletes included.
	Write  bool
	Delete bool
	// Reads is set for calls that return records: lists, reads, search,
	// documents' content, and changes that answer with the record. The policy
	// outflow applies to them.
	Reads bool
	// Part is set for a call that runs within another one of the same key, which
	// was charged and is not done: the two count as one that runs.
	Nested bool
	// At is when the call was taken, by the limiter's clock. Zero reads the
	// clock, which is a third of what Take costs.
	At time.Time
	// Into is an optional buffer: where its capacity suffices, the statuses
	// of the answer are written into it and Take allocates nothing. Eight are
	// always enough.
	Into []Status
}

// Decision is a limiter's answer to one charge.
type Decision struct {
	// Statuses are those of the policies that apply to the call, the tightest
	// (the smallest share of its capacity remaining) first.
	Statuses []Status
	// PolicyHeader is the RateLimit-Policy header for Statuses, built once for
	// all calls to which the same policies apply.
	PolicyHeader string
	// Violated names the policies that refused the call; empty lets it pass.
	Violated []string
	// Locked reports that the key is locked, for as long as RetryAfter says.
	Locked bool
	// Quota reports that a day or hour quota refused: QUOTA_EXHAUSTED.
	Quota bool
	// RetryAfter is how long a refused caller must wait, in whole seconds:
	// until all that it took is there again, never earlier than the t of the
	// RateLimit header. For a bucket that refills all the time this costs no
	// throughput, and a caller that obeys is refused so rarely that it never
	// comes near the lock. During the lock it is the lock's rest.
	RetryAfter time.Duration

	// place is where the call is counted as running: Done gives it back there.
	countedIn countedIn
}

// place says which counts a call was charged to.
type countedIn uint8

const (
	uncounted countedIn = iota
	inLedger
	inFallback
)

// Limiter counts. It is safe for use by several goroutines.
type Limiter interface {
	// Take charges everything that applies to the call before it runs, or,
	// when one policy refuses, nothing.
	Take(ctx context.Context, c Charge) (Decision, error)
	// Done ends a call that Take let pass: it no longer counts as running, and
	// the records that it returned are counted. It must be called exactly once
	// for each such call, and never waits.
	Done(c Charge, d *Decision, records int)
	// Status returns every declared policy for the subject of c.
	Status(ctx context.Context, c Charge) ([]Status, error)
	// Declared returns the decision for a call of somebody who has taken
	// nothing yet.
	Declared(c Charge) Decision
	// Metered reports whether anything is counted.
	Metered() bool
}

// Alert says that a key has used up most of a day or hour quota.
type Alert struct {
	Organization int64  `json:"-"`
	Principal    string `json:"principal"`
	Key          string `json:"-"`
	Policy       string `json:"policy"`
	// Used of Quota is taken at the time At, in microseconds since 1970.
	Used  int64 `json:"used"`
	Quota int64 `json:"quota"`
	At    int64 `json:"at"`
	// Exhausted is set for the first refusal, where Config.Exhausted asks for it.
	Exhausted bool `json:"exhausted,omitempty"`
}
