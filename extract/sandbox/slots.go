package sandbox

import (
	"context"
	"slices"
	"sync"
)

// Slots limits the number of processes that run at the same time. The last free slot is given only
// to an organization that has no process. A file may take a minute, so that otherwise a few files
// of one organization would block all others.
type Slots struct {
	mu      sync.Mutex
	free    int
	running map[int64]int // number of processes of each organization; organizations without a process are missing
	queue   []*applicant  // first come, first served
}

// applicant is a caller of Enter that waits for a slot.
type applicant struct {
	organization int64
	granted      chan struct{}
}

// NewSlots returns n+1 slots. One organization can have up to n of them.
func NewSlots(n int) *Slots { return &Slots{free: n + 1, running: map[int64]int{}} }

// Enter waits for a slot. It returns an error only if ctx ends before. The caller must return the
// slot with Leave.
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
		s.giveBack(organization) // the slot was granted at the same moment
	}
	return ctx.Err()
}

// Leave returns a slot of an organization.
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

// grant gives free slots to waiting applicants. The organization with the fewest processes gets a
// slot first.
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
