// Package transit owns the files in transit between clients and this process: how many there may be.
package transit

import (
	"cmp"
	"sync"
	"time"

	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// Transfer is a file in transit between a client and this process. It takes as
// long as the client's connection needs, possibly hours. So it has limits of
// its own and does not count among the concurrent calls of the instance. A
// download counts as a running call of its key until it ends. An upload has no
// key and does not.
type Transfer struct {
	counter      *Counter
	organization int64
	direction    string
	begun        time.Time
	once         sync.Once
}

// The directions: to the store, and from it.
const (
	Up   = "up"
	Down = "down"
)

// The results of a transfer.
const (
	Whole   = "whole"   // the file arrived as a whole
	Refused = "refused" // it is not the announced file, or none is accepted
	Broken  = "broken"  // the client disconnected, or was too slow
	Failed  = "failed"  // the store failed
)

// Observer observes files in transit.
type Observer interface {
	// Moved counts bytes as they flow.
	Moved(direction string, bytes int)
	// Ended reports the end of each transfer: how it ended, and after how long.
	Ended(direction, how string, took time.Duration)
}

// noObserver is the observer if none is set.
type noObserver struct{}

func (noObserver) Moved(string, int)                   {}
func (noObserver) Ended(string, string, time.Duration) {}

// Counter counts the files in transit, and bounds them.
type Counter struct {
	max, each int // bounds: in all, and for each organization
	observer  Observer
	now       func() time.Time

	mu    sync.Mutex
	count int
	of    map[int64]int
}

// NewCounter returns a counter. max bounds the files in all, zero means 256. each bounds the files of
// one organization, zero means 32. The observer may be nil.
func NewCounter(max, each int, o Observer, now func() time.Time) *Counter {
	if o == nil {
		o = noObserver{}
	}
	return &Counter{max: cmp.Or(max, 256), each: cmp.Or(each, 32), observer: o, now: now, of: map[int64]int{}}
}

// Begin begins the transfer of a file. It is refused with 429 if there are too many transfers.
func (c *Counter) Begin(organization int64, direction string) (*Transfer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[organization] >= c.each {
		return nil, &fault.Fault{Code: fault.RateLimited, RetryAfter: retry, Detail: manyTransfers,
			Extra: map[string]any{"violated-policies": []string{"transfers"}}}
	}
	if c.count >= c.max {
		return nil, &fault.Fault{Code: fault.Overloaded, RetryAfter: retry, Detail: noLine}
	}
	c.count++
	c.of[organization]++
	return &Transfer{counter: c, organization: organization, direction: direction, begun: c.now()}, nil
}

// Count returns the number of files in transit.
func (c *Counter) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// Moved counts transferred bytes.
func (t *Transfer) Moved(bytes int) { t.counter.observer.Moved(t.direction, bytes) }

// End ends the transfer with one of the results above. Only the first call
// counts.
func (t *Transfer) End(how string) {
	t.once.Do(func() {
		c := t.counter
		c.mu.Lock()
		c.count--
		if c.of[t.organization]--; c.of[t.organization] == 0 {
			delete(c.of, t.organization)
		}
		c.mu.Unlock()
		c.observer.Ended(t.direction, how, c.now().Sub(t.begun))
	})
}

// retry is the Retry-After for a client with too many files in transit.
const retry = 2 * time.Second

var (
	manyTransfers = i18n.Text("Your organization already has as many files in transit as this instance allows at the same time. Wait until one of them has been transferred.")
	noLine        = i18n.Text("Too many files are in transit at present. Please try again shortly.")
)
