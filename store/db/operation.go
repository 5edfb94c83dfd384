package db

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"kartei/kit/trace"
)

// operation is one Write in the queue for a group commit.
type operation struct {
	f func(Tx) error
	// span is the span of the caller's transaction, or nil.
	span     *trace.Span
	messages []message // of NotifyLocal (SQLite)
	// err is the result, set before finish.
	err error

	state    atomic.Int32
	done     chan struct{}
	panicked *Panic
	exited   bool
}

const (
	opWaiting = iota
	opRunning
	opGivenUp
)

// newOperation returns an operation that waits.
func newOperation(f func(Tx) error, span *trace.Span) *operation {
	return &operation{f: f, span: span, done: make(chan struct{})}
}

// start reports whether the operation runs from now on. If not, its caller has given up.
func (op *operation) start() bool { return op.state.CompareAndSwap(opWaiting, opRunning) }

// isRunning reports whether start succeeded.
func (op *operation) isRunning() bool { return op.state.Load() == opRunning }

// isGivenUp reports whether the context of wait ended before start.
func (op *operation) isGivenUp() bool { return op.state.Load() == opGivenUp }

// hasExited reports whether the function of the last call ended its goroutine.
func (op *operation) hasExited() bool { return op.exited }

// wait returns the result of the operation. A panic or runtime.Goexit of its
// function is repeated here, in the caller's goroutine.
func (op *operation) wait(ctx context.Context) error {
	select {
	case <-op.done:
	case <-ctx.Done():
		if op.state.CompareAndSwap(opWaiting, opGivenUp) {
			return ctx.Err()
		}
		<-op.done
	}
	switch {
	case op.panicked != nil:
		panic(op.panicked)
	case op.exited:
		runtime.Goexit()
	}
	return op.err
}

// call runs the function and catches its panic.
func (op *operation) call(tx Tx) (err error) {
	op.exited, op.panicked = true, nil
	defer func() {
		if v := recover(); v != nil {
			op.exited = false
			op.panicked = &Panic{Value: v, Stack: debug.Stack()}
			err = op.panicked
		}
	}()
	err = op.f(tx)
	op.exited = false
	return err
}

// finish returns the result to the caller.
func (op *operation) finish(err error) {
	op.err = err
	close(op.done)
}
