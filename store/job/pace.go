package job

import (
	"context"
	"time"

	"kartei/kit/clock"
)

const (
	// longestRun is the time after which a run ends.
	longestRun = 5 * time.Minute
	// longestPause is the maximum length of a pause. It is a limit for the case that the clock is
	// set forward.
	longestPause = 5 * time.Second
)

// Pace controls a run of a long job that works in many short transactions. The run pauses after
// each transaction, so that others can use the database. After some minutes, the run ends with
// Later, so that other jobs can run.
type Pace struct {
	clock  clock.Clock
	pauses int
	end    clock.Micros
}

// NewPace begins a run. A pause takes pauses times as long as the work before it.
func NewPace(c clock.Clock, pauses int) Pace {
	return Pace{c, pauses, clock.Now(c).Add(longestRun)}
}

// Pause waits after work that began at the time begun. It returns an error if ctx ends.
func (p Pace) Pause(ctx context.Context, begun clock.Micros) error {
	pause := min(time.Duration(p.pauses)*clock.Now(p.clock).Sub(begun), longestPause)
	if pause <= 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.clock.After(pause):
		return nil
	}
}

// Over reports whether the run has lasted long enough and should end.
func (p Pace) Over() bool { return clock.Now(p.clock) >= p.end }

// Rest waits like Pause. If the run should end, it then returns Later. Before the call, the caller
// must have stored everything that the next run needs.
func (p Pace) Rest(ctx context.Context, begun clock.Micros) error {
	over := p.Over()
	if err := p.Pause(ctx, begun); err != nil || !over {
		return err
	}
	return Later(0)
}
