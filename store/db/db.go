// Package db owns the database as all others see it: transactions, the change clock, both dialects of SQL.
package db

import (
	"context"

	"kartei/kit/clock"
)

// DB is an open database. It is safe for concurrent use.
type DB interface {
	// Read runs f with a read-only transaction. Each statement sees what is committed when it
	// starts, unless f calls Snapshot.
	Read(ctx context.Context, f func(Tx) error) error
	// Write runs f in a transaction and commits it if f returns nil. It returns
	// nil only after the commit is durable. f may run more than once and must
	// not have effects outside the transaction.
	Write(ctx context.Context, f func(Tx) error) error
	// WriteIn is Write for a change in one organization. On PostgreSQL, concurrent changes of one
	// organization share a commit. If a change fails, only that change is rolled back.
	//
	// The first transaction for f is speculative: the assumptions of f are verified with the
	// commit. If an assumption is wrong, f is called again in a transaction that queries. So a
	// change can take one round trip to PostgreSQL.
	WriteIn(ctx context.Context, organization int64, f func(Tx) error) error
	// Listen calls f after each commit, of any replica, that notified topic. The word is the word
	// of the notification. Listen also calls f with an empty word whenever a notification may have
	// been missed. It returns when ctx ends.
	//
	// Notifications are fast but not reliable, so callers must also read from the database. SQLite
	// has no replicas, and a transaction pooler loses notifications. In these cases f is called
	// only for NotifyLocal of this process. f must not block.
	Listen(ctx context.Context, topic string, f func(word string))
	// SubscribeLocal calls f for each NotifyLocal of this process to topic, until end is called.
	// Unlike Listen, it needs no connection to the server.
	SubscribeLocal(topic string, f func(word string)) (end func())
	// Dialect returns the SQL fragments in which the two engines differ.
	Dialect() *Dialect
	// Ping returns an error if the database cannot be reached.
	Ping(ctx context.Context) error
	// Writes returns the state of writes: whether the database accepts them.
	Writes() Writes
	// Close waits for running calls and closes the database. Later calls fail with ErrClosed.
	Close() error
}

// Writes says whether a database accepts writes. The state comes only from attempted writes,
// because reads do not notice a full disk. Writes is safe for concurrent use.
type Writes interface {
	// Refused returns the reason, for the operator, why the database refuses writes at present. It
	// returns nil if the last write succeeded. Reads may succeed in both cases.
	Refused() error
	// Total returns the number of refused writes since the start. Attempts of the same call count
	// once.
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
	// QueryRow runs a statement and returns its first row.
	QueryRow(ctx context.Context, query string, args ...any) Row
	// Queue adds a statement to a queue that runs at the latest with the commit. If the statement
	// fails, the commit fails. On PostgreSQL all queued statements and the commit take one round
	// trip. A later Exec or Query sees their effect.
	Queue(query string, args ...any)
	// Notify sends the word to the listeners of topic in every replica after the commit. The word
	// has at most some hundred bytes.
	Notify(topic, word string)
	// NotifyLocal sends the word to the subscribers of topic in this process after the commit. It
	// reports whether topic has subscribers. Notify is more expensive, because PostgreSQL
	// serializes commits with notifications.
	NotifyLocal(topic, word string) (subscribed bool)
	// Lock tries to take an exclusive lock named key until the end of the transaction. It does not
	// wait, and reports whether it succeeded. The lock ends with the transaction, even if the
	// process dies. A speculative transaction assumes that the lock is free.
	Lock(ctx context.Context, key string) (bool, error)
	// AssumeNone is QueryRow for a query that very probably finds no row. If there is a row,
	// another statement of the transaction must fail, for example an insert into a unique index. A
	// speculative transaction returns ErrNoRows without a query.
	AssumeNone(ctx context.Context, query string, args ...any) Row
	// ExecOne runs a statement that must change one row, and fails with ErrConflict if it changed
	// none. A speculative transaction queues the statement and check. The query check must fail
	// with a division by zero if the row does not exist.
	ExecOne(ctx context.Context, change, check Statement) error
	// Tick advances an organization's change clock, and returns the new tick. The tick is now, or
	// one microsecond after the last tick if that is later. The clock is locked until the
	// transaction ends. So ticks are unique in the organization and become visible in order.
	//
	// Sync and the event feed depend on this order: a reader that has seen a tick could read all
	// changes up to that tick. Tick should be called as late as the operation allows. It returns
	// ErrNoRows if the organization has no clock.
	Tick(ctx context.Context, organization int64, now clock.Micros) (clock.Micros, error)
	// CopyRows inserts rows with COPY if can is true. On SQLite and behind a pooler can is false,
	// and nothing is inserted. COPY takes half the time of inserts, and one or two more round
	// trips. A duplicate row fails with ErrDuplicate, but on a Citus cluster with another error.
	CopyRows(ctx context.Context, table string, columns []string, rows [][]any) (can bool, err error)
	// Expect makes the transaction fail with ErrStale if the query returns another number than
	// want. Then the transaction has no effect and no result. The query must return one number. On
	// PostgreSQL the query travels with the next statement or with the commit, so it costs no extra
	// round trip. In a Read it travels with the first statement.
	Expect(ctx context.Context, query string, want int64) error
	// Snapshot makes all later statements of a Read see one snapshot, which the first of them
	// takes. It costs one more round trip to PostgreSQL. In a Write, Snapshot does nothing.
	Snapshot(ctx context.Context) error
	// Dialect returns the SQL fragments in which the two engines differ.
	Dialect() *Dialect
}

// Rows is the result of Tx.Query. No other statement can run until Close. Close may be called
// twice.
type Rows interface {
	Next() bool
	// Scan copies the columns of the current row into dest. Each dest is a pointer to string,
	// int64, int, bool, []byte or float64, or to a type of such a kind. It can also be a pointer to
	// such a pointer, which becomes nil for NULL.
	Scan(dest ...any) error
	Err() error
	Close()
}

// Row is the result of Tx.QueryRow.
type Row interface {
	// Scan is like Rows.Scan and returns ErrNoRows if there is no row.
	Scan(dest ...any) error
}
