// Package db owns the database as all others see it: transactions, the change clock, both dialects of SQL.
package db

import (
	"context"

	"kartei/kit/clock"
)

// DB is an open database. It is safe for concurrent use.
type DB interface {
	// Read runs f on a read-only connection. Each statement sees what is
	// committed when it starts, unless f asks for a Snapshot.
	Read(ctx context.Context, f func(Tx) error) error
	// Write runs f in a transaction and commits it if f returns nil. It returns
	// nil only after the commit is durable. f may run more than once and must
	// not have effects outside the transaction.
	Write(ctx context.Context, f func(Tx) error) error
	// WriteIn is Write for a change in one organization. On PostgreSQL,
	// concurrent changes of one organization are committed together, and a
	// failed one is undone alone. The first transaction that f is called with
	// is speculative: the assumptions of f are verified with the commit. If one
	// was wrong, f is called again, and the engine queries before it answers.
	// So a change can take one round trip to PostgreSQL.
	WriteIn(ctx context.Context, organization int64, f func(Tx) error) error
	// Listen calls f after each commit, of any replica, that notified topic,
	// with the word of the notification. It also calls f with an empty word
	// whenever a notification may have been missed. It returns when ctx ends.
	// Notifications are fast but not reliable, so callers must also read from
	// the database. On SQLite, which has no replicas, and behind a transaction
	// pooler, which loses notifications, f is called only for NotifyLocal of
	// this process. f must return at once.
	Listen(ctx context.Context, topic string, f func(word string))
	// SubscribeLocal calls f with each NotifyLocal of this process to topic,
	// until end is called. Unlike Listen it needs no connection to the server.
	SubscribeLocal(topic string, f func(word string)) (end func())
	// Dialect returns the SQL fragments in which the two engines differ.
	Dialect() *Dialect
	// Ping fails if the database cannot be reached.
	Ping(ctx context.Context) error
	// Writes reports whether the database accepts writes.
	Writes() Writes
	// Close waits for running calls and closes the database.
	Close() error
}

// Writes reports whether a database accepts writes. It learns that only from
// writes that are tried: reads do not notice a full disk. It is safe for
// concurrent use.
type Writes interface {
	// Refused returns the reason, in words for the operator, why the database
	// refuses writes at present. It returns nil if the last write succeeded. Reads
	// may succeed all the same.
	Refused() error
	// Total returns the number of refused writes since the start. It counts each
	// call once.
	Total() int64
}

// Tx runs statements. Statements have $1 placeholders and are prepared once for
// each connection. A Tx is not safe for concurrent use, and is valid only
// during the function that receives it.
type Tx interface {
	// Exec runs a statement and returns the number of changed rows.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// Query runs a statement that returns rows.
	Query(ctx context.Context, query string, args ...any) (Rows, error)
	// QueryRow runs a statement that returns at most one row of interest.
	QueryRow(ctx context.Context, query string, args ...any) Row
	// Queue runs a statement at the latest with the commit, which fails if the
	// statement does. On PostgreSQL all queued statements travel with the
	// commit in one round trip. A later Exec or Query sees their effect.
	Queue(query string, args ...any)
	// Notify wakes the listeners of topic on every replica after the commit.
	// They receive the word, which has at most some hundred bytes.
	Notify(topic, word string)
	// NotifyLocal sends the word to the subscribers of topic in this process
	// after the commit, and reports whether there are any. Unlike Notify it
	// costs the server nothing. There, commits with notifications are
	// serialized.
	NotifyLocal(topic, word string) (subscribed bool)
	// Lock takes an exclusive lock named key until the end of the transaction.
	// It does not wait, and reports whether it got the lock. The lock ends with
	// the transaction, even if the process dies. A speculative transaction
	// assumes that the lock is free.
	Lock(ctx context.Context, key string) (bool, error)
	// AssumeNone is QueryRow for a query that most probably finds no row.
	// Another statement of the transaction must fail if there is a row, as an
	// insert into a unique index does. A speculative transaction returns
	// ErrNoRows without a query.
	AssumeNone(ctx context.Context, query string, args ...any) Row
	// ExecOne runs a statement that must change one row, and fails with
	// ErrConflict if it changed none. In that case check, a select, divides by
	// zero. A speculative transaction queues both.
	ExecOne(ctx context.Context, change, check Statement) error
	// Tick takes the next tick of an organization's change clock: now, or one
	// microsecond after the last tick if that is later. It holds the clock until
	// the transaction ends, so ticks are unique in the organization and become
	// visible in order. Sync and the event feed depend only on that: a reader that
	// has seen a tick was offered all changes up to it. Call Tick as late as the
	// operation allows. It returns ErrNoRows if the organization has no clock.
	Tick(ctx context.Context, organization int64, now clock.Micros) (clock.Micros, error)
	// CopyRows stores rows with COPY, and reports whether that is available. It is
	// neither on SQLite nor behind a pooler. COPY costs PostgreSQL and this process
	// half of what inserts cost, and takes another round trip or two. A duplicate row
	// fails with ErrDuplicate, and on a cluster with an unspecific error.
	CopyRows(ctx context.Context, table string, columns []string, rows [][]any) (can bool, err error)
	// Expect makes the transaction fail with ErrStale unless the query, which
	// returns one number, returns want. Then it has no effect and no result. On
	// PostgreSQL the query travels with the next statement or with the commit,
	// so it costs no extra round trip. In a Read only the first statement
	// carries it; the others follow that one.
	Expect(ctx context.Context, query string, want int64) error
	// Snapshot makes all later statements of a Read see the snapshot of the first
	// of them. It costs one more round trip to PostgreSQL. Inside Write it does
	// nothing.
	Snapshot(ctx context.Context) error
	// Dialect returns the SQL fragments in which the two engines differ.
	Dialect() *Dialect
}

// Rows is the result of Tx.Query. Close may be called twice.
type Rows interface {
	Next() bool
	// Scan takes pointers to string, int64, int, bool, []byte or float64, or to
	// a type of such a kind. It also takes a pointer to such a pointer, which
	// NULL sets to nil.
	Scan(dest ...any) error
	Err() error
	Close()
}

// Row is the result of Tx.QueryRow.
type Row interface {
	// Scan is like Rows.Scan and returns ErrNoRows if there is no row.
	Scan(dest ...any) error
}
