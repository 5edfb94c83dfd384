package engine

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"kartei/kit/trace"
	"kartei/store/db"
)

// Panic carries a panic of a Write function from the writer's goroutine to the
// caller's, with the stack of its origin.
type Panic struct {
	Value any
	Stack []byte
}

// Error returns the value and the stack.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value of the panic if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Operation is one Write in the queue for a group commit.
type Operation struct {
	f func(db.Tx) error
	// Span is the span of the caller's transaction, or nil.
	Span     *trace.Span
	Messages []Message // of NotifyLocal (SQLite)
	// Err is the result of the call, before Finish.
	Err error

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

// NewOperation returns an operation that waits.
func NewOperation(f func(db.Tx) error, span *trace.Span) *Operation {
	return &Operation{f: f, Span: span, done: make(chan struct{})}
}

// Start reports whether the operation runs from now on. If not, its caller has given up.
func (op *Operation) Start() bool { return op.state.CompareAndSwap(opWaiting, opRunning) }

// IsRunning reports whether Start succeeded.
func (op *Operation) IsRunning() bool { return op.state.Load() == opRunning }

// IsGivenUp reports whether the context of Wait ended before Start.
func (op *Operation) IsGivenUp() bool { return op.state.Load() == opGivenUp }

// HasExited reports whether the function of the last Call ended its goroutine.
func (op *Operation) HasExited() bool { return op.exited }

// Wait returns the result of the operation. A panic or runtime.Goexit of its
// function is repeated here, in the caller's goroutine.
func (op *Operation) Wait(ctx context.Context) error {
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
	return op.Err
}

// Call runs the function and catches its panic.
func (op *Operation) Call(tx db.Tx) (err error) {
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

// Finish returns the result to the caller.
func (op *Operation) Finish(err error) {
	op.Err = err
	close(op.done)
}
