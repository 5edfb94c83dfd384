package endpointtest

import (
	"context"
	"sync"

	"kartei/store/db"
)

// Meanwhile is a database that calls Do once. Reading puts the call into a read, and Writing into a
// write. WriteIn calls Do before its transaction. Within a write, Do must not write unless the
// engine permits two writers.
type Meanwhile struct {
	db.DB
	Reading, Writing bool
	// Before is the number of statements in the transaction before the call. If it is zero, a write
	// calls Do before its transaction.
	Before int
	Do     func()
	once   sync.Once
}

type meanwhileTx struct {
	db.Tx
	m    *Meanwhile
	left int
}

// Once calls f unless Do or an earlier f was called. After that, Do is not called.
func (m *Meanwhile) Once(f func()) { m.once.Do(f) }

// Within returns a transaction that calls Do after before statements.
func (m *Meanwhile) Within(tx db.Tx, before int) db.Tx { return &meanwhileTx{tx, m, before} }

func (m *Meanwhile) Read(ctx context.Context, run func(db.Tx) error) error {
	if !m.Reading {
		return m.DB.Read(ctx, run)
	}
	return m.DB.Read(ctx, func(tx db.Tx) error { return run(m.Within(tx, m.Before)) })
}

func (m *Meanwhile) Write(ctx context.Context, run func(db.Tx) error) error {
	if !m.Writing {
		return m.DB.Write(ctx, run)
	}
	if m.Before == 0 {
		m.once.Do(m.Do)
	}
	return m.DB.Write(ctx, func(tx db.Tx) error { return run(m.Within(tx, m.Before)) })
}

func (m *Meanwhile) WriteIn(ctx context.Context, organization int64, run func(db.Tx) error) error {
	m.once.Do(m.Do)
	return m.DB.WriteIn(ctx, organization, run)
}

func (t *meanwhileTx) count() {
	if t.left == 0 {
		t.m.once.Do(t.m.Do)
	}
	t.left--
}

func (t *meanwhileTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	t.count()
	return t.Tx.Exec(ctx, query, args...)
}

func (t *meanwhileTx) Query(ctx context.Context, query string, args ...any) (db.Rows, error) {
	t.count()
	return t.Tx.Query(ctx, query, args...)
}

func (t *meanwhileTx) QueryRow(ctx context.Context, query string, args ...any) db.Row {
	t.count()
	return t.Tx.QueryRow(ctx, query, args...)
}
