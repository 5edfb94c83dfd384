package db

import (
	"fmt"
	"sync"
)

// liteQueue are the operations that wait for SQLite's writer. Organizations take
// turns, so that many or long changes of one make no other wait for more than
// those of theirs that are next; within one it is first come, first served. What
// belongs to none, or to several, has a turn as organization 0.
type liteQueue struct {
	most int
	// ready holds something while operations wait.
	ready chan struct{}

	mu      sync.Mutex
	waiting int
	turns   []int64                // organizations with operations that wait, the next one first
	by      map[int64][]*operation // none is empty
}

func newLiteQueue(most int) *liteQueue {
	return &liteQueue{most: most, ready: make(chan struct{}, 1), by: map[int64][]*operation{}}
}

// join adds an operation to the queue, unless that is full.
func (q *liteQueue) join(organization int64, op *operation) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting >= q.most {
		return fmt.Errorf("%w: %d writes are waiting", ErrBusy, q.waiting)
	}
	if len(q.by[organization]) == 0 {
		q.turns = append(q.turns, organization)
	}
	q.by[organization] = append(q.by[organization], op)
	q.waiting++
	q.wake()
	return nil
}

// next takes the operation whose turn it is; nil where none waits.
func (q *liteQueue) next() *operation {
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

func (q *liteQueue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}
