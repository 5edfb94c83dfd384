package access

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
)

// TestGenerationsShareQueries checks that a call during a query waits for the next query, which
// begins after the call. All waiting calls share that query.
func TestGenerationsShareQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers, looks := make(chan int64), 0
		g := generations{read: func(context.Context) (int64, error) {
			looks++
			return <-answers, nil
		}}
		var asking sync.WaitGroup
		ask := func(want int64) {
			asking.Go(func() {
				if n, err := g.now(context.Background()); n != want || err != nil {
					t.Errorf("got %d, %v, want %d", n, err, want)
				}
			})
		}
		ask(1)
		synctest.Wait() // the first query is running
		for range 10 {
			ask(2)
		}
		synctest.Wait()
		answers <- 1
		synctest.Wait()
		answers <- 2
		asking.Wait()
		if looks != 2 {
			t.Errorf("%d looks for 11 calls", looks)
		}
	})
}

// TestGenerationsFailOnce checks that a failed query fails only the calls that wait for it.
func TestGenerationsFailOnce(t *testing.T) {
	fail := context.DeadlineExceeded
	g := generations{read: func(context.Context) (int64, error) { return 7, fail }}
	if _, err := g.now(t.Context()); err != fail {
		t.Error(err)
	}
	fail = nil
	if n, err := g.now(t.Context()); n != 7 || err != nil {
		t.Error(n, err)
	}
}
