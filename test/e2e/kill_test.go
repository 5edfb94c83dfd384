package e2e

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestKill kills the server with kill -9 at random moments while clients write. No acknowledged
// write may be lost, and no other write may appear. A change, its event, its stored response and
// its search entry exist together or not at all.
func TestKill(t *testing.T) {
	t.Parallel()
	clusters(t, func(t *testing.T, h *cluster) {
		writers := h.write(6, func(ctx context.Context) { h.storm(ctx, times("KARTEI_KILLS", 3)) })
		h.kill() // The data is read in the state that this kill leaves.
		data := h.settle()
		h.known(data, writers)
		h.open() // A server starts on this state too.
		h.close()
		h.known(h.settle(), writers)
	})
}

// TestPostgresGoesAway closes all connections with open transactions, as a restart of PostgreSQL
// does. The server must continue with new connections.
func TestPostgresGoesAway(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		h := newPostgresCluster(t, 1)
		writers := h.write(6, func(ctx context.Context) {
			for range times("KARTEI_KILLS", 3) {
				if h.written(ctx, h.writes.Load()+20, nil) != nil {
					return
				}
				h.hangUp(ctx)
			}
			h.written(ctx, h.writes.Load()+20, nil)
		})
		h.close()
		h.known(h.settle(), writers)
	})
}

// hangUp closes all connections from the server to PostgreSQL.
func (h *cluster) hangUp(ctx context.Context) {
	h.Helper()
	conn, err := pgx.Connect(ctx, h.database)
	if err != nil {
		h.Error(err)
		return
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
	if err != nil {
		h.Error(err)
	}
}

// write runs n writers while trouble runs. It returns the writers when each has completed its last
// change.
func (h *cluster) write(n int, trouble func(ctx context.Context)) []*writer {
	h.Helper()
	ctx, cancel := h.going()
	defer cancel()
	stop := make(chan struct{})
	writers := make([]*writer, n)
	var working sync.WaitGroup
	for i := range writers {
		writers[i] = h.writer(i)
		working.Go(func() {
			if err := writers[i].work(ctx, stop); err != nil {
				h.Errorf("writer %d: %v", i, err)
				cancel() // cancel ends all waits for writes.
			}
		})
	}
	trouble(ctx)
	close(stop)
	working.Wait()
	retried, unsure := 0, 0
	for _, w := range writers {
		retried, unsure = retried+w.retried, unsure+w.unsure
	}
	h.Logf("%d calls, %d creations repeated, %d changes whose answer was lost", h.writes.Load(), retried, unsure)
	if h.Failed() {
		h.FailNow()
	}
	return writers
}

// known compares the contacts in the database with the acknowledged states.
func (h *cluster) known(s storedData, writers []*writer) {
	h.Helper()
	n := 0
	for _, w := range writers {
		for _, c := range w.contacts {
			n++
			there, ok := s.contacts[c.id]
			same := ok && there.Revision == c.revision && there.Deleted == c.deleted &&
				(c.deleted || there.LastName == c.name && there.UpdatedAt == c.tick)
			late := ok && c.maybe != nil && there.Revision == c.revision+1 && there.Deleted == c.maybe.deleting &&
				there.LastName == c.maybe.name
			if !same && !late {
				h.Errorf("acknowledged was %+v, there is %+v", c, there)
			}
		}
	}
	if len(s.contacts) != n || s.keys != n {
		h.Errorf("%d contacts and %d stored answers, %d contacts were acknowledged", len(s.contacts), s.keys, n)
	}
}
