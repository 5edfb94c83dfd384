package sandbox

import (
	"context"
	"slices"
	"sync"
)

// Slots bound how many processes run at the same time. The last slot is only for
// an organization that has none running. A file may take a minute, so a few
// files of one organization would block all others.
type Slots struct {
	mu      sync.Mutex
	free    int
	running map[int64]int // processes by organization; none is 0
	queue   []*applicant  // the queue, first come first served
}

// applicant waits for a slot.
type applicant struct {
	organization int64
	granted      chan struct{}
}

// NewSlots returns slots for a number of processes of one organization, and one
// more.
func NewSlots(n int) *Slots { return &Slots{free: n + 1, running: map[int64]int{}} }

// Enter waits for a slot. Its error comes from ctx. Leave returns the slot.
func (s *Slots) Enter(ctx context.Context, organization int64) error {
	a := &applicant{organization, make(chan struct{})}
	s.mu.Lock()
	s.queue = append(s.queue, a)
	s.grant()
	s.mu.Unlock()
	select {
	case <-a.granted:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.queue, a); i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
	} else {
		s.giveBack(organization) // it was granted in the same moment
	}
	return ctx.Err()
}

// Leave returns a slot that Enter gave.
func (s *Slots) Leave(organization int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveBack(organization)
}

func (s *Slots) giveBack(organization int64) {
	s.free++
	if s.running[organization]--; s.running[organization] == 0 {
		delete(s.running, organization)
	}
	s.grant()
}

// grant gives free slots to waiting applicants, first to the organization with
// the fewest.
func (s *Slots) grant() {
	for s.free > 0 && len(s.queue) > 0 {
		next := 0
		for i, a := range s.queue {
			if s.running[a.organization] < s.running[s.queue[next].organization] {
				next = i
			}
		}
		a := s.queue[next]
		if s.free == 1 && s.running[a.organization] > 0 {
			return
		}
		s.queue = slices.Delete(s.queue, next, next+1)
		s.free--
		s.running[a.organization]++
		close(a.granted)
	}
}
