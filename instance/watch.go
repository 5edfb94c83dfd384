package instance

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// watchEvery is the interval of the pings of a part, and watchPatience the timeout of a ping.
	watchEvery    = 5 * time.Second
	watchPatience = 4 * time.Second
)

// condition is the state of a part that some calls need besides the database, such as the store of
// files, the malware scanner or a right clock.
type condition struct {
	ping func(context.Context) error
	// lost is logged when the ping begins to fail, and back when it succeeds again.
	lost, back string
	away       atomic.Pointer[error]
}

// watch pings a part every watchEvery until ctx ends. It stores the result and logs changes, so
// that the operator learns of a failure before clients do.
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

// show adds the state of a part to /readyz and to the metrics. In /readyz a failure is a warning,
// and the status stays 200.
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
