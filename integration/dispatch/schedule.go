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

// Attempts is the number of attempts at a delivery.
const Attempts = len(gaps) + 1

// nextAttempt returns the time of the attempt after attempt n, which began at a
// given time; zero after the last. A jitter of a tenth either way spreads
// attempts that failed together. random returns a number from 0 to below its
// argument.
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
	// maxWindow bounds the attempts running at one endpoint.
	maxWindow = 16
	// failuresUntilPause is the number of consecutive failures after which
	// attempts run one at a time, with a pause before each.
	failuresUntilPause = 10
	// The pause doubles with each further failure.
	shortestPause, longestPause = 50 * time.Millisecond, time.Second
)

// window bounds the attempts running at an endpoint. It grows by one after a
// success and halves after a failure. A receiver that is slow or down therefore
// costs one attempt at a time. One that recovers gets its backlog no faster
// than it accepts it.
type window struct {
	size     int
	failures int64 // consecutive
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

// pause returns the pause before the next attempt.
func (w *window) pause() time.Duration {
	over := w.failures - failuresUntilPause
	if over <= 0 {
		return 0
	}
	return min(shortestPause<<min(over-1, 10), longestPause)
}
