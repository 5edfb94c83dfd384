package waittest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"kartei/test/waittest"
)

func TestStuckWithoutChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, begin := waittest.New(), time.Now()
		for left := range 5 { // Bound begins again with each change.
			time.Sleep(waittest.Bound - 1)
			if w.IsStuck(left, "left") {
				t.Fatalf("stuck at %d, after %s", left, time.Since(begin))
			}
		}
		time.Sleep(waittest.Bound / 2)
		if w.IsStuck(4, "left") {
			t.Error("stuck after half of the time")
		}
		changed := time.Now().Add(-waittest.Bound / 2)
		<-w.Stuck(4, "left")
		if waited := time.Since(changed); waited != waittest.Bound {
			t.Errorf("stuck after %s", waited)
		}
	})
}
