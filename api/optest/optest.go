// Package optest owns how tests and measurements run an operation without the path.
package optest

import (
	"context"

	"kartei/api/internal/function"
	"kartei/api/op"
)

// Run runs the function of an operation with a call, in the call's transaction. It first runs the
// prefetch in the same transaction, unless the call already has a prefetched value.
func Run[In, Out any](ctx context.Context, c *op.Call, o op.Operation[In, Out], in In) (out Out, err error) {
	f := function.Of(o.Row).(op.Function)
	if f.Prefetch != nil && c.Prefetched == nil {
		if c.Prefetched, err = f.Prefetch(ctx, c, &in); err != nil {
			return out, err
		}
	}
	answer, err := f.Do(ctx, c, &in)
	out, _ = answer.(Out)
	return out, err
}

// Prefetch runs the prefetch of an operation and returns its result. The API runs it before the
// transaction.
func Prefetch[In, Out any](ctx context.Context, c *op.Call, o op.Operation[In, Out], in In) (any, error) {
	return function.Of(o.Row).(op.Function).Prefetch(ctx, c, &in)
}
