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

// Panic is a panic of a Write function, with its stack. It carries the panic from the writer's
// goroutine to the caller's.
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

// Operation is one Write in the queue of a group commit.
type Operation struct {
	f func(db.Tx) error
	// Span is the span of the caller's transaction. It is nil if the call is not traced.
	Span     *trace.Span
	Messages []Message // messages of NotifyLocal, only on SQLite
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

// NewOperation returns an operation that waits to run.
func NewOperation(f func(db.Tx) error, span *trace.Span) *Operation {
	return &Operation{f: f, Span: span, done: make(chan struct{})}
}

// Start marks the operation as running, and reports true. If the caller has given up before, it
// reports false.
func (op *Operation) Start() bool { return op.state.CompareAndSwap(opWaiting, opRunning) }

// IsRunning reports whether Start succeeded.
func (op *Operation) IsRunning() bool { return op.state.Load() == opRunning }

// IsGivenUp reports whether the context of Wait ended before Start.
func (op *Operation) IsGivenUp() bool { return op.state.Load() == opGivenUp }

// HasExited reports whether the function ended its goroutine, by runtime.Goexit, in the last Call.
func (op *Operation) HasExited() bool { return op.exited }

// Wait waits for the operation and returns its result. If the function panicked or called
// runtime.Goexit, Wait does the same in the caller's goroutine. If ctx ends before Start, Wait
// gives up and returns the error of ctx.
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

// Call runs the function, and returns a panic as an error.
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

// Finish passes err as the result to the caller in Wait.
func (op *Operation) Finish(err error) {
	op.Err = err
	close(op.done)
}
