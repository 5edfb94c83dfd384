package sqlite

import (
	"fmt"
	"sync"

	"kartei/store/db"
	"kartei/store/db/internal/engine"
)

// queue contains the operations that wait for SQLite's writer. Organizations take turns, with one
// operation each. So an organization with many changes does not delay the others. Within one
// organization the order is first come, first served. Operations of no organization, or of several,
// count as organization 0.
type queue struct {
	limit int
	// ready has an element while operations are waiting.
	ready chan struct{}

	mu      sync.Mutex
	waiting int
	turns   []int64                       // organizations with waiting operations, in the order of turns
	by      map[int64][]*engine.Operation // waiting operations by organization, without empty lists
}

func newQueue(limit int) *queue {
	return &queue{limit: limit, ready: make(chan struct{}, 1), by: map[int64][]*engine.Operation{}}
}

// join adds an operation to the queue, or fails if the queue is full.
func (q *queue) join(organization int64, op *engine.Operation) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting >= q.limit {
		return fmt.Errorf("%w: %d writes are waiting", db.ErrBusy, q.waiting)
	}
	if len(q.by[organization]) == 0 {
		q.turns = append(q.turns, organization)
	}
	q.by[organization] = append(q.by[organization], op)
	q.waiting++
	q.wake()
	return nil
}

// next removes and returns the next operation, or nil if none waits.
func (q *queue) next() *engine.Operation {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == 0 {
		return nil
	}
	organization := q.turns[0]
	q.turns = q.turns[1:]
	list := q.by[organization]
	if q.waiting--; len(list) > 1 {
		q.by[organization] = list[1:]
		q.turns = append(q.turns, organization)
	} else {
		delete(q.by, organization)
	}
	if q.waiting > 0 {
		q.wake()
	}
	return list[0]
}

func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}
