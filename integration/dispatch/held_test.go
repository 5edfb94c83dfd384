package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/integration/webhook"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/endpointtest"
	"kartei/test/waittest"
)

// contestedDB is a database in which another process has locked an endpoint, so that transactions
// time out. peak is the maximum number of endpoints that one transaction locked.
type contestedDB struct {
	db.DB
	mu       sync.Mutex
	endpoint string // empty once the endpoint is unlocked
	refused  int
	peak     int
}

func (c *contestedDB) Write(ctx context.Context, f func(db.Tx) error) error {
	return c.DB.Write(ctx, func(tx db.Tx) error {
		h := &contestedTx{Tx: tx, contestedDB: c}
		err := f(h)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.peak = max(c.peak, h.held)
		return err
	})
}

type contestedTx struct {
	db.Tx
	*contestedDB
	held int
}

func (h *contestedTx) QueryRow(ctx context.Context, query string, args ...any) db.Row {
	if !strings.HasPrefix(query, `update webhook_endpoints set failures = failures `) {
		return h.Tx.QueryRow(ctx, query, args...)
	}
	h.held++
	h.mu.Lock()
	defer h.mu.Unlock()
	if args[1] == h.endpoint {
		h.refused++
		return busy{}
	}
	return h.Tx.QueryRow(ctx, query, args...)
}

type busy struct{}

func (busy) Scan(...any) error { return fmt.Errorf("%w: lock timeout", db.ErrBusy) }

// TestFewEndpointsAreHeldAtATime checks that a transaction locks few endpoints to record failures,
// so that waits are short. An endpoint that another process has locked delays only its own
// outcomes.
func TestFewEndpointsAreHeldAtATime(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := open(t, d)
		var names []string
		for range 40 {
			names = append(names, o.EndpointOf(o.User(fmt.Sprint(len(names), "@example.com"), "member")))
		}
		slices.Sort(names)
		fake := &contestedDB{DB: d, endpoint: names[20]}
		// The attempts end together, so that one transaction could record all of them.
		var all sync.WaitGroup
		all.Add(len(names))
		o.Event()
		disp, _ := o.dispatcherWith(fake, func(ctx context.Context, m Message) Outcome {
			if o.Clock.Now().Equal(endpointtest.Begin) { // the first attempt
				all.Done()
				all.Wait()
			}
			return Outcome{Status: 500, Code: webhook.HTTPStatus}
		})
		logged := func() int { return o.Count("webhook_attempts", "status = 'failed' and attempt = 1") }
		for watch := waittest.New(); ; {
			fake.mu.Lock()
			refused := fake.refused
			fake.mu.Unlock()
			if n := logged(); refused > 0 && n >= len(names)-maxHeld {
				break
			} else if watch.IsStuck(n, refused) {
				t.Fatalf("%d of %d failures are stored while one endpoint is held; refused %d times", n, len(names), refused)
			}
			if refused > 0 { // the dispatcher pauses before it retries
				o.Clock.Advance(afterFailure)
			}
			<-time.After(time.Millisecond)
		}
		fake.mu.Lock()
		fake.endpoint = ""
		fake.mu.Unlock()
		for watch := waittest.New(); logged() < len(names); {
			if n := logged(); watch.IsStuck(n) {
				t.Fatalf("%d of %d failures are in the log", n, len(names))
			}
			o.Clock.Advance(afterFailure)
			<-time.After(time.Millisecond)
		}
		o.idle(disp)
		if fake.peak > maxHeld {
			t.Errorf("a transaction held %d endpoints", fake.peak)
		}
	})
}
