// Package optest owns how tests and measurements run an operation without the path.
package optest

import (
	"context"

	"kartei/api/internal/function"
	"kartei/api/op"
)

// Run runs an operation in the transaction of a call. What it fetches beforehand is fetched
// there, too, unless the call has it.
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

// Prefetch runs the prefetch of an operation, and returns its result. The path does this before the
// transaction.
func Prefetch[In, Out any](ctx context.Context, c *op.Call, o op.Operation[In, Out], in In) (any, error) {
	return function.Of(o.Row).(op.Function).Prefetch(ctx, c, &in)
}
