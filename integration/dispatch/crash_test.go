package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kartei/integration/webhook"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/seed"
	"kartei/test/waittest"
)

// errKilled is the error of all reads and writes of a process that a test has killed.
var errKilled = fmt.Errorf("%w: killed", db.ErrUnavailable)

// crashingDB is the database of a process that is killed before, during or after a write. If the
// process is killed after a write, it does not learn that the write succeeded.
type crashingDB struct {
	db.DB
	mu   sync.Mutex
	left int // the number of writes before the kill; -1 means no kill
	how  int
	dead chan struct{}
}

func (m *crashingDB) alive() error {
	select {
	case <-m.dead:
		return errKilled
	default:
		return nil
	}
}

func (m *crashingDB) Read(ctx context.Context, f func(db.Tx) error) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.DB.Read(ctx, f)
}

func (m *crashingDB) Write(ctx context.Context, f func(db.Tx) error) error {
	m.mu.Lock()
	if err := m.alive(); err != nil {
		m.mu.Unlock()
		return err
	}
	dies := m.left == 0
	if m.left >= 0 {
		m.left--
	}
	if dies {
		close(m.dead)
	}
	m.mu.Unlock()
	switch {
	case dies && m.how == 0: // killed before the write
		return errKilled
	case dies && m.how == 1: // killed during the write
		return errors.Join(m.DB.Write(ctx, func(tx db.Tx) error {
			f(tx)
			return errKilled
		}), errKilled)
	case dies: // killed after the write
		return errors.Join(m.DB.Write(ctx, f), errKilled)
	}
	return m.DB.Write(ctx, f)
}

// receipt identifies the event and the endpoint of an attempt.
type receipt struct {
	endpoint, event string
}

// TestNothingIsLostWhateverDies checks that each endpoint gets each event, although one of two
// dispatchers is killed. It is killed before, during or after any write, or during attempts. The
// other dispatcher continues when the leases end.
//
// An attempt has at most one row in the log, and the rows of a delivery are numbered without a gap.
// Each row is of an attempt that was made. No attempt follows a recorded success.
func TestNothingIsLostWhateverDies(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		random := seed.Rand(t)
		o := open(t, d)
		endpoints := []string{o.Endpoint(), o.Endpoint(), o.EndpointOf(o.Admin)}
		other := dbtest.Again(t, d)
		if other == nil {
			other = d // two dispatchers share one database here, and claims still separate them
		}
		var events []string
		made := map[receipt]int{}
		refuse := map[receipt]int{}
		o.answer = func(m Message) Outcome {
			s := receipt{"whe_" + m.URL[len("https://"):strings.Index(m.URL, ".")], m.EventID}
			made[s]++
			if refuse[s] > 0 {
				refuse[s]--
				return Outcome{Status: 500, Code: webhook.HTTPStatus}
			}
			return Outcome{Status: 200}
		}
		for range 25 {
			first := &crashingDB{DB: d, left: random.IntN(12), how: random.IntN(3), dead: make(chan struct{})}
			second := &crashingDB{DB: other, left: -1, dead: make(chan struct{})}
			gone, stop := o.dispatcherOn(first)
			disp, stopSecond := o.dispatcherOn(second)
			ids := o.Events(1 + random.IntN(6))
			o.mu.Lock()
			for _, event := range ids {
				for _, endpoint := range endpoints {
					refuse[receipt{endpoint, event}] = random.IntN(3)
				}
			}
			o.mu.Unlock()
			events = append(events, ids...)
			o.idle(disp)
			// The first dispatcher is dead now. The second one finds all work that the first one
			// left.
			first.mu.Lock()
			if first.alive() == nil {
				close(first.dead)
			}
			first.mu.Unlock()
			o.Clock.Advance(time.Duration(random.IntN(60)) * time.Second)
			o.idle(disp)
			if random.IntN(2) == 0 {
				second.mu.Lock()
				close(second.dead)
				second.mu.Unlock()
			}
			finish(o, map[*Dispatcher]func(){gone: stop, disp: stopSecond})
		}
		last, _ := o.dispatcher()
		for range 20 {
			o.idle(last)
			o.Clock.Advance(20 * time.Minute)
		}
		o.idle(last)
		checkLog(o, endpoints, events, made)
	})
}

// pass advances the clock until done is closed. It fails the test if no goroutine waits for the
// clock any more, or if the waiting goes on forever.
func (o *office) pass(done <-chan struct{}) {
	o.Helper()
	watch := waittest.New()
	for moves := range 10_000 {
		waits := o.Clock.Waited()
		select {
		case <-done:
			return
		default:
			o.Clock.Advance(grace)
		}
		select {
		case <-done:
			return
		case <-waits:
		case <-watch.Stuck(moves):
			o.Fatalf("the dispatchers do not end after %d moves of the clock: %s", moves, o.progress())
		}
	}
	o.Fatalf("the dispatchers wait for the clock again and again: %s", o.progress())
}

// finish stops dispatchers and advances the clock while they wait. None of them starts new
// attempts.
func finish(o *office, couriers map[*Dispatcher]func()) {
	var all sync.WaitGroup
	for disp, stop := range couriers {
		cancel, _ := o.cancels.Load(disp)
		cancel.(context.CancelFunc)()
		all.Go(stop)
	}
	stopped := make(chan struct{})
	go func() {
		all.Wait()
		close(stopped)
	}()
	o.pass(stopped)
}

// checkLog compares the log with the attempts that the receivers got.
func checkLog(o *office, endpoints, events []string, made map[receipt]int) {
	o.Helper()
	for _, endpoint := range endpoints {
		log := map[string][]string{}
		for _, line := range o.Attempts(endpoint) {
			words := strings.Fields(line)
			log[words[0]] = append(log[words[0]], words[1]+" "+words[2])
		}
		for _, event := range events {
			s := receipt{endpoint, event}
			var want []string
			for n := range log[event] {
				result := " failed"
				if n == len(log[event])-1 {
					result = " succeeded"
				}
				want = append(want, fmt.Sprint(n+1, result))
			}
			if got := log[event]; len(got) == 0 || !slices.Equal(got, want) {
				o.Errorf("%s at %s: the log is %v", event, endpoint, got)
			}
			if made[s] < len(log[event]) {
				o.Errorf("%s at %s: %d made, the log has %v", event, endpoint, made[s], log[event])
			}
		}
	}
	if n := o.Count("webhook_deliveries", "true"); n != 0 {
		o.Errorf("%d deliveries are left", n)
	}
}
