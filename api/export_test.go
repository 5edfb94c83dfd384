package api

import (
	"context"

	"kartei/api/op"
)

// Replace makes an operation run another function. The result restores the old function.
func Replace[I, O any](r *Operation, f func(context.Context, *op.Call, I) (O, error)) (back func()) {
	before := r.Run
	r.Run.Function = op.Function{
		Do: func(ctx context.Context, c *op.Call, in any) (any, error) { return f(ctx, c, *in.(*I)) },
	}
	return func() { r.Run = before }
}
