package postgres

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// watchdog limits the duration of transactions. It checks all of them periodically. Contexts with
// deadlines would take more time: pgx would register a function for each statement, and each
// transaction would set a timer. Together that is 3 of the 50 µs of a read.
type watchdog struct {
	limit, answer time.Duration // Options.Transaction and Options.Answer

	mu sync.Mutex
	// until maps the connection of each running transaction to its deadline. The time is zero after
	// the watchdog has interrupted the transaction.
	until map[*pgx.Conn]time.Time
	ended chan struct{}
	once  sync.Once
}

func newWatchdog(limit, answer time.Duration) *watchdog {
	w := &watchdog{limit: limit, answer: answer, until: map[*pgx.Conn]time.Time{}, ended: make(chan struct{})}
	go w.run()
	return w
}

func (w *watchdog) end() { w.once.Do(func() { close(w.ended) }) }

// enter starts to watch a transaction on a connection.
func (w *watchdog) enter(conn *pgx.Conn) {
	until := time.Now().Add(w.limit)
	w.mu.Lock()
	w.until[conn] = until
	w.mu.Unlock()
}

// leave stops watching a transaction. It closes the connection if the watchdog has interrupted the
// transaction.
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
	tick := time.NewTicker(min(w.limit/30, w.answer/10))
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

// look interrupts transactions that run too long or whose server sends nothing. Then all further
// reads and writes of the connection fail.
func (w *watchdog) look(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn, until := range w.until {
		if !until.IsZero() && (now.After(until) || silence(conn.PgConn().Conn(), now) > w.answer) {
			conn.PgConn().Conn().SetDeadline(now)
			w.until[conn] = time.Time{}
		}
	}
}

// waitingConn is a connection to the server that records the start of a running Read and Write, in
// nanoseconds since 1970. 0 means that none is running.
type waitingConn struct {
	net.Conn
	reads, writes atomic.Int64
}

// Read stores the time of its start in c.reads until it returns.
func (c *waitingConn) Read(b []byte) (int, error) {
	c.reads.Store(time.Now().UnixNano())
	defer c.reads.Store(0)
	return c.Conn.Read(b)
}

// Write stores the time of its start in c.writes until it returns.
func (c *waitingConn) Write(b []byte) (int, error) {
	c.writes.Store(time.Now().UnixNano())
	defer c.writes.Store(0)
	return c.Conn.Write(b)
}

// noteWaits returns a dialer that wraps its connections in a waitingConn.
func noteWaits(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &waitingConn{Conn: conn}, nil
	}
}

// silence returns the duration of the longest running read or write of a connection.
func silence(conn net.Conn, now time.Time) time.Duration {
	if secured, is := conn.(interface{ NetConn() net.Conn }); is { // TLS
		conn = secured.NetConn()
	}
	c, is := conn.(*waitingConn)
	if !is {
		return 0
	}
	longest := time.Duration(0)
	for _, since := range []int64{c.reads.Load(), c.writes.Load()} {
		if since != 0 {
			longest = max(longest, now.Sub(time.Unix(0, since)))
		}
	}
	return longest
}

// hangUp closes a connection and waits at most a second for the server.
func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn.Close(ctx)
}

// pool is a pool of connections with a semaphore.
type pool struct {
	*pgxpool.Pool
	// places is a semaphore with one slot for each connection. After taking a slot, a caller gets
	// or creates a connection without waiting.
	places chan struct{}
}

// take waits for a slot. It returns false if ctx or the time wait ends before.
func (p *pool) take(ctx context.Context, wait time.Duration) bool {
	select {
	case p.places <- struct{}{}:
		return true
	default: // the fast path needs no timer
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
