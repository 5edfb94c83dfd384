package instance

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// watchEvery is the interval between two pings of a part, watchPatience the
	// timeout of one.
	watchEvery    = 5 * time.Second
	watchPatience = 4 * time.Second
)

// condition is something besides the database that some calls need: the store of
// files, the scan for malware, a clock that is right.
type condition struct {
	ping func(context.Context) error
	// lost and back are the messages for the log.
	lost, back string
	away       atomic.Pointer[error]
}

// watch pings the part regularly until ctx ends, so that an operator learns of
// a failure before clients do.
func (i *Instance) watch(ctx context.Context, w *condition) {
	for {
		asking, cancel := context.WithTimeout(ctx, watchPatience)
		err := w.ping(asking)
		cancel()
		if ctx.Err() != nil {
			return
		}
		before := w.away.Load()
		switch {
		case err != nil:
			w.away.Store(&err)
			if before == nil {
				i.logger.Error(w.lost, "error", err)
			}
		case before != nil:
			w.away.Store(nil)
			i.logger.Info(w.back)
		}
		select {
		case <-ctx.Done():
			return
		case <-i.clock.After(watchEvery):
		}
	}
}

// show reports the part as a warning in /readyz, which stays 200, and in a
// metric.
func (i *Instance) show(w *condition, check, metric, help string) {
	i.readiness.Warn(check, func(context.Context) error {
		if reason := w.away.Load(); reason != nil {
			return *reason
		}
		return nil
	})
	i.metrics.Gauge(metric, help, func() float64 {
		if w.away.Load() != nil {
			return 0
		}
		return 1
	})
}
