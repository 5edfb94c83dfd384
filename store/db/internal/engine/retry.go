package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"kartei/kit/clock"
)

// MaxTries is the maximum number of calls of a Write function that returns ErrConflict.
const MaxTries = 5

// Pause waits before an attempt of a Write after ErrConflict. It does not wait before the first
// attempt, and then about 1, 2, 4 and 8 ms. Half of the time is random, so that two colliding
// writes do not collide again. Pause fails if ctx ends.
func Pause(ctx context.Context, c clock.Clock, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	limit := time.Millisecond << try
	select {
	case <-c.After(limit/2 + rand.N(limit/2)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
