package api

import (
	"context"
	"log/slog"

	"kartei/kit/trace"
)

// groups has the name of the span for each stage of the path. The stages before limits take
// microseconds each and share one span.
var groups = [len(path)]string{
	"authenticate", "authenticate", "authenticate", "authenticate", "authenticate", "authenticate", "authenticate",
	"authenticate", "authenticate",
	"limits", "decode", "run", "run",
}

// trace starts the span of a call, and returns the context for the work in this span. The span of a
// part of a batch only counts statements. Otherwise twenty parts would have hundreds of spans.
func (a *API) trace(ctx context.Context, c *call) context.Context {
	if a.tracer == nil {
		return ctx
	}
	if c.of != nil {
		c.span = c.of.span.Child("part", trace.Internal)
		c.span.Coarse()
	} else {
		c.span = a.tracer.Begin("call", trace.Server, c.Trace)
	}
	return trace.Within(ctx, c.span)
}

// passTraced is pass with a span for each group of stages.
func (a *API) passTraced(ctx context.Context, c *call, stages []stage) (err error) {
	group := ""
	var span *trace.Span
	within := ctx
	defer func() { span.End() }()
	for n, stage := range stages {
		if groups[n] != group {
			span.End()
			group = groups[n]
			span = c.span.Child(group, trace.Internal)
			within = trace.Within(ctx, span)
		}
		if err := stage(a, within, c); err != nil {
			return err
		}
	}
	return nil
}

// endSpan ends the span with the result of the call. The name of the span is the id of the
// operation. An unknown path comes from the client and is not used.
func (c *call) endSpan(status int, code string) {
	if c.span == nil {
		return
	}
	name, route := "unknown", ""
	if c.op != nil {
		name, route = c.op.ID, "/v1"+c.op.Path
	}
	c.span.Rename(name)
	c.span.Texts("http.route", route, "http.request.method", known(c.Method), "kartei.request.id", c.id, "kartei.code",
		code)
	c.span.Number("http.response.status_code", int64(status))
	if status >= 500 {
		c.span.Fail(code)
	}
	c.span.End()
}

// logOf returns the logger for messages about a call. They have the id of the trace, if there is
// one.
func (a *API) logOf(c *call) *slog.Logger {
	if c.span == nil {
		return a.logger
	}
	return a.logger.With(slog.String("trace_id", c.span.ID()))
}
