// Package limit owns rate limits and quotas: what a call costs, how much each caller has left, locked keys.
//
// A policy is a token bucket in exact integers or a sliding window log;
// counter.go has both. A call is charged to three accounts: of its key, its
// principal and its organization. Sessions have policies of their own. All sessions
// of a principal share one account, in place of a key's account. table.go checks all
// policies that apply, and charges all or none. On SQLite the accounts are in memory
// (memory.go) and saved in the background (store.go).
//
// On PostgreSQL the stored accounts decide (shared.go, transaction.go). Each
// replica holds a lease on a fraction of what is left, and charges calls to it in
// memory. Usage is reported in the background, in the transaction that renews the
// lease. If a lease does not suffice, the call is charged in a transaction that
// locks the accounts' rows. If leases of others stand in the way, the call is
// disputed: the accounts go into cooldown, and a notification recalls the leases.
// Sequence numbers make each report idempotent. Replicas that miss their heartbeats
// forfeit their leases; package replicas has that. docs/decisions/0010 says why
// this is exact.
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
	// Level is what the limit applies to: key, principal or organization, or
	// session for all sessions of a principal.
	Level string
	Unit  Unit
	Quota int64
	// Capacity is the largest amount that a caller can save up. The default is
	// Quota.
	Capacity int64
	Window   time.Duration
}

// Status is a policy and what is left of it for one subject.
type Status struct {
	Policy
	// Remaining is between 0 and Capacity, in whole units, rounded down.
	Remaining int64
	// Reset is the time until Remaining is Capacity again.
	Reset time.Duration
}

// ResetSeconds returns Reset in whole seconds, rounded up: the t of the
// RateLimit header and the resetSeconds of GET /rate_limit.
func (s *Status) ResetSeconds() int64 { return int64((s.Reset + time.Second - 1) / time.Second) }

// Charge describes one call: its cost and its caller.
type Charge struct {
	Organization int64
	Principal    string
	// Key is the id of the credential. For a session it is Sessions(Principal).
	Key string
	// Session is set for calls of a session. Only the policies of that level apply
	// to them, and to no others: a busy person takes nothing from programs, nor
	// they from that person. A session is never locked.
	Session bool
	// Points is the call's cost; negative counts as 0.
	Points int64
	// Write is set for every call that may change something, deletes included.
	Write  bool
	Delete bool
	// Reads is set for calls that return records: lists, reads, search,
	// documents' content, and changes that answer with the record. The policy
	// outflow applies to them.
	Reads bool
	// Nested is set for a call that runs within another call of the same key. The
	// two count as one running call.
	Nested bool
	// At is the arrival of the call, by the limiter's clock. If it is zero,
	// Take reads the clock, which is a third of its cost.
	At time.Time
	// Into is an optional buffer for Decision.Statuses. If its capacity is at
	// least eight, Take allocates nothing.
	Into []Status
}

// Decision is the result of charging one call.
type Decision struct {
	// Statuses has the policies that apply to the call, the tightest (the
	// smallest share of its capacity remaining) first.
	Statuses []Status
	// PolicyHeader is the RateLimit-Policy header for Statuses, built once for
	// all calls to which the same policies apply.
	PolicyHeader string
	// Violated names the policies that refused the call. If it is empty the call
	// passes.
	Violated []string
	// Locked is true if the key is locked, for as long as RetryAfter says.
	Locked bool
	// Quota is true if a day or hour quota refused: QUOTA_EXHAUSTED.
	Quota bool
	// RetryAfter is the time that a refused caller must wait, in whole seconds.
	// It lasts until the refusing policies are back at their capacity, and at
	// least as long as the t of the RateLimit header. A bucket refills
	// meanwhile, so waiting costs no throughput. A caller that obeys is refused
	// so rarely that it never comes near the lock. During the lock, RetryAfter
	// is the rest of the lock.
	RetryAfter time.Duration

	// countedIn is the count of running calls that has the call. Done ends it
	// there.
	countedIn countedIn
}

// countedIn names the counts to which a call was charged.
type countedIn uint8

const (
	uncounted countedIn = iota
	inLedger
	inFallback
)

// Limiter charges calls to policies. It is safe for use by several goroutines.
type Limiter interface {
	// Take charges every policy that applies to the call before it runs. If one
	// policy refuses, none is charged.
	Take(ctx context.Context, c Charge) (Decision, error)
	// Done ends a call that Take let pass. The call no longer counts as running,
	// and the records that it returned are charged. It must be called exactly once
	// for each such call, and never blocks.
	Done(c Charge, d *Decision, records int)
	// Status returns the state of every policy that applies to the caller in c.
	Status(ctx context.Context, c Charge) ([]Status, error)
	// Declared returns the decision for a caller that has taken nothing yet.
	Declared(c Charge) Decision
	// Metered reports whether limits are enforced.
	Metered() bool
}

// Alert says that a key, or the sessions of a principal, have used up most of a day
// or hour quota.
type Alert struct {
	Organization int64  `json:"-"`
	Principal    string `json:"principal"`
	Key          string `json:"-"`
	Session      bool   `json:"session,omitempty"`
	Policy       string `json:"policy"`
	// Used is the usage at the time At, in microseconds since 1970.
	Used  int64 `json:"used"`
	Quota int64 `json:"quota"`
	At    int64 `json:"at"`
	// Exhausted is set for the first refusal, if Config.Exhausted asks for that.
	Exhausted bool `json:"exhausted,omitempty"`
}
