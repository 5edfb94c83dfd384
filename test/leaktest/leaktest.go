// Package leaktest owns the check for goroutines that a test leaves behind.
package leaktest

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end by themselves on a busy machine. A connection
// that closes has such goroutines. The default of goleak is half a second.
const patience = time.Minute

// None fails the test if it leaves goroutines behind.
func None(t testing.TB, o ...goleak.Option) {
	t.Helper()
	if err := Find(o...); err != nil {
		t.Error(err)
	}
}

// Find returns an error with the stacks of remaining goroutines. It waits up to patience for their
// end.
func Find(o ...goleak.Option) error {
	for until := time.Now().Add(patience); ; {
		if err := goleak.Find(o...); err == nil || time.Now().After(until) {
			return err
		}
	}
}
