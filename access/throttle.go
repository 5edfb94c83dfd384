package access

import (
	"net/netip"
	"sync"
	"time"

	"kartei/kit/clock"
)

// throttle counts refused credentials by address, so that nobody can try
// keys at speed. An address that reaches the limit is shut out until the
// window that its first failure opened is over.
type throttle struct {
	limit  int
	window time.Duration
	max    int // addresses remembered

	mu       sync.Mutex
	failures map[netip.Addr]failures
}

type failures struct {
	count int
	since clock.Micros
}

func newThrottle(limit int, window time.Duration, max int) *throttle {
	return &throttle{limit: limit, window: window, max: max, failures: make(map[netip.Addr]failures)}
}

// source is what counts as one address: an IPv4 address, or the /64 of an
// IPv6 address, all of which one customer can use at will. A caller without
// an address shares the zero one.
func source(from netip.Addr) netip.Addr {
	if from.Is4() || !from.IsValid() {
		return from
	}
	p, _ := from.Prefix(64)
	return p.Addr()
}

// blocked returns how long an address is still shut out, or zero.
func (t *throttle) blocked(from netip.Addr, now clock.Micros) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, known := t.failures[from]
	if !known {
		return 0
	}
	left := f.since.Add(t.window).Sub(now)
	if left <= 0 || left > t.window { // over, or the clock was set back
		delete(t.failures, from)
		return 0
	}
	if f.count < t.limit {
		return 0
	}
	return left
}

// failed counts a refusal. When the table is full it forgets some other
// address: who has so many addresses is not held up by this anyway, and
// memory stays bounded.
func (t *throttle) failed(from netip.Addr, now clock.Micros) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, known := t.failures[from]
	if age := now.Sub(f.since); !known || age < 0 || age >= t.window {
		f = failures{since: now}
	}
	if !known && len(t.failures) >= t.max {
		for other := range t.failures {
			delete(t.failures, other)
			break
		}
	}
	f.count++
	t.failures[from] = f
}

// sightings remembers from where a key was used with success. It is read
// without a lock on every call and replaced when something new is to be said.
type sightings []sighting

type sighting struct {
	from netip.Addr
	at   clock.Micros
}

const (
	// sightingsPerKey is how many addresses are remembered for one key.
	sightingsPerKey = 8
	// sightingLasts is how long a success vouches for a key at an address.
	sightingLasts = clock.Hour
	// sightingFresh is how old a sighting may be before it is renewed.
	sightingFresh = clock.Minute
)

// last returns when the key was last seen at an address, or zero.
func (s sightings) last(from netip.Addr) clock.Micros {
	for i := range s {
		if s[i].from == from {
			return s[i].at
		}
	}
	return 0
}

// with returns the sightings with one more, the newest first.
func (s sightings) with(from netip.Addr, at clock.Micros) sightings {
	next := make(sightings, 1, sightingsPerKey)
	next[0] = sighting{from, at}
	for _, old := range s {
		if len(next) == sightingsPerKey {
			break
		}
		if old.from != from {
			next = append(next, old)
		}
	}
	return next
}
