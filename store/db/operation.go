package db

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"kartei/kit/trace"
	"kartei/store/db/sqlite/driver"
)

// operation is one Write in the queue for a group commit.
type operation struct {
	f func(Tx) error
	// alone, instead of f, runs outside any transaction (SQLite).
	alone func(*driver.Conn) error
	// span is the span of the caller's transaction, or nil.
	span     *trace.Span
	state    atomic.Int32
	messages []message // of NotifyLocal (SQLite)
	done     chan struct{}

	// Set before done is closed.
	err      error
	panicked *Panic
	exited   bool
}

const (
	opWaiting = iota
	opRunning
	opGivenUp
)

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
