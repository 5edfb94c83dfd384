package limit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config has the limits that an operator may change. A number that is zero stands for the default
// of the contract.
type Config struct {
	// Metered makes the limiter enforce the limits. If it is false, every call passes, and every
	// policy shows its full quota.
	Metered bool
	// Policies replace the policies of the contract. nil means Policies().
	Policies []Policy
	// Share is the percentage of the organization's quota that one key may use. 0 means 50.
	Share int64
	// LockAfter is the number of 429 responses that a key may get within LockWindow. One more
	// response locks the key for LockTime. The zero values mean 50, a minute and five minutes.
	LockAfter            int64
	LockWindow, LockTime time.Duration
	// AlertAt is the percentage of a day or hour quota at which an alert is raised. 0 means 80.
	AlertAt int64
	// Exhausted makes the limiter raise another alert if deletes-day refuses a call.
	Exhausted bool
}

func (c Config) withDefaults() Config {
	if c.Policies == nil {
		c.Policies = Policies()
	}
	or(&c.Share, 50)
	or(&c.LockAfter, 50)
	or(&c.LockWindow, time.Minute)
	or(&c.LockTime, 5*time.Minute)
	or(&c.AlertAt, 80)
	return c
}

func or[T comparable](v *T, unset T) {
	var zero T
	if *v == zero {
		*v = unset
	}
}

// sessionLevel is the Level of the policies for sessions.
const sessionLevel = "session"

// Policies returns the policies of the contract ('Limits') in the order of the headers, and then
// the policies for sessions. The caller may change the slice.
//
// Sessions have no limit of points, because one page of the web application makes several calls.
func Policies() []Policy {
	return []Policy{
		{"key", "key", Points, 300, 600, time.Minute},
		{"writes", "key", Writes, 60, 60, time.Minute},
		{"concurrency", "key", Calls, 6, 6, time.Second},
		{"principal", "principal", Points, 1_200, 1_200, time.Minute},
		{"organization", "organization", Points, 3_000, 3_000, time.Minute},
		{"deletes", "key", Deletes, 10, 10, time.Minute},
		{"deletes-day", "key", Deletes, 300, 300, 24 * time.Hour},
		{"outflow", "key", Records, 10_000, 10_000, time.Hour},

		{"session-writes", sessionLevel, Writes, 120, 120, time.Minute},
		{"session-concurrency", sessionLevel, Calls, 12, 12, time.Second},
		{"session-deletes", sessionLevel, Deletes, 30, 30, time.Minute},
		{"session-deletes-day", sessionLevel, Deletes, 500, 500, 24 * time.Hour},
		{"session-outflow", sessionLevel, Records, 30_000, 30_000, time.Hour},
	}
}

// applies reports whether the policy limits this call.
func (p *Policy) applies(c *Charge) bool {
	if !p.concerns(c) {
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

// concerns reports whether the policy is for this kind of caller: for sessions, or for all others.
func (p *Policy) concerns(c *Charge) bool { return (p.Level == sessionLevel) == c.Session }

// bucket reports whether the policy is a token bucket. Other policies are sliding windows.
func (p *Policy) bucket() bool { return p.Name == "key" || p.Capacity > p.Quota }

// long reports whether the policy is a day or hour quota. Such a policy refuses calls with
// QUOTA_EXHAUSTED, raises alerts and survives a restart.
func (p *Policy) long() bool { return p.Window >= time.Hour }

// Check returns an error if the configuration has an unknown policy or a number out of its range.
func (c Config) Check() error {
	var errs []error
	for _, p := range c.Policies {
		if !slices.ContainsFunc(Policies(), func(d Policy) bool {
			return d.Name == p.Name && d.Level == p.Level && d.Unit == p.Unit
		}) {
			errs = append(errs, fmt.Errorf("limit: %q is not a policy of the contract", p.Name))
			continue
		}
		if err := p.check(); err != nil {
			errs = append(errs, err)
		}
	}
	switch {
	case c.Share < 0 || c.Share > 100 || c.AlertAt < 0 || c.AlertAt > 100:
		errs = append(errs, errors.New("limit: a share must be 1 to 100 percent"))
	case c.LockAfter < 0 || c.LockWindow < 0 || c.LockTime < 0:
		errs = append(errs, errors.New("limit: the numbers of the lock must be positive"))
	}
	return errors.Join(errs...)
}

// check returns an error if a number is not positive. It also returns an error if a number is too
// large for the exact arithmetic of buckets (see rule).
func (p *Policy) check() error {
	switch {
	case p.Quota < 1 || p.Capacity < p.Quota:
		return fmt.Errorf("limit: %s: want 1 <= quota <= capacity, have %d and %d", p.Name, p.Quota, p.Capacity)
	case p.Window < time.Second || p.Window%time.Second != 0:
		return fmt.Errorf("limit: %s: the window must be whole seconds, is %v", p.Name, p.Window)
	case p.Quota > 1<<53 || p.bucket() && p.Capacity > math.MaxInt64/4/p.Window.Microseconds():
		return fmt.Errorf("limit: %s: a capacity of %d is too large for a window of %v", p.Name, p.Capacity, p.Window)
	}
	return nil
}

// Override changes the numbers of one policy. Its text in flags and configuration files is
// NAME=QUOTA or NAME=QUOTA/CAPACITY, for example key=3000/6000. Without a capacity, the quota is
// also the capacity.
type Override struct {
	Name            string
	Quota, Capacity int64
}

// UnmarshalText sets the override from its text. It fails if the text has another form.
func (o *Override) UnmarshalText(text []byte) error {
	name, numbers, ok := strings.Cut(string(text), "=")
	quota, capacity, given := strings.Cut(numbers, "/")
	if !given {
		capacity = quota
	}
	q, errQ := strconv.ParseInt(quota, 10, 64)
	c, errC := strconv.ParseInt(capacity, 10, 64)
	if !ok || errQ != nil || errC != nil {
		return fmt.Errorf("limit: %q is not NAME=QUOTA or NAME=QUOTA/CAPACITY", text)
	}
	*o = Override{name, q, c}
	return nil
}

// MarshalText returns NAME=QUOTA/CAPACITY. It never fails.
func (o Override) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s=%d/%d", o.Name, o.Quota, o.Capacity), nil
}

// With returns the policies of the contract with the numbers of the overrides. It fails if a name
// is unknown or a number is out of its range.
func With(overrides ...Override) ([]Policy, error) {
	policies := Policies()
	for _, o := range overrides {
		i := slices.IndexFunc(policies, func(p Policy) bool { return p.Name == o.Name })
		if i < 0 {
			var names []string
			for _, p := range policies {
				names = append(names, p.Name)
			}
			return nil, fmt.Errorf("limit: there is no policy %q; accepted are %s", o.Name, strings.Join(names, ", "))
		}
		policies[i].Quota, policies[i].Capacity = o.Quota, o.Capacity
		if err := policies[i].check(); err != nil {
			return nil, err
		}
	}
	return policies, nil
}
