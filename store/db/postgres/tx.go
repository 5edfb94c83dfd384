package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"kartei/kit/clock"
	"kartei/kit/trace"
	"kartei/store/db"
	"kartei/store/db/internal/engine"
)

// transaction runs statements on one PostgreSQL connection. Statements without a needed result wait
// in pending. They are sent after begin, with the next statement whose result is needed or with the
// commit.
type transaction struct {
	conn     *pgx.Conn
	fresh    bool // for a write: the connection is used for the first time
	ctx      context.Context
	write    bool
	snapshot bool // for a read: all statements see the same snapshot
	pooled   bool
	spread   bool // see DB
	begun    bool // begin was sent
	pending  []db.Statement
	// err is the first failure of a Write. After it, no further statement runs.
	err   error
	open  *queryRows
	ended bool
	// speculative says that the transaction assumes results instead of querying. assumed is true
	// after the first assumption.
	speculative, assumed bool
	// expecting says that the transaction relies on an expectation which is checked with the
	// commit.
	expecting bool
	// assumption is the condition of the last pending statement, if that statement only checks
	// assumptions. Otherwise it is empty.
	assumption string
	// organization is the organization of WriteIn, or 0. tick is its last known tick.
	organization int64
	tick         clock.Micros
	// holds is the organization for which the existence of a clock is already checked.
	holds int64
	// expected is the expectation of a Read that was not sent yet, or nil.
	expected *expectation
	// stale says that the expectation was wrong.
	stale bool
	// answered says that a statement has returned a result.
	answered bool
	stated   func(string) // Options.Stated
	span     *trace.Span  // of the transaction, or of the running operation of a group; usually nil
	// changed says that a statement has changed a row. A commit then calls took.
	changed bool
	took    func()
	// messages of NotifyLocal are sent after the commit.
	messages []engine.Message
	bus      *engine.Bus
}

// lost reports whether the connection broke before a commit was sent. A connection that timed out
// does not count, because another attempt would wait as long again.
func (t *transaction) lost(err error) bool {
	return errors.Is(err, db.ErrUnavailable) && t.conn.IsClosed() && !errors.Is(err, db.ErrUnknownOutcome) &&
		!(t.fresh && readOnly(err)) && !pgconn.Timeout(err)
}

func (t *transaction) Dialect() *db.Dialect { return db.PostgreSQL }

func (t *transaction) ready(ctx context.Context) error {
	switch {
	case t.ended:
		return engine.ErrEnded
	case t.err != nil:
		return t.err
	case t.open != nil:
		return engine.ErrRowsOpen
	case !t.write:
		return ctx.Err()
	}
	return nil
}

func (t *transaction) fail(err error) error {
	if err == nil {
		return nil
	}
	if t.write && readOnly(err) {
		t.conn.Close(t.ctx)
	}
	err = MapError(err)
	if t.write && t.err == nil {
		t.err = err
	}
	return err
}

// readOnly reports whether a change was refused because the session is read-only. A session can
// stay read-only after the cause is gone. Some hosts set default_transaction_read_only if the disk
// of a database is nearly full. So the connection is closed, and the change is tried on other
// connections until a new one fails in the same way.
func readOnly(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == "25006" // read_only_sql_transaction
}

func (t *transaction) Queue(query string, args ...any) {
	t.assumption = ""
	switch {
	case t.ended || t.err != nil:
		return
	case !t.write:
		t.err = engine.ErrReadOnly
		return
	}
	if t.stated != nil {
		t.stated(query)
	}
	plain, err := engine.PlainArgs(args)
	if err != nil {
		t.fail(err)
		return
	}
	t.pending = append(t.pending, db.Statement{Query: query, Args: plain})
}

// batch returns a batch with all pending statements, and the number of statements in it. The batch
// begins a transaction if one is needed and has not begun.
func (t *transaction) batch() (*pgx.Batch, int) {
	b := &pgx.Batch{}
	if !t.begun && (t.write || t.snapshot) {
		t.begun = true
		b.Queue(t.beginning())
		if t.pooled {
			for name, value := range limits {
				b.Queue("select set_config($1, $2, true)", name, value)
			}
		}
	}
	for _, q := range t.pending {
		b.Queue(q.Query, q.Args...)
	}
	t.pending, t.assumption = nil, ""
	return b, b.Len()
}

// beginning returns the statement that begins the transaction.
func (t *transaction) beginning() string {
	if t.write {
		return "begin"
	}
	return "begin isolation level repeatable read read only"
}

func (t *transaction) Snapshot(ctx context.Context) error {
	if err := t.ready(ctx); err != nil {
		return err
	}
	t.snapshot = !t.write
	return nil
}

func (t *transaction) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if !t.write {
		return 0, engine.ErrReadOnly
	}
	rows, err := t.Query(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return 0, err
	}
	return rows.(*queryRows).rows.CommandTag().RowsAffected(), nil
}

func (t *transaction) Query(ctx context.Context, query string, args ...any) (db.Rows, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	if t.stated != nil {
		t.stated(query)
	}
	plain, err := engine.PlainArgs(args)
	if err != nil {
		return nil, t.fail(err)
	}
	r := &queryRows{tx: t, span: t.span.Statement(query, 1+len(t.pending))}
	// On a cluster, a combined query would have to join tables of several servers.
	if e := t.expected; e != nil && !t.write && !t.snapshot && !t.spread {
		if together, can := e.within(query); can {
			t.expected, r.expected, query = nil, e, together
		}
	}
	if t.expected == nil && (!t.write && !t.snapshot || t.begun && len(t.pending) == 0) {
		r.rows, err = t.conn.Query(t.ctx, query, plain...)
	} else {
		r.rows, r.batch, err = t.send(query, plain)
	}
	if err != nil {
		r.span.End()
		return nil, t.fail(err)
	}
	t.open = r
	return r, nil
}

// send sends the pending statements, the expectation and a query in one round trip.
func (t *transaction) send(query string, args []any) (pgx.Rows, pgx.BatchResults, error) {
	b, waiting := t.batch()
	expected := t.expected
	if expected != nil {
		b.Queue(expected.query)
		t.expected = nil
	}
	b.Queue(query, args...)
	results := t.conn.SendBatch(t.ctx, b)
	err := t.skip(results, waiting)
	if err == nil && expected != nil {
		err = t.met(expected, results.QueryRow())
	}
	if err != nil {
		results.Close()
		return nil, nil, err
	}
	t.expecting = false
	rows, err := results.Query()
	if err != nil {
		results.Close()
		return nil, nil, err
	}
	return rows, results, nil
}

// CopyRows stores rows with COPY, unless a pooler is in use.
func (t *transaction) CopyRows(ctx context.Context, table string, columns []string, rows [][]any) (can bool, err error) {
	if t.pooled {
		return false, nil
	}
	if t.stated != nil {
		t.stated("copy " + table + " (" + strings.Join(columns, ", ") + ") from stdin")
	}
	return true, t.copyFrom(ctx, table, columns, rows)
}

// copyFrom stores rows with COPY.
func (t *transaction) copyFrom(ctx context.Context, table string, columns []string, rows [][]any) error {
	if err := t.ready(ctx); err != nil {
		return err
	}
	if !t.begun {
		t.begun = true
		if _, err := t.conn.Exec(t.ctx, t.beginning()); err != nil {
			return t.fail(err)
		}
	}
	defer t.span.Statement("copy "+table, 1).End()
	_, err := t.conn.CopyFrom(t.ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
	return t.fail(err)
}

// skip reads the results of n statements and returns the first error.
func (t *transaction) skip(results pgx.BatchResults, n int) error {
	for range n {
		tag, err := results.Exec()
		if err != nil {
			return err
		}
		t.did(tag)
	}
	return nil
}

// did records whether a statement changed rows.
func (t *transaction) did(tag pgconn.CommandTag) {
	t.changed = t.changed || tag.RowsAffected() > 0 && !tag.Select()
}

func (t *transaction) QueryRow(ctx context.Context, query string, args ...any) db.Row {
	return &queryRow{t, ctx, query, args}
}

// Notify queues a statement. The server notifies the listeners after the commit.
func (t *transaction) Notify(topic, word string) { t.Queue("select pg_notify($1, $2)", topic, word) }

// NotifyLocal stores the message until the commit.
func (t *transaction) NotifyLocal(topic, word string) (subscribed bool) {
	t.messages = append(t.messages, engine.Message{Topic: topic, Word: word})
	return t.bus.Subscribed(topic)
}

// flush sends the pending statements.
func (t *transaction) flush() error {
	if t.open != nil {
		t.open.Close()
	}
	if t.err != nil || len(t.pending) == 0 {
		return t.err
	}
	defer t.span.Statement(t.pending[0].Query, len(t.pending)).End()
	b, waiting := t.batch()
	results := t.conn.SendBatch(t.ctx, b)
	err := t.skip(results, waiting)
	if closed := results.Close(); err == nil {
		err = closed
	}
	t.expecting = t.expecting && err != nil
	return t.fail(err)
}

// undo rolls back to the savepoint. It fails if the rollback fails.
func (t *transaction) undo() error {
	if t.open != nil {
		t.open.Close()
	}
	sent := len(t.pending) == 0 || t.pending[0].Query != savepoint
	t.err, t.pending, t.assumption, t.holds = nil, nil, "", 0
	if !sent {
		return nil
	}
	_, err := t.conn.Exec(t.ctx, "rollback to "+savepoint+"; "+releaseSavepoint)
	return t.fail(err)
}

// commit sends the pending statements and the commit in one round trip.
func (t *transaction) commit() error {
	if t.open != nil {
		t.open.Close()
	}
	if t.err != nil {
		return t.err
	}
	if !t.begun && len(t.pending) == 0 {
		t.bus.Send(t.messages)
		return nil
	}
	defer t.span.Statement("commit", 1+len(t.pending)).End()
	b, waiting := t.batch()
	b.Queue("commit")
	results := t.conn.SendBatch(t.ctx, b)
	err := t.skip(results, waiting)
	var tag pgconn.CommandTag
	committing := err == nil
	if committing {
		tag, err = results.Exec()
	}
	if closed := results.Close(); err == nil {
		err = closed
	}
	switch {
	case committing && doubtful(err):
		return t.fail(fmt.Errorf("%w: %w", db.ErrUnknownOutcome, err))
	case err == nil && tag.String() == "COMMIT":
		t.begun = false
		if t.changed {
			t.took()
		}
		t.bus.Send(t.messages)
		return nil
	case err == nil:
		t.begun = false
		return t.fail(fmt.Errorf("db: commit ended with %s", tag))
	case t.conn.IsClosed():
		// The commit was sent, but the result was not received.
		return t.fail(fmt.Errorf("%w: %w", db.ErrUnknownOutcome, err))
	}
	return t.fail(err)
}

// doubtful reports whether a commit that failed with err may nevertheless have succeeded. The
// coordinator of a Citus cluster reports an internal error if it lost the worker that committed.
func doubtful(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && (server.Code == "XX000" || strings.HasPrefix(server.Code, "08"))
}

// end rolls back the transaction if it was not committed.
func (t *transaction) end() {
	if t.open != nil {
		t.open.Close()
	}
	t.ended = true
	if !t.begun || t.conn.IsClosed() {
		return
	}
	if _, err := t.conn.Exec(t.ctx, "rollback"); err != nil {
		hangUp(t.conn)
	}
}
