// Package limit owns points and quotas: what a call costs, who has how much left, and the lock for those who do not listen.
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
	Remaining int64
	// Reset is the time until the full quota is there again.
	Reset time.Duration
}

// Charge is what one call takes, and from whom.
type Charge struct {
	Organization int64
	Principal    string
	Key          string
	Points       int64
	Write        bool
	Delete       bool
}

// Decision is a limiter's answer to one charge.
type Decision struct {
	// Statuses are those of the policies that apply to the call, the tightest
	// (the smallest share remaining) first.
	Statuses []Status
	// Violated names the policies that refused the call; empty lets it pass.
	Violated []string
	// Quota reports that a day or hour quota refused: QUOTA_EXHAUSTED.
	Quota bool
	// RetryAfter is how long a refused caller must wait.
	RetryAfter time.Duration
}

// Limiter counts. Take charges before a call runs; Status tells without
// charging. A Limiter is safe for use by several goroutines.
type Limiter interface {
	Take(ctx context.Context, c Charge) (Decision, error)
	// Status returns every declared policy for the subject of c.
	Status(ctx context.Context, c Charge) ([]Status, error)
	// Metered reports whether anything is counted.
	Metered() bool
}
