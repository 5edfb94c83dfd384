package engine

import (
	"context"
	"errors"

	"kartei/kit/trace"
	"kartei/store/db"
)

// ReadSpan and WriteSpan are the names of the spans of transactions. The span of a write includes
// the wait for earlier writes, and the shared commit of a group.
const (
	ReadSpan  = "db read"
	WriteSpan = "db write"
	// BegunEvent is the event in the span of a write that ends the wait.
	BegunEvent = "begun"
)

// BeginSpan starts the span of a transaction. It returns nil if the database is not traced or the
// caller has no span.
func BeginSpan(ctx context.Context, o *db.Options, name, system string) *trace.Span {
	if !o.Traced {
		return nil
	}
	span := trace.Of(ctx).Child(name, trace.Client)
	span.Text("db.system.name", system)
	return span
}

// EndSpan ends the span of a transaction. It does nothing if span is nil.
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

// failures are the errors of the database itself, with their names in spans. Other errors come from
// the operation and belong to the span of the call.
var failures = []struct {
	err  error
	name string
}{
	{db.ErrUnknownOutcome, "unknown_outcome"}, {db.ErrRefused, "refused"}, {db.ErrUnavailable, "unavailable"},
	{db.ErrBusy, "busy"}, {db.ErrConflict, "conflict"}, {db.ErrDuplicate, "duplicate"}, {db.ErrStale, "stale"},
}
