package extract

import (
	"container/list"
	"sync"
	"time"
)

const (
	// shelfSize is the maximum size of all cached pages and texts together, in bytes.
	shelfSize = 32 << 20
	// shelfPart is the maximum size of a single cached value in bytes.
	shelfPart = 8 << 20
	// shelfTime is the maximum age of a cached value. It also limits how long the content of an
	// erased document stays in memory.
	shelfTime = 10 * time.Minute
)

// shelf is a cache of the most recently used values. It limits the bytes of all values and the age
// of each value.
type shelf struct {
	mu    sync.Mutex
	items map[string]*list.Element
	order *list.List // of *shelfItem, the most recently used first
	size  int
	// sweep is the timer that removes expired values. It is nil if the shelf is empty.
	sweep *time.Timer
	// struck maps the names of files to the number of their failed drawings.
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

// get returns the value of a key. It returns nil if the key has no value, or an expired value.
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

// put stores a value. It does not store a value larger than shelfPart. If the shelf gets too large,
// put removes the values that were not used for the longest time.
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

// watch starts the timer for clean if it is not running. The caller must hold the lock.
func (s *shelf) watch() {
	if s.sweep == nil {
		s.sweep = time.AfterFunc(shelfTime, s.clean)
	}
}

// clean removes expired values. If other values are left, clean starts the timer again.
func (s *shelf) clean() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sweep == nil { // empty stopped the timer just now
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

// remove removes an item. The caller must hold the lock.
func (s *shelf) remove(e *list.Element) {
	k := s.order.Remove(e).(*shelfItem)
	delete(s.items, k.key)
	s.size -= k.value.Size()
}

// drop removes all values for whose keys fits returns true.
func (s *shelf) drop(fits func(key string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, e := range s.items {
		if fits(key) {
			s.remove(e)
		}
	}
}

// empty removes all values and stops the timer.
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

// strike counts a failed drawing of a file. The count expires after shelfTime without a further
// failure.
func (s *shelf) strike(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.struck[name] = strikeCount{s.struck[name].count + 1, time.Now().Add(shelfTime)}
	s.watch()
}

// strikes returns the number of failed drawings of a file.
func (s *shelf) strikes(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.struck[name]
	if time.Now().After(one.until) {
		return 0
	}
	return one.count
}
