package instance

import (
	"context"
	"net/url"

	"kartei/kit/trace"
)

// takeTracer creates the tracer if a collector of traces is configured. Package egress does not
// check the collector's address, since the operator sets this address. Those checks are for
// addresses that users set.
func (i *Instance) takeTracer(ctx context.Context) (err error) {
	i.tracer, err = trace.New(ctx, i.config.Traces, i.config.Version, i.clock.Now, i.logger)
	if err != nil || i.tracer == nil {
		return err
	}
	host := ""
	if u, err := url.Parse(i.config.Traces.Endpoint); err == nil {
		host = u.Host
	}
	i.logger.Info("traces are sent", "collector", host, "sampler", i.config.Traces.Sampling())
	return nil
}

// measureTraces registers metrics with the numbers of sent and lost spans.
func (i *Instance) measureTraces() {
	if i.tracer == nil {
		return
	}
	i.metrics.Counter("kartei_trace_spans_sent_total", "Spans that the collector of traces has accepted.",
		func() float64 { sent, _ := i.tracer.Sent(); return float64(sent) })
	i.metrics.Counter("kartei_trace_spans_lost_total",
		"Spans that the collector of traces did not accept, or that were dropped because it did not answer.",
		func() float64 { _, lost := i.tracer.Sent(); return float64(lost) })
}
