package dispatch

import (
	"time"

	"kartei/kit/clock"
)

// gaps are the times between the attempts at a delivery (contract, 'Delivery', point 6).
var gaps = [...]time.Duration{
	30 * time.Second, 2 * time.Minute, 10 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 24 * time.Hour,
}

// Attempts is the maximum number of attempts at a delivery.
const Attempts = len(gaps) + 1

// nextAttempt returns the time of the attempt after attempt n, or zero if n is the last. began is
// the time when attempt n began. A random jitter of up to a tenth of the gap spreads attempts that
// failed together. random(n) returns a number in [0,n).
func nextAttempt(n int, began clock.Micros, random func(int64) int64) clock.Micros {
	if n >= Attempts {
		return 0
	}
	gap := gaps[n-1]
	tenth := gap / 10
	return began.Add(gap - tenth + time.Duration(random(int64(2*tenth)+1)))
}

// These constants bound a window.
const (
	// maxWindow is the maximum number of concurrent attempts at one endpoint.
	maxWindow = 16
	// failuresUntilPause is the number of consecutive failures after which attempts run one at a
	// time. A pause then precedes each attempt.
	failuresUntilPause = 10
	// shortestPause is the first pause. The pause doubles after each further failure, up to
	// longestPause.
	shortestPause, longestPause = 50 * time.Millisecond, time.Second
)

// window is the number of attempts that may run at the same time at an endpoint. It grows by one
// after a success and halves after a failure. So a receiver that is slow or down costs one attempt
// at a time. A receiver that recovers gets its backlog only as fast as it accepts deliveries.
type window struct {
	size     int
	failures int64 // the number of consecutive failures
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
