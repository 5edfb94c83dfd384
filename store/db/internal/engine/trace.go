package engine

import (
	"context"
	"errors"

	"kartei/kit/trace"
	"kartei/store/db"
)

// The names of the spans of transactions. The span of a write includes the wait
// for earlier ones, and the commit that a group shares.
const (
	ReadSpan  = "db read"
	WriteSpan = "db write"
	// BegunEvent marks the start of a write after its wait.
	BegunEvent = "begun"
)

// BeginSpan starts the span of a transaction, or returns nil if the caller has
// none.
func BeginSpan(ctx context.Context, o *db.Options, name, system string) *trace.Span {
	if !o.Traced {
		return nil
	}
	span := trace.Of(ctx).Child(name, trace.Client)
	span.Text("db.system.name", system)
	return span
}

// EndSpan ends the span of a transaction, or does nothing for nil.
func EndSpan(span *trace.Span, err error) {
	if span == nil {
		return
	}
	span.Number("kartei.db.statements", span.Statements())
	for _, kind := range failures {
		if errors.Is(err, kind.err) {
			span.Fail(kind.name)
			break
		}
	}
	span.End()
}

// failures are the errors of the database itself. The span of a call has the
// refusals of its operation.
var failures = []struct {
	err  error
	name string
}{
	{db.ErrUnknownOutcome, "unknown_outcome"}, {db.ErrRefused, "refused"}, {db.ErrUnavailable, "unavailable"},
	{db.ErrBusy, "busy"}, {db.ErrConflict, "conflict"}, {db.ErrDuplicate, "duplicate"}, {db.ErrStale, "stale"},
}
