package db

import (
	"log/slog"
	"time"

	"kartei/kit/clock"
)

// Options configure an open database. Production uses the zero value.
type Options struct {
	// Logger receives messages for the operator. Nil means slog.Default().
	Logger *slog.Logger
	// Clock measures the pauses between attempts. Nil means the clock of the machine.
	Clock clock.Clock
	// Readers is the maximum number of concurrent reads. On SQLite it is the number of reading
	// connections, and 0 means twice the number of processors, at least 4. On PostgreSQL it is the
	// size of the pool of reading connections. There, 0 means pool_max_conns of the URL, or else 4
	// times the number of processors, at least 8.
	Readers int
	// Writers is the size of the pool of writing connections on PostgreSQL. 0 means the same as
	// Readers. If neither Readers nor the URL has a number, it is at least 16. SQLite always has
	// one writer.
	Writers int
	// Queue is the maximum number of writes that wait for SQLite's writer. Further writes fail with
	// ErrBusy. 0 means 1024.
	Queue int
	// Wait is the time that a call waits for a connection before it fails with
	// ErrBusy. 0 means 5 seconds.
	Wait time.Duration
	// Transaction is the maximum duration of a transaction on PostgreSQL. This process measures it,
	// in case the server or the network hangs. The server's own timeouts are shorter. 0 means 30
	// seconds.
	Transaction time.Duration
	// Answer is the maximum time to wait for data from PostgreSQL during a statement. It detects a
	// hanging machine or a broken network, where connections stay open. 0 means 11 seconds, a
	// second more than the limit of a statement.
	Answer time.Duration
	// Grouped, if not nil, is called with the number of writes in each shared commit. On SQLite it
	// is called for each commit of the writer, and on PostgreSQL for each commit of WriteIn.
	Grouped func(writes int)
	// Logged, if not nil, is called after each commit with the number of pages that it added to
	// SQLite's write-ahead log.
	Logged func(pages int)
	// Stated, if not nil, is called with the text of each statement before the statement is sent.
	// It runs in the goroutine of the caller.
	Stated func(query string)
	// Traced adds spans of transactions and statements to traced calls (see package trace).
	Traced bool
	// Reserve is the size in bytes of a file next to an SQLite database that can be deleted when
	// the disk is full. See ReserveSize of package sqlite. 0 means no such file.
	Reserve int64
	// NoSync omits the fsync of SQLite. Commits then survive a crash of the process but not of the
	// machine. Tests use it, except tests of durability.
	NoSync bool
}
