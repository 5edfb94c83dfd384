// Package waittest owns the waits of tests, which fail if nothing has changed for two minutes.
package waittest

import (
	"encoding/json"
	"time"
)

// Bound is how long a test waits while nothing changes. It passes only if something is broken, even
// on a machine with five times more work than processors.
const Bound = 2 * time.Minute

// Watch detects that a test no longer makes progress. Each goroutine needs its own.
type Watch struct {
	state string
	timer *time.Timer
}

// New returns a Watch without a state.
func New() *Watch { return &Watch{timer: time.NewTimer(Bound)} }

// Stuck returns a channel that receives a value when state has not changed for Bound. Bound begins
// again with each call that has another state. state is anything that changes while the test makes
// progress, such as counts. It must be encodable as JSON.
func (w *Watch) Stuck(state ...any) <-chan time.Time {
	now, err := json.Marshal(state)
	if err != nil {
		panic(err) // a mistake in the test
	}
	if string(now) != w.state {
		w.state = string(now)
		w.timer.Reset(Bound)
	}
	return w.timer.C
}

// IsStuck reports whether state has not changed for Bound. It is for loops that poll.
func (w *Watch) IsStuck(state ...any) bool {
	select {
	case <-w.Stuck(state...):
		return true
	default:
		return false
	}
}
