package db

import (
	"log/slog"
	"time"

	"kartei/kit/clock"
)

// Options configure an open database. Production uses the zero value.
type Options struct {
	// Logger receives messages for the operator; nil means slog.Default().
	Logger *slog.Logger
	// Clock times the backoff between attempts; nil means the clock of the
	// machine.
	Clock clock.Clock
	// Readers bounds concurrent reads. On SQLite it is the number of reading
	// connections; 0 means twice the processors, at least 4. On PostgreSQL it
	// is the size of the pool of reading connections. There 0 means
	// pool_max_conns of the URL, or else 4 times the processors, at least 8.
	Readers int
	// Writers is the size of the pool of writing connections on PostgreSQL. 0
	// means the same as Readers. If neither Readers nor the URL sets a number,
	// it is at least 16. SQLite always has one writer.
	Writers int
	// Queue is the number of writes that may wait for SQLite's writer; the next
	// one fails with ErrBusy. 0 means 1024.
	Queue int
	// Wait is the time that a call waits for a connection before it fails with
	// ErrBusy. 0 means 5 seconds.
	Wait time.Duration
	// Transaction bounds a whole transaction on PostgreSQL, measured by this
	// process, for the case of a silent server or network. The server's own
	// timeouts are shorter. 0 means 30 seconds.
	Transaction time.Duration
	// Answer bounds the time in which PostgreSQL sends nothing although an answer
	// is due. A machine that hangs, or a network that is cut, refuses no
	// connection. 0 means 11 seconds, a second more than a statement may take.
	Answer time.Duration
	// Grouped, if not nil, is called with the number of writes that shared a
	// commit. On SQLite that is each commit of the writer, and on PostgreSQL
	// each commit for an organization.
	Grouped func(writes int)
	// Logged, if not nil, is called with the number of pages that each commit adds to
	// SQLite's write-ahead log.
	Logged func(pages int)
	// Stated, if not nil, is called with each statement before it is sent, in
	// the goroutine of its caller.
	Stated func(query string)
	// Traced adds transactions and their statements as spans to traced calls
	// (see package trace).
	Traced bool
	// Reserve is the size of a file beside a SQLite database that keeps room for a
	// full disk, in bytes: see ReserveSize of package sqlite. 0 means that there is none.
	Reserve int64
	// NoSync omits the fsync of SQLite: commits survive the process but not a
	// crash of the machine. For tests of everything but durability.
	NoSync bool
}
