package api

import (
	"context"

	"kartei/api/op"
)

// Replace makes a row of the second table run another function, until back is
// called.
func Replace[I, O any](r *ConsoleRow, f func(context.Context, *op.Call, I) (O, error)) (back func()) {
	before := r.Run
	r.Run = ask(f)
	return func() { r.Run = before }
}
