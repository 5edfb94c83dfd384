// Package engine owns what both engines are made of: waiting writes, arguments, spans, rules of transactions.
package engine

import (
	"math"
	"sync"
	"sync/atomic"
)

// Gate counts running calls, so that Close can wait until all have ended.
type Gate struct {
	n    atomic.Int64 // number of running calls, plus shut after Close
	idle chan struct{}
	once sync.Once
}

const shut = math.MinInt64 / 2

// NewGate returns an open gate.
func NewGate() *Gate { return &Gate{idle: make(chan struct{})} }

// Enter reports whether the gate is open. If so, the call counts as running until the caller calls
// Leave.
func (g *Gate) Enter() bool {
	if g.n.Add(1) > 0 {
		return true
	}
	g.Leave()
	return false
}

// Leave ends a call that Enter began.
func (g *Gate) Leave() {
	if g.n.Add(-1) == shut {
		g.once.Do(func() { close(g.idle) })
	}
}

// Close refuses further calls and waits for the running calls. It reports whether it was the first
// Close.
func (g *Gate) Close() bool {
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
