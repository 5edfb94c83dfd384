package db

import (
	"context"
	"errors"

	"kartei/kit/trace"
)

// The names of the spans of transactions. The span of a write includes the wait
// for earlier ones, and the commit that a group shares.
const (
	readSpan  = "db read"
	writeSpan = "db write"
	// begunEvent marks the start of a write after its wait.
	begunEvent = "begun"
)

// begin starts the span of a transaction, or returns nil if the caller has
// none.
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

// failures are the errors of the database itself. The span of a call has the
// refusals of its operation.
var failures = []struct {
	err  error
	name string
}{
	{ErrUnknownOutcome, "unknown_outcome"}, {ErrRefused, "refused"}, {ErrUnavailable, "unavailable"}, {ErrBusy, "busy"},
	{ErrConflict, "conflict"}, {ErrDuplicate, "duplicate"}, {ErrStale, "stale"},
}

// begins assigns the following statements to the span of a member of the group.
func (t *pgTx) begins(op *operation) {
	t.span = op.span
	op.span.Event(begunEvent)
}

// ends assigns the commit, which the group shares, to the first traced member.
func (t *pgTx) ends(group []*operation) {
	for _, op := range group {
		if t.span = op.span; t.span != nil {
			return
		}
	}
}
