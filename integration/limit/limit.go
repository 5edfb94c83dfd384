// Package limit owns rate limits and quotas: what a call costs, how much each caller has left, locked keys.
//
// A policy is a token bucket in exact integers or a sliding window log (counter.go). A call is
// charged to three accounts: its key's, its principal's and its organization's. Sessions have
// policies of their own. All sessions of a principal share one account, which takes the place of a
// key's account. table.go checks all policies that apply, and charges all or none. On SQLite, the
// accounts are in memory (memory.go) and are saved in the background (store.go).
//
// On PostgreSQL, the stored accounts decide (shared.go, transaction.go). Each replica holds a lease
// on a fraction of the remaining amount, and charges calls to the lease in memory. The transaction
// that renews the lease reports the usage in the background. If a lease does not suffice, the call
// is charged in a transaction that locks the rows of the accounts.
//
// If only leases of other replicas prevent a call, the call is disputed. The accounts then go into
// cooldown, and a notification recalls the leases. Sequence numbers make each report idempotent. A
// replica that misses its heartbeats forfeits its leases (package replicas). docs/decisions/0010
// says why the counts are exact.
package limit

import (
	"context"
	"time"
)

// Unit is what a policy counts.
type Unit string

// The units that policies count.
const (
	Points  Unit = "points"
	Writes  Unit = "writes"
	Calls   Unit = "calls"
	Deletes Unit = "deletes"
	Records Unit = "records"
)

// Policy is one limit of the contract or of the configuration.
type Policy struct {
	// Name is the policy's name in the RateLimit headers, for example key.
	Name string
	// Level is the kind of subject that the limit counts for: key, principal, organization, or
	// session for all sessions of a principal.
	Level string
	Unit  Unit
	Quota int64
	// Capacity is the largest amount that a caller can save up. For most policies it equals Quota.
	Capacity int64
	Window   time.Duration
}

// Status is a policy with its remainder for one subject.
type Status struct {
	Policy
	// Remaining is the unused amount in whole units, rounded down. It is between 0 and Capacity.
	Remaining int64
	// Reset is the time until Remaining equals Capacity, if the subject makes no further calls.
	Reset time.Duration
}

// ResetSeconds returns Reset in whole seconds, rounded up. The RateLimit header has this value as
// t, and GET /rate_limit has it as resetSeconds.
func (s *Status) ResetSeconds() int64 { return int64((s.Reset + time.Second - 1) / time.Second) }

// Charge describes the caller and the cost of one call.
type Charge struct {
	Organization int64
	Principal    string
	// Key is the id of the credential. For a session, it is Sessions(Principal).
	Key string
	// Session is set for the calls of a session. Only the policies of the level session apply to
	// them, and these policies apply to no other calls. So a person and the programs of the same
	// principal do not use up each other's limits. A session is never locked.
	Session bool
	// Points is the cost of the call. A negative cost counts as 0.
	Points int64
	// Write is set for every call that may change data. Deletes are writes too.
	Write  bool
	Delete bool
	// Reads is set for calls that return records: lists, reads, searches, the content of documents,
	// and changes that return the changed record. The policy outflow applies to these calls.
	Reads bool
	// Nested is set for a call that runs within another call of the same key. Both calls together
	// count as one running call.
	Nested bool
	// At is the arrival time of the call by the limiter's clock. If At is zero, Take reads the
	// clock, which is a third of the cost of Take.
	At time.Time
	// Into is an optional buffer for Decision.Statuses. If its capacity is at least eight, Take
	// allocates no memory.
	Into []Status
}

// Decision is the result of charging one call.
type Decision struct {
	// Statuses has a status for each policy that applies to the call. The first status is the
	// tightest: its Remaining is the smallest share of its Capacity.
	Statuses []Status
	// PolicyHeader is the value of the RateLimit-Policy header for Statuses. All calls to which the
	// same policies apply share the string.
	PolicyHeader string
	// Violated has the names of the policies that refused the call. If it is empty, the call
	// passes.
	Violated []string
	// Locked is true if the key is locked. RetryAfter is then the rest of the lock.
	Locked bool
	// Quota is true if a day or hour quota refused the call. The problem is then QUOTA_EXHAUSTED.
	Quota bool
	// RetryAfter is the time that a refused caller must wait, in whole seconds. Then all policies
	// that refused are at their full capacity again. RetryAfter is never shorter than the t of the
	// RateLimit header.
	//
	// A bucket refills during the wait, so the caller loses no throughput. A caller that waits is
	// refused so rarely that its key is never locked. If the key is locked, RetryAfter is the rest
	// of the lock.
	RetryAfter time.Duration

	// countedIn names the memory in which the call counts as running. Done ends the call in the
	// same memory.
	countedIn countedIn
}

// countedIn names the memory in which a call was charged.
type countedIn uint8

const (
	uncounted countedIn = iota
	inLedger
	inFallback
)

// Limiter charges calls to policies. It is safe for use by several goroutines.
type Limiter interface {
	// Take charges every policy that applies to the call before the call runs. If a policy refuses
	// the call, no policy is charged. Take fails if the database fails and the call must not pass
	// without it.
	Take(ctx context.Context, c Charge) (Decision, error)
	// Done ends a call that Take let pass. The call no longer counts as running, and the returned
	// records are charged. The caller must call Done exactly once for each such call. Done never
	// blocks.
	Done(c Charge, d *Decision, records int)
	// Status returns the status of every policy that applies to the caller in c.
	Status(ctx context.Context, c Charge) ([]Status, error)
	// Declared returns the decision about a caller that has no usage yet.
	Declared(c Charge) Decision
	// Metered reports whether limits are enforced.
	Metered() bool
}

// Alert says that a key, or the sessions of a principal, have used most of a day or hour quota.
type Alert struct {
	Organization int64  `json:"-"`
	Principal    string `json:"principal"`
	Key          string `json:"-"`
	Session      bool   `json:"session,omitempty"`
	Policy       string `json:"policy"`
	// Used is the usage at the time At. At is in microseconds since 1970.
	Used  int64 `json:"used"`
	Quota int64 `json:"quota"`
	At    int64 `json:"at"`
	// Exhausted is set if the quota refused a call, and Config.Exhausted is set. Only the first
	// refusal in a window raises this alert.
	Exhausted bool `json:"exhausted,omitempty"`
}
