package instance

import (
	"context"

	"kartei/api"
	"kartei/limit"
	"kartei/telemetry"
)

// observe returns what counts the API's answers.
func (i *Instance) observe() func(api.Observation) {
	operations := map[string]*telemetry.Operation{"": i.metrics.Operation("")}
	for n := range api.Operations {
		name := api.Operations[n].ID
		operations[name] = i.metrics.Operation(name)
	}
	return func(o api.Observation) { operations[o.Operation].Count(o.Status, o.Code, o.Duration) }
}

// measure shows what the parts know themselves.
func (i *Instance) measure() {
	i.readiness.Warn("writes", func(context.Context) error { return i.DB.Writes().Refused() })
	i.metrics.Counter("kartei_request_log_dropped_total", "Entries of the request log that were not written.",
		func() float64 { return float64(i.Log.Dropped()) })
	i.metrics.Counter("kartei_request_log_thinned_total", "Entries of refused, uncharged calls that were left out because too many came.",
		func() float64 { return float64(i.Log.Thinned()) })
	i.metrics.Gauge("kartei_request_log_waiting", "Entries of the request log that wait to be written.",
		func() float64 { return float64(i.Log.Waits()) })
	i.metrics.Counter("kartei_limit_incidents_total", "Calls charged in this process's memory alone because the database could not be asked.",
		func() float64 { return float64(i.limits.Incidents()) })
	i.metrics.Gauge("kartei_db_writable", "1 while the database takes writes, 0 from a refused write until the next one that is stored.",
		func() float64 {
			if i.DB.Writes().Refused() != nil {
				return 0
			}
			return 1
		})
	i.metrics.Counter("kartei_db_refused_writes_total", "Writes that were not stored because the database was full, read-only, broken or away.",
		func() float64 { return float64(i.DB.Writes().Total()) })
	i.metrics.Counter("kartei_last_uses_dropped_total", "Marks of a key's last use that were not written.",
		func() float64 { return float64(i.Directory.UsesDropped()) })
}

// countedLimiter counts what each policy refuses.
type countedLimiter struct {
	limit.Limiter
	metrics *telemetry.Metrics
}

// Take charges, and counts a refusal.
func (l countedLimiter) Take(ctx context.Context, c limit.Charge) (limit.Decision, error) {
	d, err := l.Limiter.Take(ctx, c)
	for _, policy := range d.Violated {
		l.metrics.Rejected(policy)
	}
	return d, err
}
