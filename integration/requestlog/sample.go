package requestlog

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Calls that are refused before they are charged cost their sender nothing, so the log keeps only a
// sample of them. With these numbers, 30 days of the log take at most 4 GB for calls without a
// valid key. One key takes at most 1 GB.
const (
	// senderRate is the number of entries a second that the log keeps for one key, or for one
	// address without a key. senderBurst is the size of the token bucket.
	senderRate, senderBurst = 1, 600
	// strangerRate and strangerBurst are the rate and the bucket of all addresses together.
	strangerRate, strangerBurst = 5, 10_000
	// senders is the maximum number of keys and addresses with a bucket. A further sender evicts
	// another sender, which later starts with a full bucket.
	senders = 10_000
)

// sampler decides which entries of unpaid calls the log keeps. It has a token bucket for each
// sender, and one for all addresses together.
type sampler struct {
	mu        sync.Mutex
	strangers *rate.Limiter
	bySender  map[string]*rate.Limiter
	logged    rate.Sometimes
}

func newSampler() *sampler {
	return &sampler{
		strangers: rate.NewLimiter(strangerRate, strangerBurst),
		bySender:  make(map[string]*rate.Limiter),
		logged:    rate.Sometimes{Interval: time.Minute},
	}
}

// allow reports whether the log keeps an entry.
func (s *sampler) allow(e *Entry) bool {
	if !e.Unpaid {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := e.At.Time()
	if s.sender(e).AllowN(at, 1) && (e.KeyID != "" || s.strangers.AllowN(at, 1)) {
		return true
	}
	s.logged.Do(func() {
		slog.Warn("request log: refused calls are so frequent that only a sample is kept; reported at most once a minute",
			"organization", e.Organization, "key", e.KidShort, "code", e.Code)
	})
	return false
}

func (s *sampler) sender(e *Entry) *rate.Limiter {
	name := e.KeyID
	if name == "" {
		name = source(e.Address)
	}
	l, known := s.bySender[name]
	if !known {
		if len(s.bySender) >= senders {
			for other := range s.bySender {
				delete(s.bySender, other)
				break
			}
		}
		l = rate.NewLimiter(senderRate, senderBurst)
		s.bySender[name] = l
	}
	return l
}

// source returns the part of an address that identifies a sender. For IPv6, it is the /64 network,
// which usually belongs to one customer.
func source(a netip.Addr) string {
	a = a.Unmap()
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
