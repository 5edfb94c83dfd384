package access

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"kartei/kit/clock"
)

// throttle counts refused credentials by address, so that guesses cost little. An address that
// reaches the limit is blocked until the window of its first failure ends. Then a text that
// cannot be a key is refused without a lookup, and keys are looked up a few at a time.
type throttle struct {
	limit  int
	window time.Duration
	max    int // maximum number of addresses

	mu       sync.Mutex
	failures map[netip.Prefix]failures
}

// siteLimit is the factor between the limit of a /48 of IPv6 and the limit of a single network.
const siteLimit = 4

type failures struct {
	count int
	since clock.Micros
}

func newThrottle(limit int, window time.Duration, max int) *throttle {
	return &throttle{limit: limit, window: window, max: max, failures: make(map[netip.Prefix]failures)}
}

// Network returns the network by which guesses from an address are counted: see source.
func Network(from netip.Addr) netip.Addr { return source(from.Unmap().WithZone("")) }

// Site returns the wider network by which guesses from an address are counted a second time. It
// is the /48 of an IPv6 address, or the /24 of an IPv4 address. Providers give a customer up to a
// /48, which has 65,536 networks.
func Site(from netip.Addr) netip.Addr {
	from = from.Unmap().WithZone("")
	bits := 48
	if from.Is4() {
		bits = 24
	}
	p, _ := from.Prefix(bits) // the zero prefix if there is no address
	return p.Addr()
}

// source returns the network by which an address is counted. It is the IPv4 address itself, or
// the /64 of an IPv6 address, because one customer can use all of a /64. Callers without an
// address share the zero address.
func source(from netip.Addr) netip.Addr {
	if from.Is4() || !from.IsValid() {
		return from
	}
	p, _ := from.Prefix(64)
	return p.Addr()
}

// units returns the networks by which an address is counted: the address itself or the /64, and
// the /48 of IPv6. Callers without an address share the zero prefix.
func units(from netip.Addr) (network, site netip.Prefix) {
	if !from.Is6() {
		return netip.PrefixFrom(from, from.BitLen()), network
	}
	network, _ = from.Prefix(64)
	site, _ = from.Prefix(48)
	return network, site
}

// blocked returns the time for which an address stays blocked, or zero.
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

// left returns the time for which a network stays blocked, or zero.
func (t *throttle) left(from netip.Prefix, limit int, now clock.Micros) time.Duration {
	f, known := t.failures[from]
	if !known {
		return 0
	}
	left := f.since.Add(t.window).Sub(now)
	if left <= 0 || left > t.window { // the window has ended, or the clock was set back
		delete(t.failures, from)
		return 0
	}
	if f.count < limit {
		return 0
	}
	return left
}

// failed counts a refusal. If the table is full, it first removes an arbitrary address, so memory
// is bounded. A guesser with so many addresses could not be stopped anyway.
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

// looks limits the lookups of credentials from blocked addresses. A secret has 256 random bits
// and cannot be guessed, so only the load must be limited. A valid key is accepted even if it was
// not used from a blocked address before.
type looks struct {
	slots chan struct{}

	mu    sync.Mutex
	total int
	of    map[netip.Addr]int
}

const (
	// looksAtOnce is the maximum number of simultaneous lookups. looksWaiting is the maximum
	// number of calls that make a lookup or wait for one. looksOfOne is the maximum of such calls
	// from one network.
	looksAtOnce  = 4
	looksWaiting = 512
	looksOfOne   = 64
)

func newLooks() *looks {
	return &looks{slots: make(chan struct{}, looksAtOnce), of: map[netip.Addr]int{}}
}

// begin waits for a lookup, and returns the function that ends it. It returns nil if too many
// calls wait or ctx ends.
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

// sightings are the addresses from which a key was used successfully. Every call reads them
// without a lock, and an update replaces the slice.
type sightings []sighting

type sighting struct {
	from netip.Addr
	at   clock.Micros
}

const (
	// sightingsPerKey is the maximum number of addresses that are stored for one key.
	sightingsPerKey = 8
	// sightingLasts is the time for which a successful use exempts a key from the throttle at its
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

// with returns the sightings with an additional sighting. The newest comes first.
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
