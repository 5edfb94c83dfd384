// Package db owns the database: both engines, transactions, the change clock and the migrations.
package db

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoRows is what Row.Scan returns when the query found nothing.
var ErrNoRows = errors.New("db: no rows")

// ErrConflict is returned by a Write function that found its record changed
// under it: DB.Write rolls back and calls the function again, a bounded
// number of times.
var ErrConflict = errors.New("db: changed by another writer")

// ErrDuplicate is returned, wrapped, when a statement broke a unique index.
var ErrDuplicate = errors.New("db: duplicate")

// ErrBusy is returned, wrapped, when the engine cannot take the call now:
// the waiting line is full, a lock or a statement timed out. Nothing was changed.
var ErrBusy = errors.New("db: busy")

// ErrUnavailable is returned, wrapped, when the database cannot be reached,
// or has no room to store anything more. Nothing was changed.
var ErrUnavailable = errors.New("db: unavailable")

// ErrRefused is returned, wrapped, by a Write that the database does not take
// although it may be read: its disk is full or broken, or it is read-only. It
// is an ErrUnavailable. DB.Writes tells the operator of it, so who meets it
// needs no line of its own in the log.
var ErrRefused = fmt.Errorf("%w for writes", ErrUnavailable)

// ErrStale is returned where Tx.Expect was disappointed.
var ErrStale = errors.New("db: what was expected has changed")

// DB is one open database. It is safe for use by several goroutines.
type DB interface {
	// Read runs f on a connection that cannot write. Each statement sees what
	// is committed when it starts, unless f asks for a Snapshot.
	Read(ctx context.Context, f func(Tx) error) error
	// Write runs f in a transaction and commits it if f returns nil. It returns
	// nil only after the commit is durable. f may run more than once and must
	// not have effects outside the transaction.
	Write(ctx context.Context, f func(Tx) error) error
	// WriteIn is Write for a change in one organization. On PostgreSQL calls
	// that change the same organization at the same time are committed
	// together, each undone alone if it fails; and the transaction that f is first
	// called with is speculative: what f assumes is checked with the commit. If an
	// assumption was wrong, f is called again, and the engine asks before it answers.
	// So a change can be one round trip to PostgreSQL.
	WriteIn(ctx context.Context, organization int64, f func(Tx) error) error
	// Listen calls f after each commit of a transaction, of any replica, that
	// notified topic, with the word that it said, and with an empty one whenever
	// a notification may have been missed, until ctx ends. It is a fast way to learn of a change and never a certain one:
	// what must be known is read. On SQLite, which has no replicas, and behind
	// a transaction pooler, which loses notifications, f is called for what this
	// process sent with NotifyLocal only. It must return at once.
	Listen(ctx context.Context, topic string, f func(word string))
	// SubscribeLocal calls f with what this process sends to topic with NotifyLocal,
	// from now on until end is called. Unlike Listen it costs the server no connection.
	SubscribeLocal(topic string, f func(word string)) (end func())
	// Dialect returns the words in which the two engines differ.
	Dialect() *Dialect
	// Ping fails when the database cannot be reached.
	Ping(ctx context.Context) error
	// Writes knows whether the database takes writes.
	Writes() *Writes
	// Close waits for running calls and closes.
	Close() error
}

// Tx runs statements. Statements are written with $1 placeholders and are
// prepared once a connection. A Tx belongs to one goroutine and ends with the
// function that it was given to.
type Tx interface {
	// Exec runs a statement and returns how many rows it changed.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// Query runs a statement that returns rows.
	Query(ctx context.Context, query string, args ...any) (Rows, error)
	// QueryRow runs a statement of which only the first row is wanted.
	QueryRow(ctx context.Context, query string, args ...any) Row
	// Queue runs a statement at the latest at commit; its error fails the
	// commit. On PostgreSQL all queued statements travel with the commit in
	// one round trip. A later Exec or Query sees their effect.
	Queue(query string, args ...any)
	// Notify wakes who listens to topic, on every replica, after the commit. The
	// word, of some hundred bytes at most, tells them what it is about.
	Notify(topic, word string)
	// NotifyLocal sends the word to the subscribers of topic in this process, after
	// the commit, and reports whether there are any. Unlike Notify it costs the
	// server nothing; commits that notify take turns there.
	NotifyLocal(topic, word string) (subscribed bool)
	// Lock takes an exclusive lock named key for the rest of the transaction
	// without waiting, and reports whether it got it. The lock ends with the
	// transaction, also when the process dies. A speculative transaction assumes
	// that the lock is free.
	Lock(ctx context.Context, key string) (bool, error)
	// AssumeNone is QueryRow for a query that most probably finds no row. Another
	// statement of the transaction must fail if there is one, as an insert into a
	// unique index does: a speculative transaction does not ask and answers
	// ErrNoRows.
	AssumeNone(ctx context.Context, query string, args ...any) Row
	// ExecOne runs a statement that must change one row, and fails with
	// ErrConflict if it changed none. check is a select that divides by zero in
	// that case: a speculative transaction queues both.
	ExecOne(ctx context.Context, change, check Statement) error
	// Expect makes the transaction fail with ErrStale, with no effect and no
	// answer, unless the query, which returns one number, returns want. To
	// PostgreSQL it travels with the statement that follows, or with the commit,
	// so it costs no round trip of its own. Of a Read only the first statement
	// waits for it; the others follow that one.
	Expect(ctx context.Context, query string, want int64) error
	// Snapshot makes all statements of a Read that follow see one moment: that
	// of the first of them. It costs PostgreSQL one more round trip. Inside
	// Write it does nothing.
	Snapshot(ctx context.Context) error
	// Dialect returns the words in which the two engines differ.
	Dialect() *Dialect
}

// Statement is a statement with its arguments.
type Statement struct {
	Query string
	Args  []any
}

// Rows is the result of Tx.Query. Close may be called twice.
type Rows interface {
	Next() bool
	// Scan takes pointers to string, int64, int, bool, []byte, float64, or to
	// a type whose kind is one of these, or to a pointer of one (NULL gives nil).
	Scan(dest ...any) error
	Err() error
	Close()
}

// Row is the result of Tx.QueryRow.
type Row interface {
	// Scan is like Rows.Scan and returns ErrNoRows when there is none.
	Scan(dest ...any) error
}
