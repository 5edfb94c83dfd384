package extract

import (
	"container/list"
	"sync"
	"time"
)

const (
	// shelfSize is the memory for pictures and texts of all organizations.
	shelfSize = 32 << 20
	// shelfPart bounds a single one.
	shelfPart = 8 << 20
	// shelfTime is how long one is kept at most. So nothing of an erased
	// document stays in memory for longer.
	shelfTime = 10 * time.Minute
)

// shelf keeps the values that were used last, within a bound on their bytes and
// on their age.
type shelf struct {
	mu    sync.Mutex
	items map[string]*list.Element
	order *list.List // of *shelfItem, the last used first
	size  int
	// sweep removes old values. It is nil while there are none.
	sweep *time.Timer
	// struck counts the strikes of files.
	struck map[string]strikeCount
}

type shelfItem struct {
	key   string
	value sizer
	until time.Time
}

type strikeCount struct {
	count int
	until time.Time
}

func newShelf() *shelf {
	return &shelf{items: map[string]*list.Element{}, order: list.New(), struck: map[string]strikeCount{}}
}

// get returns the value of a key, and nil if there is none.
func (s *shelf) get(key string) sizer {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.items[key]
	if e == nil || time.Now().After(e.Value.(*shelfItem).until) {
		return nil
	}
	s.order.MoveToFront(e)
	return e.Value.(*shelfItem).value
}

// put keeps a value, unless it is too large.
func (s *shelf) put(key string, v sizer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.items[key]; e != nil {
		s.remove(e)
	}
	if v.Size() > shelfPart {
		return
	}
	s.items[key] = s.order.PushFront(&shelfItem{key, v, time.Now().Add(shelfTime)})
	for s.size += v.Size(); s.size > shelfSize; {
		s.remove(s.order.Back())
	}
	s.watch()
}

// watch starts the timer that removes old values, if there is none. The caller
// holds the lock.
func (s *shelf) watch() {
	if s.sweep == nil {
		s.sweep = time.AfterFunc(shelfTime, s.clean)
	}
}

// clean removes old values. If some are left, it comes again.
func (s *shelf) clean() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sweep == nil { // emptied in this moment
		return
	}
	now, next := time.Now(), time.Time{}
	later := func(until time.Time) {
		if next.IsZero() || until.Before(next) {
			next = until
		}
	}
	for e := s.order.Front(); e != nil; {
		after := e.Next()
		if until := e.Value.(*shelfItem).until; !until.After(now) {
			s.remove(e)
		} else {
			later(until)
		}
		e = after
	}
	for name, one := range s.struck {
		if !one.until.After(now) {
			delete(s.struck, name)
		} else {
			later(one.until)
		}
	}
	s.sweep = nil
	if !next.IsZero() {
		s.sweep = time.AfterFunc(next.Sub(now), s.clean)
	}
}

// remove removes an item. The caller holds the lock.
func (s *shelf) remove(e *list.Element) {
	k := s.order.Remove(e).(*shelfItem)
	delete(s.items, k.key)
	s.size -= k.value.Size()
}

// drop removes the values whose keys fit.
func (s *shelf) drop(fits func(key string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, e := range s.items {
		if fits(key) {
			s.remove(e)
		}
	}
}

// empty removes everything, and stops the timer.
func (s *shelf) empty() {
	s.drop(func(string) bool { return true })
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.struck)
	if s.sweep != nil {
		s.sweep.Stop()
		s.sweep = nil
	}
}

// strike counts a strike of a file. It is forgotten after a while.
func (s *shelf) strike(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.struck[name] = strikeCount{s.struck[name].count + 1, time.Now().Add(shelfTime)}
	s.watch()
}

// strikes returns the strikes of a file.
func (s *shelf) strikes(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.struck[name]
	if time.Now().After(one.until) {
		return 0
	}
	return one.count
}
