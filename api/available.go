package api

import (
	"context"
	"time"

	"kartei/fault"
)

// pauseRetry is what a paused API asks clients to wait. A pause is ended by
// hand, so there is no better number; a minute keeps them from hammering.
const pauseRetry = time.Minute

// pendingRetry is what an instance that is starting asks clients to wait: a
// migration rarely takes longer.
const pendingRetry = time.Second

// available refuses every call while the instance is not ready, or the
// operator has paused the API.
func available(a *API, _ context.Context, _ *call) error {
	if a.pending.Load() {
		return &fault.Fault{Code: fault.InstancePending, RetryAfter: pendingRetry}
	}
	if a.paused.Load() {
		return &fault.Fault{Code: fault.APIPaused, RetryAfter: pauseRetry}
	}
	return nil
}
