package db

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// watchdog bounds transactions in time. Theirs is no context with a deadline:
// pgx would have a function called for each statement, in case it ends, and each
// transaction would set a timer, which together was 3 µs of the 50 that a read
// takes. It looks around once in a while instead.
type watchdog struct {
	most time.Duration

	mu sync.Mutex
	// until is when each transaction that runs must have ended; the zero time
	// where it had not.
	until map[*pgx.Conn]time.Time
	ended chan struct{}
	once  sync.Once
}

func newWatchdog(most time.Duration) *watchdog {
	w := &watchdog{most: most, until: map[*pgx.Conn]time.Time{}, ended: make(chan struct{})}
	go w.run()
	return w
}

func (w *watchdog) end() { w.once.Do(func() { close(w.ended) }) }

// enter begins to watch a transaction.
func (w *watchdog) enter(conn *pgx.Conn) {
	until := time.Now().Add(w.most)
	w.mu.Lock()
	w.until[conn] = until
	w.mu.Unlock()
}

// leave ends it. A connection whose transaction took too long is of no use any more.
func (w *watchdog) leave(conn *pgx.Conn) {
	w.mu.Lock()
	late := w.until[conn].IsZero()
	delete(w.until, conn)
	w.mu.Unlock()
	if late {
		hangUp(conn)
	}
}

func (w *watchdog) run() {
	tick := time.NewTicker(w.most / 30)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			w.look(now)
		case <-w.ended:
			return
		}
	}
}

// look ends what should have ended: reading from the connection, and writing
// to it, fails from now on.
func (w *watchdog) look(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn, until := range w.until {
		if !until.IsZero() && now.After(until) {
			conn.PgConn().Conn().SetDeadline(now)
			w.until[conn] = time.Time{}
		}
	}
}

// hangUp closes a connection without waiting long for the server to agree.
func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn.Close(ctx)
}

// pool is a pool of connections with a place for each call that uses one.
type pool struct {
	*pgxpool.Pool
	// places has room for as many as there may be connections. Who has one finds
	// a connection, or makes it, and waits for nobody.
	places chan struct{}
}

// take waits for a place until the context ends or the time is over; then it
// returns false.
func (p *pool) take(ctx context.Context, wait time.Duration) bool {
	select {
	case p.places <- struct{}{}:
		return true
	default: // only who waits pays for a timer
	}
	patience, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case p.places <- struct{}{}:
		return true
	case <-patience.Done():
		return false
	}
}

func (p *pool) leave() { <-p.places }
