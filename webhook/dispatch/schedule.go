package dispatch

import (
	"time"

	"kartei/kit/clock"
)

// gaps are the times from one attempt to the next (contract, 'Delivery', point 6).
var gaps = [...]time.Duration{
	30 * time.Second, 2 * time.Minute, 10 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 24 * time.Hour,
}

// Attempts is how often a delivery is tried before it is given up.
const Attempts = len(gaps) + 1

// nextAttempt returns when attempt n, which began at a moment, is followed by
// the next: after the gap, which varies by a tenth either way, so that what
// failed together does not come back together. It is zero after the last.
// random returns a number from 0 to below its argument.
func nextAttempt(n int, began clock.Micros, random func(int64) int64) clock.Micros {
	if n >= Attempts {
		return 0
	}
	gap := gaps[n-1]
	tenth := gap / 10
	return began.Add(gap - tenth + time.Duration(random(int64(2*tenth)+1)))
}

// The bounds of a window.
const (
	// maxWindow is how many attempts at one endpoint are under way at once at most.
	maxWindow = 16
	// failuresUntilPause is how many failures in a row narrow the window to one attempt at
	// a time, with a pause before each.
	failuresUntilPause = 10
	// The pause doubles with each further failure.
	shortestPause, longestPause = 50 * time.Millisecond, time.Second
)

// window says how many attempts at one endpoint may be under way: one more
// after each success, half of them after a failure. So a receiver that is slow
// or down costs one attempt at a time, and one that comes back gets its backlog
// no faster than it takes it.
type window struct {
	size     int
	failures int64 // in a row
}

func newWindow(failures int64) window { return window{1, failures} }

func (w *window) succeeded() {
	w.failures = 0
	w.size = min(w.size+1, maxWindow)
}

func (w *window) failed() {
	w.failures++
	w.size = max(w.size/2, 1)
	if w.failures > failuresUntilPause {
		w.size = 1
	}
}

// pause is how long the next attempt waits.
func (w *window) pause() time.Duration {
	over := w.failures - failuresUntilPause
	if over <= 0 {
		return 0
	}
	return min(shortestPause<<min(over-1, 10), longestPause)
}
