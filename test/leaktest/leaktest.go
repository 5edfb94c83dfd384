// Package leaktest owns the look for goroutines that a test leaves behind.
package leaktest

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is the time that goroutines have to end by themselves on a busy
// machine. A connection that is being closed has such goroutines. goleak alone
// waits for half a second.
const patience = time.Minute

// None fails the test if it leaves goroutines behind.
func None(t testing.TB, o ...goleak.Option) {
	t.Helper()
	if err := Find(o...); err != nil {
		t.Error(err)
	}
}

// Find returns an error that names the remaining goroutines.
func Find(o ...goleak.Option) error {
	for until := time.Now().Add(patience); ; {
		if err := goleak.Find(o...); err == nil || time.Now().After(until) {
			return err
		}
	}
}
