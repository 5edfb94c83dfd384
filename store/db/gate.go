package db

import (
	"math"
	"sync"
	"sync/atomic"
)

// gate counts running calls, so that Close can wait for them.
type gate struct {
	n    atomic.Int64 // running calls, plus shut after close
	idle chan struct{}
	once sync.Once
}

const shut = math.MinInt64 / 2

func newGate() *gate { return &gate{idle: make(chan struct{})} }

// enter reports whether the call may run. If so, leave must follow.
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

// close refuses further calls and waits for the running ones. It reports
// whether it was the first close.
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
