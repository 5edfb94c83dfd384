package api

import (
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
	transfers    *transfers
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

// TransferObserver observes files in transit.
type TransferObserver interface {
	// Moved counts bytes as they flow.
	Moved(direction string, bytes int)
	// Ended reports the end of each transfer: how it ended, and after how long.
	Ended(direction, how string, took time.Duration)
}

// noObserver is the observer if none is set.
type noObserver struct{}

func (noObserver) Moved(string, int)                   {}
func (noObserver) Ended(string, string, time.Duration) {}

// transfers counts the files in transit.
type transfers struct {
	limit, each int // bounds: in all, and for each organization
	observer    TransferObserver
	now         func() time.Time

	mu    sync.Mutex
	count int
	of    map[int64]int
}

// Transfer begins the transfer of a file. It is refused with 503 while calls
// are, and with 429 if there are too many transfers.
func (a *API) Transfer(organization int64, direction string) (*Transfer, error) {
	if err := a.Ready(); err != nil {
		return nil, err
	}
	t := &a.transfers
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[organization] >= t.each {
		return nil, &fault.Fault{Code: fault.RateLimited, RetryAfter: transferRetry, Detail: manyTransfers,
			Extra: map[string]any{"violated-policies": []string{"transfers"}}}
	}
	if t.count >= t.limit {
		return nil, &fault.Fault{Code: fault.Overloaded, RetryAfter: transferRetry, Detail: noLine}
	}
	t.count++
	t.of[organization]++
	return &Transfer{transfers: t, organization: organization, direction: direction, begun: t.now()}, nil
}

// Transfers returns the number of files in transit.
func (a *API) Transfers() int {
	a.transfers.mu.Lock()
	defer a.transfers.mu.Unlock()
	return a.transfers.count
}

// Moved counts transferred bytes.
func (t *Transfer) Moved(bytes int) { t.transfers.observer.Moved(t.direction, bytes) }

// End ends the transfer with one of the results above. Only the first call
// counts.
func (t *Transfer) End(how string) {
	t.once.Do(func() {
		s := t.transfers
		s.mu.Lock()
		s.count--
		if s.of[t.organization]--; s.of[t.organization] == 0 {
			delete(s.of, t.organization)
		}
		s.mu.Unlock()
		s.observer.Ended(t.direction, how, s.now().Sub(t.begun))
	})
}

// transferRetry is the Retry-After for a client with too many files in transit.
const transferRetry = 2 * time.Second

var (
	manyTransfers = i18n.Text("Your organization already has as many files in transit as this instance allows at the same time. Wait until one of them has been transferred.")
	noLine        = i18n.Text("Too many files are in transit at present. Please try again shortly.")
)
