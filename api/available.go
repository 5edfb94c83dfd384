package api

import (
	"context"
	"time"

	"kartei/kit/fault"
)

// pauseRetry is what a paused API asks clients to wait. A pause is ended by
// hand, so there is no better number; a minute keeps them from hammering.
const pauseRetry = time.Minute

// pendingRetry is what an instance that is starting asks clients to wait: a
// migration rarely takes longer.
const pendingRetry = time.Second

// fullRetry is what a full instance asks clients to wait.
const fullRetry = time.Second

// available refuses every call while the instance is not ready, or the
// operator has paused the API, and those for which it has no room: a call that
// is refused at once costs less than one that waits in a line without end.
// Neither says anything of the caller, so it comes before all other checks and
// does not count for the lock.
func available(a *API, _ context.Context, _ *call) error { return a.open() }

func (a *API) open() error {
	if err := a.Ready(); err != nil {
		return err
	}
	if a.inFlight.Load() > a.maxCalls {
		return &fault.Fault{Code: fault.Overloaded, RetryAfter: fullRetry}
	}
	return nil
}

// callsApart is how far apart calls of somebody may be who makes one after the other.
const callsApart = 100 * time.Millisecond

// Busy reports whether calls are being answered, or were a moment ago.
func (a *API) Busy() bool {
	return a.inFlight.Load() > 0 || a.clock.Now().Sub(time.UnixMicro(a.lastCall.Load())) < callsApart
}

// Ready refuses a request that is none of the table's as calls are refused
// while the instance is not ready, or is paused.
func (a *API) Ready() error {
	if a.pending.Load() {
		return &fault.Fault{Code: fault.InstancePending, RetryAfter: pendingRetry}
	}
	if a.paused.Load() {
		return &fault.Fault{Code: fault.APIPaused, RetryAfter: pauseRetry}
	}
	return nil
}
