package limit

import (
	"hash/maphash"
	"sync"
	"time"
)

// meter keeps the token buckets of one policy, one for each subject.
//
// A bucket's level is counted in units of 1/window of a point, with the window
// in microseconds: so each microsecond adds exactly quota, a point is exactly
// window, and nothing is ever rounded. The contract's key has a window of
// 60,000,000: 300 come in each microsecond, a full bucket holds 36,000,000,000.
type meter struct {
	quota  int64 // added each microsecond
	window int64 // one point
	full   int64 // the level of a full bucket
	seed   maphash.Seed
	shards [shards]shard
}

// shards is how many locks share the subjects: enough that some hundred
// connections seldom meet, small enough that an idle meter weighs nothing.
const shards = 64

// sweepFrom is how many buckets a shard holds before it looks for full ones.
const sweepFrom = 256

type shard struct {
	mu      sync.Mutex
	buckets map[subject]*bucket
	sweepAt int
	_       [40]byte // fills the cache line, so that shards do not slow each other
}

// bucket is what one subject has left. One that is full is the same as none.
type bucket struct {
	level int64
	at    int64 // microseconds of the limiter's time
}

func newMeter(p Policy) *meter {
	m := &meter{quota: p.Quota, window: p.Window.Microseconds(), seed: maphash.MakeSeed()}
	m.full = p.Capacity * m.window
	for i := range m.shards {
		m.shards[i].buckets = map[subject]*bucket{}
		m.shards[i].sweepAt = sweepFrom
	}
	return m
}

// shard returns the shard of s; the caller locks it.
func (m *meter) shard(s subject) *shard {
	h := maphash.String(m.seed, s.id) + uint64(s.organization)*0x9e3779b97f4a7c15
	return &m.shards[h>>32%shards]
}

// bucket returns the bucket of s, filled up to now. The shard is locked.
func (m *meter) bucket(sh *shard, s subject, now int64) *bucket {
	b := sh.buckets[s]
	if b == nil {
		if len(sh.buckets) >= sh.sweepAt {
			m.sweep(sh, now)
		}
		b = &bucket{m.full, now}
		sh.buckets[s] = b
		return b
	}
	m.refill(b, now)
	return b
}

// refill adds what has come in since the bucket was last looked at. A caller
// that read the time before another but got the lock after it adds nothing.
func (m *meter) refill(b *bucket, now int64) {
	elapsed := now - b.at
	if elapsed <= 0 {
		return
	}
	b.at = now
	if missing := m.full - b.level; elapsed > missing/m.quota {
		b.level = m.full
	} else {
		b.level += elapsed * m.quota
	}
}

// sweep drops the buckets that are full, and sets the next sweep so far off
// that the work is paid for by the insertions between: memory holds at most
// twice the subjects that are active within the time that a bucket needs to
// fill (two minutes for a key), and needs no goroutine.
func (m *meter) sweep(sh *shard, now int64) {
	for s, b := range sh.buckets {
		if m.refill(b, now); b.level == m.full {
			delete(sh.buckets, s)
		}
	}
	sh.sweepAt = max(sweepFrom, 2*len(sh.buckets))
}

// read puts what is left at level into s.
func (m *meter) read(level int64, s *Status) {
	s.Remaining = level / m.window
	s.Reset = time.Duration((m.full-level+m.quota-1)/m.quota) * time.Microsecond
}

// peek puts what s has left at the time now into st, without keeping a bucket for it.
func (m *meter) peek(s subject, now int64, st *Status) {
	sh := m.shard(s)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	level := m.full
	if b := sh.buckets[s]; b != nil {
		m.refill(b, now)
		level = b.level
	}
	m.read(level, st)
}
