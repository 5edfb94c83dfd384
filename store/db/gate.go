package db

import (
	"math"
	"sync"
	"sync/atomic"
)

// gate counts the calls that run, so that Close can wait for them.
type gate struct {
	n    atomic.Int64 // running calls, plus shut once closed
	idle chan struct{}
	once sync.Once
}

const shut = math.MinInt64 / 2

func newGate() *gate { return &gate{idle: make(chan struct{})} }

// enter reports whether the call may run; leave must follow.
func (g *gate) enter() bool {
	if g.n.Add(1) > 0 {
		return true
	}
	g.leave()
	return false
}

func (g *gate) leave() {
	if g.n.Add(-1) == shut {
		g.once.Do(func() { close(g.idle) })
	}
}

// close lets no further call in and waits for those that run. It reports
// whether it was the first to close.
func (g *gate) close() bool {
	for {
		n := g.n.Load()
		if n < 0 {
			<-g.idle
			return false
		}
		if g.n.CompareAndSwap(n, n+shut) {
			if n == 0 {
				g.once.Do(func() { close(g.idle) })
			}
			<-g.idle
			return true
		}
	}
}
