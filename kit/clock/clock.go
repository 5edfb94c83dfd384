// Package clock owns the time: the system's in production, one moved by hand in tests.
package clock

import (
	"sync"
	"time"
)

// Clock tells the time and wakes callers that wait for it.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// After returns a channel that receives once, when d has passed.
	After(d time.Duration) <-chan time.Time
}

// System is the machine's own clock.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time                         { return time.Now() }
func (system) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Fake is a clock that stands still until a test moves it.
// It is safe for use by several goroutines.
type Fake struct {
	mu      sync.Mutex
	waits   sync.Cond // signalled when a goroutine begins to wait
	now     time.Time
	waiters []waiter
	next    chan struct{} // closed when a goroutine begins to wait; nil if nobody asked for it
}

type waiter struct {
	at time.Time
	c  chan time.Time
}

// NewFake returns a clock that stands at t.
func NewFake(t time.Time) *Fake {
	f := &Fake{now: t}
	f.waits.L = &f.mu
	return f
}

// Now returns the time at which the clock stands.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// After returns a channel that receives once the clock has been moved by d or more.
func (f *Fake) After(d time.Duration) <-chan time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := make(chan time.Time, 1)
	if d <= 0 {
		c <- f.now
		return c
	}
	f.waiters = append(f.waiters, waiter{f.now.Add(d), c})
	f.waits.Broadcast()
	if f.next != nil {
		close(f.next)
		f.next = nil
	}
	return c
}

// Waited returns a channel that is closed when the next goroutine begins to
// wait.
func (f *Fake) Waited() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = make(chan struct{})
	}
	return f.next
}

// Advance moves the clock by d and wakes every goroutine whose time has come.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
	rest := f.waiters[:0]
	for _, w := range f.waiters {
		if w.at.After(f.now) {
			rest = append(rest, w)
			continue
		}
		w.c <- f.now
	}
	f.waiters = rest
}

// Await returns when at least n goroutines wait for the clock. The goroutines
// that a test has woken have then finished their work.
func (f *Fake) Await(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.waiters) < n {
		f.waits.Wait()
	}
}
