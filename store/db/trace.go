package db

import (
	"context"
	"errors"

	"kartei/kit/trace"
)

// The names of the spans of transactions. That of a write has also the wait for
// those before it, and the commit that it shares with others.
const (
	readSpan  = "db read"
	writeSpan = "db write"
	// begunEvent is when a write's turn comes.
	begunEvent = "begun"
)

// begin begins the span of a transaction; nil where the caller has none.
func (o *Options) begin(ctx context.Context, name, system string) *trace.Span {
	if !o.Traced {
		return nil
	}
	span := trace.Of(ctx).Child(name, trace.Client)
	span.Text("db.system.name", system)
	return span
}

// endSpan ends the span of a transaction.
func endSpan(span *trace.Span, err error) {
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

// failures are the errors of the database itself. What an operation refuses
// stands in the span of its call.
var failures = []struct {
	err  error
	name string
}{
	{ErrUnknownOutcome, "unknown_outcome"}, {ErrRefused, "refused"}, {ErrUnavailable, "unavailable"}, {ErrBusy, "busy"},
	{ErrConflict, "conflict"}, {ErrDuplicate, "duplicate"}, {ErrStale, "stale"},
}

// begins has what follows in a transaction be shown with a member of its group.
func (t *pgTx) begins(op *operation) {
	t.span = op.span
	op.span.Event(begunEvent)
}

// ends has the commit, which the group shares, be shown with the first member
// that is traced.
func (t *pgTx) ends(group []*operation) {
	for _, op := range group {
		if t.span = op.span; t.span != nil {
			return
		}
	}
}
