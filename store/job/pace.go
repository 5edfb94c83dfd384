package job

import (
	"context"
	"time"

	"kartei/kit/clock"
)

const (
	// longestRun is the longest time of one run at a Pace.
	longestRun = 5 * time.Minute
	// longestPause bounds a pause, in case the clock is set meanwhile.
	longestPause = 5 * time.Second
)

// Pace is the pace of a run that works in many short transactions. It pauses after each
// of them, to leave time to others. Such a run ends after some minutes and returns
// Later, so that other jobs have a turn.
type Pace struct {
	clock  clock.Clock
	pauses int
	end    clock.Micros
}

// NewPace begins a run. Its pauses last so many times as long as the work before them.
func NewPace(c clock.Clock, pauses int) Pace {
	return Pace{c, pauses, clock.Now(c).Add(longestRun)}
}

// Pause pauses after work that began at a time.
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

// Over reports whether the run was long enough.
func (p Pace) Over() bool { return clock.Now(p.clock) >= p.end }

// Rest is Pause, and then ends a run that was long enough. Everything that the next run
// must know is stored by then.
func (p Pace) Rest(ctx context.Context, begun clock.Micros) error {
	over := p.Over()
	if err := p.Pause(ctx, begun); err != nil || !over {
		return err
	}
	return Later(0)
}
