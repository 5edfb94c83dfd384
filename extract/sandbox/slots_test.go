package sandbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

// TestSlots checks that an organization cannot have all slots, and that a free slot goes to the
// organization with the fewest processes.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(2)
		var in []int64
		enter := func(ctx context.Context, organization int64) {
			go func() {
				if s.Enter(ctx, organization) == nil {
					in = append(in, organization)
				}
			}()
			synctest.Wait()
		}
		has := func(want ...int64) {
			t.Helper()
			if !slices.Equal(in, want) {
				t.Fatalf("in are %v, want %v", in, want)
			}
		}
		gone, leave := context.WithCancel(t.Context())
		for range 3 {
			enter(t.Context(), 1)
		}
		has(1, 1)
		enter(t.Context(), 2)
		has(1, 1, 2)
		enter(gone, 3)
		enter(t.Context(), 2)
		enter(t.Context(), 4)
		has(1, 1, 2)
		leave() // organization 3 stops waiting
		synctest.Wait()
		s.Leave(1)
		synctest.Wait()
		has(1, 1, 2, 4) // 4 has no slot yet, so it comes first
		s.Leave(4)
		synctest.Wait()
		has(1, 1, 2, 4) // the last slot is for an organization without a process; 1 and 2 have one
		s.Leave(2)
		synctest.Wait()
		has(1, 1, 2, 4, 2)
		s.Leave(2)
		synctest.Wait()
		has(1, 1, 2, 4, 2, 1)
		s.Leave(1)
		s.Leave(1)
		if s.free != 3 || len(s.running) != 0 || len(s.queue) != 0 {
			t.Errorf("in the end there are %+v", s)
		}
	})
}
