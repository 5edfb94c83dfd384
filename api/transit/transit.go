// Package transit owns the files in transit between clients and this process: how many there may be.
package transit

import (
	"cmp"
	"sync"
	"time"

	"kartei/kit/fault"
	"kartei/kit/i18n"
)

// Transfer is the running upload or download of a file. It takes as long as the client's connection
// needs, possibly hours. So it has limits of its own and does not count among the concurrent calls
// of the instance. A download counts as a running call of its key until it ends. An upload has no
// key.
type Transfer struct {
	counter      *Counter
	organization int64
	direction    string
	begun        time.Time
	once         sync.Once
}

// Up is for uploads, and Down for downloads.
const (
	Up   = "up"
	Down = "down"
)

// These are the results of a transfer.
const (
	Whole   = "whole"   // the file was transferred completely
	Refused = "refused" // it is not the announced file, or the file is not accepted
	Broken  = "broken"  // the client disconnected, or was too slow
	Failed  = "failed"  // the store failed
)

// Observer receives the progress and the end of transfers, for metrics.
type Observer interface {
	// Moved is called with the number of bytes as they are transferred.
	Moved(direction string, bytes int)
	// Ended is called at the end of each transfer, with its result and its duration.
	Ended(direction, how string, took time.Duration)
}

// noObserver is the default Observer. It does nothing.
type noObserver struct{}

func (noObserver) Moved(string, int)                   {}
func (noObserver) Ended(string, string, time.Duration) {}

// Counter counts running transfers, and limits their number.
type Counter struct {
	max, each int // the maximum: in all, and for one organization
	observer  Observer
	now       func() time.Time

	mu    sync.Mutex
	count int
	of    map[int64]int
}

// NewCounter returns a counter. max is the maximum number of transfers, and zero means 256. each is
// the maximum number for one organization, and zero means 32. o may be nil.
func NewCounter(max, each int, o Observer, now func() time.Time) *Counter {
	if o == nil {
		o = noObserver{}
	}
	return &Counter{max: cmp.Or(max, 256), each: cmp.Or(each, 32), observer: o, now: now, of: map[int64]int{}}
}

// Begin begins a transfer. It fails with 429 if too many transfers are running.
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

// Count returns the number of running transfers.
func (c *Counter) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// Moved reports a number of transferred bytes to the observer.
func (t *Transfer) Moved(bytes int) { t.counter.observer.Moved(t.direction, bytes) }

// End ends the transfer with one of the results above. Further calls do nothing.
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

// retry is the Retry-After if too many transfers are running.
const retry = 2 * time.Second

var (
	manyTransfers = i18n.Text("Your organization already has as many files in transit as this instance allows at the same time. Wait until one of them has been transferred.")
	noLine        = i18n.Text("Too many files are in transit at present. Please try again shortly.")
)
