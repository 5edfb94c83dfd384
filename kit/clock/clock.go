// Package clock owns the time: the system's clock in production, and a clock that tests move by hand.
package clock

import (
	"sync"
	"time"
)

// Clock returns the current time and starts timers.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// After returns a channel that receives the time once, after the duration d.
	After(d time.Duration) <-chan time.Time
}

// System is the clock of the operating system.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time                         { return time.Now() }
func (system) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Fake is a clock whose time changes only if a test calls Advance. It is safe for use by several
// goroutines.
type Fake struct {
	mu      sync.Mutex
	waits   sync.Cond // signalled when After adds a waiter
	now     time.Time
	waiters []waiter
	next    chan struct{} // closed when After adds a waiter; nil if Waited was not called since the last one
}

type waiter struct {
	at time.Time
	c  chan time.Time
}

// NewFake returns a clock with the time t.
func NewFake(t time.Time) *Fake {
	f := &Fake{now: t}
	f.waits.L = &f.mu
	return f
}

// Now returns the time of the clock.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// After returns a channel that receives once, when calls of Advance have moved the clock by d or
// more. If d is not positive, the channel receives at once.
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

// Waited returns a channel that is closed when the next goroutine calls After with a positive
// duration.
func (f *Fake) Waited() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = make(chan struct{})
	}
	return f.next
}

// Advance moves the clock by d. The channels of After whose time has come receive the new time.
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

// Await returns when at least n channels of After wait for their time. A test calls it after
// Advance to wait until its goroutines have finished their work and wait again.
func (f *Fake) Await(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.waiters) < n {
		f.waits.Wait()
	}
}
