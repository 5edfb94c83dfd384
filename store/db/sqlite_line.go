package db

import (
	"fmt"
	"sync"
)

// liteLine are the operations that wait for SQLite's writer. Organizations take
// turns, so that many or long changes of one make no other wait for more than
// those of theirs that are next; within one it is first come, first served. What
// belongs to none, or to several, has a turn as organization 0.
type liteLine struct {
	most int
	// ready holds something while operations wait.
	ready chan struct{}

	mu      sync.Mutex
	waiting int
	turns   []int64                // organizations with operations that wait, the next one first
	by      map[int64][]*operation // none is empty
}

func newLiteLine(most int) *liteLine {
	return &liteLine{most: most, ready: make(chan struct{}, 1), by: map[int64][]*operation{}}
}

// join puts an operation in line, unless that is full.
func (l *liteLine) join(organization int64, op *operation) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting >= l.most {
		return fmt.Errorf("%w: %d writes are waiting", ErrBusy, l.waiting)
	}
	if len(l.by[organization]) == 0 {
		l.turns = append(l.turns, organization)
	}
	l.by[organization] = append(l.by[organization], op)
	l.waiting++
	l.wake()
	return nil
}

// next takes the operation whose turn it is; nil where none waits.
func (l *liteLine) next() *operation {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == 0 {
		return nil
	}
	organization := l.turns[0]
	l.turns = l.turns[1:]
	list := l.by[organization]
	if l.waiting--; len(list) > 1 {
		l.by[organization] = list[1:]
		l.turns = append(l.turns, organization)
	} else {
		delete(l.by, organization)
	}
	if l.waiting > 0 {
		l.wake()
	}
	return list[0]
}

func (l *liteLine) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}
