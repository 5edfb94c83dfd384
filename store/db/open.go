package db

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"kartei/kit/clock"
)

// Options says how a database is opened. The zero value is what production uses.
type Options struct {
	// Logger is told what an operator should know; nil is slog.Default().
	Logger *slog.Logger
	// Clock times the pauses between tries; nil is the system's.
	Clock clock.Clock
	// Readers is how many reads run at the same time: connections of their own
	// on SQLite (0 is twice the processors, at least 4), the size of the pool
	// of reading connections on PostgreSQL (0 is what the URL says in
	// pool_max_conns, else 4 times the processors, at least 8).
	Readers int
	// Writers is the size of the pool of writing connections on PostgreSQL;
	// 0 is like Readers, at least 16 where neither they nor the URL say how many.
	// SQLite always has one.
	Writers int
	// Queue is how many writes may wait for SQLite's writer before a further
	// one is refused with ErrBusy; 0 is 1024.
	Queue int
	// Wait is how long a call waits for a connection before it is refused with
	// ErrBusy; 0 is 5 seconds.
	Wait time.Duration
	// Transaction bounds a whole transaction on PostgreSQL as seen from here: it
	// holds where the server or the network fell silent. The server's own limits
	// are shorter. 0 is 30 seconds.
	Transaction time.Duration
	// Grouped is told after each commit of SQLite's writer, and of a change in an
	// organization on PostgreSQL, how many writes shared it. Nil is nobody.
	Grouped func(writes int)
	// Stated is told of each statement before it is sent, in the goroutine that
	// asks for it. For tests, which look at what is sent. Nil is nobody.
	Stated func(query string)
	// Traced has transactions and their statements be spans of the calls that
	// carry one (see package trace).
	Traced bool
	// NoSync leaves out SQLite's fsync: commits outlive the process but not the
	// machine. For tests of everything but durability.
	NoSync bool
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	if o.Grouped == nil {
		o.Grouped = func(int) {}
	}
	if o.Queue == 0 {
		o.Queue = 1024
	}
	if o.Wait == 0 {
		o.Wait = 5 * time.Second
	}
	if o.Transaction == 0 {
		o.Transaction = 30 * time.Second
	}
	return o
}

// Open opens the database named by url: sqlite:PATH or postgres://... . It
// applies no migrations: see Migrate.
//
// A SQLite database belongs to one process. When another has it, Open returns
// an *InUse that says who.
func Open(ctx context.Context, url string, opts Options) (DB, error) {
	opts = opts.withDefaults()
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		if rest == "" {
			return nil, fmt.Errorf("db: sqlite: needs a path")
		}
		if opts.Readers == 0 {
			opts.Readers = max(4, 2*runtime.GOMAXPROCS(0))
		}
		return openSQLite(ctx, rest, opts)
	case "postgres", "postgresql":
		return openPostgres(ctx, url, opts)
	}
	// The URL may hold a password, so it is not repeated here.
	return nil, fmt.Errorf("db: the database must be sqlite:PATH or postgres://..., not %.12q", scheme+":")
}
