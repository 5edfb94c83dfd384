package access

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"kartei/kit/clock"
)

// throttle counts refused credentials by address, so that guesses cost little. An
// address that reaches the limit is blocked until the window of its first failure
// ends: what cannot be a key is not looked up, and keys are looked up few at a time.
type throttle struct {
	limit  int
	window time.Duration
	max    int // addresses remembered

	mu       sync.Mutex
	failures map[netip.Prefix]failures
}

// siteLimit is how many times the limit of a network a /48 of IPv6 may have.
const siteLimit = 4

type failures struct {
	count int
	since clock.Micros
}

func newThrottle(limit int, window time.Duration, max int) *throttle {
	return &throttle{limit: limit, window: window, max: max, failures: make(map[netip.Prefix]failures)}
}

// Network returns the unit in which guesses from an address are counted: see source.
func Network(from netip.Addr) netip.Addr { return source(from.Unmap().WithZone("")) }

// Site returns the wider unit in which guesses from an address are counted a second time:
// the /48 of an IPv6 address, the /24 of an IPv4 one. Providers give a customer up to a
// /48, so whoever has one comes from 65,536 networks.
func Site(from netip.Addr) netip.Addr {
	from = from.Unmap().WithZone("")
	bits := 48
	if from.Is4() {
		bits = 24
	}
	p, _ := from.Prefix(bits) // the zero prefix for no address
	return p.Addr()
}

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

// units returns what an address is counted by: its network, and the /48 of IPv6. Callers
// without an address share the zero one.
func units(from netip.Addr) (network, site netip.Prefix) {
	if !from.Is6() {
		return netip.PrefixFrom(from, from.BitLen()), network
	}
	network, _ = from.Prefix(64)
	site, _ = from.Prefix(48)
	return network, site
}

// blocked returns how long an address stays blocked, or zero.
func (t *throttle) blocked(from netip.Addr, now clock.Micros) time.Duration {
	network, site := units(from)
	t.mu.Lock()
	defer t.mu.Unlock()
	left := t.left(network, t.limit, now)
	if site.IsValid() {
		left = max(left, t.left(site, siteLimit*t.limit, now))
	}
	return left
}

// left returns how long a unit stays blocked, or zero.
func (t *throttle) left(from netip.Prefix, limit int, now clock.Micros) time.Duration {
	f, known := t.failures[from]
	if !known {
		return 0
	}
	left := f.since.Add(t.window).Sub(now)
	if left <= 0 || left > t.window { // over, or the clock was set back
		delete(t.failures, from)
		return 0
	}
	if f.count < limit {
		return 0
	}
	return left
}

// failed counts a refusal. A full table drops an arbitrary address. A guesser
// with that many addresses would not be stopped anyway, and memory stays
// bounded.
func (t *throttle) failed(from netip.Addr, now clock.Micros) {
	network, site := units(from)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(network, now)
	if site.IsValid() {
		t.count(site, now)
	}
}

func (t *throttle) count(from netip.Prefix, now clock.Micros) {
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

// looks bounds the credentials of blocked addresses that are looked up. A secret has 256
// random bits, so nobody guesses one: what is bounded is the load. So a key that was not
// used from an address lately is accepted there, whoever guesses from the same address.
type looks struct {
	slots chan struct{}

	mu    sync.Mutex
	total int
	of    map[netip.Addr]int
}

const (
	// looksAtOnce is the number of lookups at a time, looksWaiting the number of calls that
	// may wait for one, and looksOfOne the share of one network.
	looksAtOnce  = 4
	looksWaiting = 512
	looksOfOne   = 64
)

func newLooks() *looks {
	return &looks{slots: make(chan struct{}, looksAtOnce), of: map[netip.Addr]int{}}
}

// begin waits for a lookup, and returns what ends it, or nil if too many wait.
func (l *looks) begin(ctx context.Context, from netip.Addr) (end func()) {
	l.mu.Lock()
	if l.total >= looksWaiting || l.of[from] >= looksOfOne {
		l.mu.Unlock()
		return nil
	}
	l.total++
	l.of[from]++
	l.mu.Unlock()
	select {
	case l.slots <- struct{}{}:
		return func() { <-l.slots; l.leave(from) }
	case <-ctx.Done():
		l.leave(from)
		return nil
	}
}

func (l *looks) leave(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.of[from]--; l.of[from] == 0 {
		delete(l.of, from)
	}
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
