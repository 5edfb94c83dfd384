package db

import (
	"context"
	"math/rand/v2"
	"time"

	"kartei/kit/clock"
)

// pause waits before a further try of a Write that met ErrConflict: not before
// the first, then about 1, 2, 4, 8 ms, half of it by chance, so that two that
// collided do not collide again.
func pause(ctx context.Context, c clock.Clock, try int) error {
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
