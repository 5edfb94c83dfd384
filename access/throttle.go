package access

import (
	"net/netip"
	"sync"
	"time"

	"kartei/kit/clock"
)

// throttle counts refused credentials by address, so that keys cannot be
// guessed quickly. An address that reaches the limit is blocked until the
// window of its first failure ends.
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

// Network returns the unit in which guesses from an address are counted: see source.
func Network(from netip.Addr) netip.Addr { return source(from.Unmap().WithZone("")) }

// source returns the unit of counting for an address: an IPv4 address, or the
// /64 of an IPv6 address. One customer can use all of a /64. Callers without an
// address share the zero one.
func source(from netip.Addr) netip.Addr {
	if from.Is4() || !from.IsValid() {
		return from
	}
	p, _ := from.Prefix(64)
	return p.Addr()
}

// blocked returns how long an address stays blocked, or zero.
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

// failed counts a refusal. A full table drops an arbitrary address. A guesser
// with that many addresses would not be stopped anyway, and memory stays
// bounded.
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

// sightings are the addresses from which a key was used with success. Every
// call reads them without a lock; an update replaces them.
type sightings []sighting

type sighting struct {
	from netip.Addr
	at   clock.Micros
}

const (
	// sightingsPerKey is the number of addresses that are remembered for one
	// key.
	sightingsPerKey = 8
	// sightingLasts is the time for which a success vouches for a key at an
	// address.
	sightingLasts = clock.Hour
	// sightingFresh is the age at which a sighting is renewed.
	sightingFresh = clock.Minute
)

// last returns the time of the last use from an address, or zero.
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
