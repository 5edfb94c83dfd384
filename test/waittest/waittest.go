// Package waittest owns the waits of tests: as long as something changes they go on, and then they end with a failure.
package waittest

import (
	"encoding/json"
	"time"
)

// Bound is how long a test waits while nothing changes. It elapses only if
// something is broken, even on a machine with five times more work than
// processors.
const Bound = 2 * time.Minute

// Watch watches for progress. Each goroutine has its own.
type Watch struct {
	state string
	timer *time.Timer
}

// New returns a Watch that has seen nothing yet.
func New() *Watch { return &Watch{timer: time.NewTimer(Bound)} }

// Stuck returns a channel that receives once state has been the same for Bound:
// in this call, and in those before it. The state is whatever changes while
// the test gets on, such as counts, and becomes JSON.
func (w *Watch) Stuck(state ...any) <-chan time.Time {
	now, err := json.Marshal(state)
	if err != nil {
		panic(err) // a mistake of the test
	}
	if string(now) != w.state {
		w.state = string(now)
		w.timer.Reset(Bound)
	}
	return w.timer.C
}

// IsStuck reports whether state has been the same for Bound. It is Stuck for
// loops that ask again and again.
func (w *Watch) IsStuck(state ...any) bool {
	select {
	case <-w.Stuck(state...):
		return true
	default:
		return false
	}
}
