package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"kartei/kit/clock"
)

// MaxTries bounds the calls of a Write function that meets ErrConflict.
const MaxTries = 5

// Pause is the backoff before a retry of a Write after ErrConflict. The first
// attempt has none. The next ones wait about 1, 2, 4, 8 ms, half of it random,
// so that two colliding writes do not collide again.
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
