package db

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"kartei/kit/clock"
	"kartei/kit/trace"
)

// pgTx runs statements on one PostgreSQL connection. Statements wait in
// pending. They travel, after begin, with the first statement whose result is
// needed, or with the commit.
type pgTx struct {
	conn     *pgx.Conn
	fresh    bool // for a write: the connection is used for the first time
	ctx      context.Context
	write    bool
	snapshot bool // for a read: all statements see the same snapshot
	pooled   bool
	spread   bool // see pgDB
	begun    bool // begin was sent
	pending  []queued
	// err is the first failure of a Write; no statement runs after it.
	err   error
	open  *pgRows
	ended bool
	// speculative transactions assume results instead of querying. assumed is
	// true after the first assumption.
	speculative, assumed bool
	// expecting is true while an expectation of a change is pending.
	expecting bool
	// assumption is the condition of the last pending statement, if that only
	// checks assumptions.
	assumption string
	// organization is that of WriteIn; tick is its last known tick.
	organization int64
	tick         clock.Micros
	// holds is the organization whose clock was last assumed to exist.
	holds int64
	// expected travels with the first statement of a Read. It is nil
	// afterwards.
	expected *expectation
	// stale is true if the expectation was wrong.
	stale bool
	// answered is true once a statement has returned a result.
	answered bool
	stated   func(string) // Options.Stated
	span     *trace.Span  // of the transaction, or of the running member of a group; usually nil
	// changed is true once a statement has changed something; then a commit
	// calls took.
	changed bool
	took    func()
	// messages of NotifyLocal are sent after the commit.
	messages []message
	bus      *bus
}

// lost reports whether err stems from a connection that broke or was given up
// while no commit was in progress.
func (t *pgTx) lost(err error) bool {
	return errors.Is(err, ErrUnavailable) && t.conn.IsClosed() && !errors.Is(err, ErrUnknownOutcome) &&
		!(t.fresh && readOnly(err))
}

func (t *pgTx) Dialect() *Dialect { return postgresDialect }

func (t *pgTx) ready(ctx context.Context) error {
	switch {
	case t.ended:
		return errEnded
	case t.err != nil:
		return t.err
	case t.open != nil:
		return errRowsOpen
	case !t.write:
		return ctx.Err()
	}
	return nil
}

func (t *pgTx) fail(err error) error {
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

// readOnly reports whether a change was refused because its session is
// read-only. A session can stay so for its whole life, even after the cause is
// gone. Hosts set default_transaction_read_only on a database whose disk is
// nearly full. So the connection is closed, and the change is tried on others
// until a new one fails in the same way.
func readOnly(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == "25006" // read_only_sql_transaction
}

func (t *pgTx) Queue(query string, args ...any) {
	t.assumption = ""
	switch {
	case t.ended || t.err != nil:
		return
	case !t.write:
		t.err = errReadOnly
		return
	}
	if t.stated != nil {
		t.stated(query)
	}
	plain, err := plainArgs(args)
	if err != nil {
		t.fail(err)
		return
	}
	t.pending = append(t.pending, queued{query, plain})
}

// batch returns all pending statements and their number. If a transaction is
// needed and not yet begun, they follow a begin.
func (t *pgTx) batch() (*pgx.Batch, int) {
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
		b.Queue(q.query, q.args...)
	}
	t.pending, t.assumption = nil, ""
	return b, b.Len()
}

// beginning returns the statement that begins the transaction.
func (t *pgTx) beginning() string {
	if t.write {
		return "begin"
	}
	return "begin isolation level repeatable read read only"
}

func (t *pgTx) Snapshot(ctx context.Context) error {
	if err := t.ready(ctx); err != nil {
		return err
	}
	t.snapshot = !t.write
	return nil
}

func (t *pgTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if !t.write {
		return 0, errReadOnly
	}
	rows, err := t.Query(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return 0, err
	}
	return rows.(*pgRows).rows.CommandTag().RowsAffected(), nil
}

func (t *pgTx) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	if t.stated != nil {
		t.stated(query)
	}
	plain, err := plainArgs(args)
	if err != nil {
		return nil, t.fail(err)
	}
	r := &pgRows{tx: t, span: t.span.Statement(query, 1+len(t.pending))}
	// A cluster would have to move both tables to one server.
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

// send sends the pending statements together with a query.
func (t *pgTx) send(query string, args []any) (pgx.Rows, pgx.BatchResults, error) {
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

// CopyRows stores rows with COPY. That costs PostgreSQL and this process half
// of what inserts cost, and takes another round trip or two. It reports whether
// COPY is available, which it is neither on SQLite nor behind a pooler. A
// duplicate row fails with ErrDuplicate, and on a cluster with an unspecific
// error.
func CopyRows(ctx context.Context, tx Tx, table string, columns []string, rows [][]any) (can bool, err error) {
	p, is := tx.(*pgTx)
	if !is || p.pooled {
		return false, nil
	}
	if p.stated != nil {
		p.stated("copy " + table + " (" + strings.Join(columns, ", ") + ") from stdin")
	}
	return true, p.copyFrom(ctx, table, columns, rows)
}

// copyFrom stores rows with COPY.
func (t *pgTx) copyFrom(ctx context.Context, table string, columns []string, rows [][]any) error {
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

// skip reads the results of n statements and returns the first failure.
func (t *pgTx) skip(results pgx.BatchResults, n int) error {
	for range n {
		tag, err := results.Exec()
		if err != nil {
			return err
		}
		t.did(tag)
	}
	return nil
}

// did records the effect of a statement.
func (t *pgTx) did(tag pgconn.CommandTag) {
	t.changed = t.changed || tag.RowsAffected() > 0 && !tag.Select()
}

func (t *pgTx) QueryRow(ctx context.Context, query string, args ...any) Row {
	return &pgRow{t, ctx, query, args}
}

// Notify is a statement of the transaction; the server notifies the listeners
// after the commit.
func (t *pgTx) Notify(topic, word string) { t.Queue("select pg_notify($1, $2)", topic, word) }

// NotifyLocal keeps the message until the commit.
func (t *pgTx) NotifyLocal(topic, word string) (subscribed bool) {
	t.messages = append(t.messages, message{topic, word})
	return t.bus.subscribed(topic)
}

// AssumeNone queries unless the transaction is speculative.
func (t *pgTx) AssumeNone(ctx context.Context, query string, args ...any) Row {
	if t.speculative {
		t.assumed = true
		return noRow{}
	}
	return t.QueryRow(ctx, query, args...)
}

// noRow is the result of a query that was not sent.
type noRow struct{}

func (noRow) Scan(...any) error { return ErrNoRows }

// ExecOne counts the changed rows. A speculative transaction leaves that to the
// check.
func (t *pgTx) ExecOne(ctx context.Context, change, check Statement) error {
	if t.speculative {
		t.assumed = true
		t.Queue(change.Query, change.Args...)
		t.Queue(check.Query, check.Args...)
		return nil
	}
	return execOne(ctx, t, change)
}

// execOne runs a statement that must change a row.
func execOne(ctx context.Context, t Tx, change Statement) error {
	rows, err := t.Exec(ctx, change.Query, change.Args...)
	if err == nil && rows == 0 {
		return ErrConflict
	}
	return err
}

// assumeTick returns the tick that the clock will most probably give. It queues
// a statement that sets this tick, or divides by zero. The second statement
// divides by zero if there is no clock: an update of no row fails nothing, so
// the change would be committed after the erasure of its organization. It costs
// the server 8 microseconds, once in a transaction, which holds its clock from
// then on.
func (t *pgTx) assumeTick(organization int64, now clock.Micros) clock.Micros {
	tick := now
	if organization == t.organization {
		tick = max(now, t.tick+1)
	}
	t.noteTick(organization, tick)
	t.assumed = true
	t.Queue("update clocks set tick = cast($2 as bigint) / (case when tick < $2 then 1 else 0 end) where organization = $1", organization, int64(tick))
	if t.holds != organization {
		t.holds = organization
		t.Queue("select 1 / count(*) from clocks where organization = $1", organization)
	}
	return tick
}

func (t *pgTx) noteTick(organization int64, tick clock.Micros) {
	if organization == t.organization {
		t.tick = tick
	}
}

// lockNumber maps a key to 64 bits of its hash. So a client cannot choose a key
// that collides with another's. Two colliding keys lock each other out, which
// looks to a caller like a key in use.
func lockNumber(key string) int64 {
	hash := sha256.Sum256([]byte(key))
	return int64(binary.BigEndian.Uint64(hash[:]))
}

// Lock takes an advisory lock, which the server releases with the transaction.
// A speculative transaction divides by zero if another one holds the lock.
func (t *pgTx) Lock(ctx context.Context, key string) (bool, error) {
	switch {
	case !t.write:
		return false, errReadOnly
	case t.speculative:
		t.assumed = true
		t.assume("pg_try_advisory_xact_lock($1)", lockNumber(key))
		return true, nil
	}
	var got bool
	err := t.QueryRow(ctx, "select pg_try_advisory_xact_lock($1)", lockNumber(key)).Scan(&got)
	return got, err
}

// flush sends the pending statements.
func (t *pgTx) flush() error {
	if t.open != nil {
		t.open.Close()
	}
	if t.err != nil || len(t.pending) == 0 {
		return t.err
	}
	defer t.span.Statement(t.pending[0].query, len(t.pending)).End()
	b, waiting := t.batch()
	results := t.conn.SendBatch(t.ctx, b)
	err := t.skip(results, waiting)
	if closed := results.Close(); err == nil {
		err = closed
	}
	t.expecting = t.expecting && err != nil
	return t.fail(err)
}

// undo rolls back to the savepoint. It fails if the server never reached that.
func (t *pgTx) undo() error {
	if t.open != nil {
		t.open.Close()
	}
	sent := len(t.pending) == 0 || t.pending[0].query != savepoint
	t.err, t.pending, t.assumption, t.holds = nil, nil, "", 0
	if !sent {
		return nil
	}
	_, err := t.conn.Exec(t.ctx, "rollback to "+savepoint+"; "+releaseSavepoint)
	return t.fail(err)
}

// commit sends the pending statements and the commit in one round trip.
func (t *pgTx) commit() error {
	if t.open != nil {
		t.open.Close()
	}
	if t.err != nil {
		return t.err
	}
	if !t.begun && len(t.pending) == 0 {
		t.bus.send(t.messages)
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
		return t.fail(fmt.Errorf("%w: %w", ErrUnknownOutcome, err))
	case err == nil && tag.String() == "COMMIT":
		t.begun = false
		if t.changed {
			t.took()
		}
		t.bus.send(t.messages)
		return nil
	case err == nil:
		t.begun = false
		return t.fail(fmt.Errorf("db: commit ended with %s", tag))
	case t.conn.IsClosed():
		// The commit was sent and its result never arrived.
		return t.fail(fmt.Errorf("%w: %w", ErrUnknownOutcome, err))
	}
	return t.fail(err)
}

// doubtful reports whether a commit that failed with err may have succeeded all
// the same. The coordinator of a Citus cluster reports an internal error if it
// lost the worker that committed.
func doubtful(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && (server.Code == "XX000" || strings.HasPrefix(server.Code, "08"))
}

// end rolls back an uncommitted transaction, also after a panic.
func (t *pgTx) end() {
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

type pgRows struct {
	tx    *pgTx
	rows  pgx.Rows
	batch pgx.BatchResults
	err   error
	ended bool
	span  *trace.Span
	// expected belongs to the first column; nil if that is an ordinary one.
	// number is its value. met is true once it was right.
	expected *expectation
	number   int64
	met      bool
	dest     []any
}

func (r *pgRows) Next() bool {
	if r.ended {
		return false
	}
	if r.rows.Next() {
		r.tx.answered = true
		return true
	}
	r.Close()
	return false
}

func (r *pgRows) Scan(dest ...any) error {
	if r.ended {
		return errors.New("db: Scan without a row")
	}
	if r.expected != nil {
		r.dest = append(append(r.dest[:0], &r.number), dest...)
		dest = r.dest
	}
	var err error
	if !scanPlain(r.rows.FieldDescriptions(), r.rows.RawValues(), dest) {
		err = r.rows.Scan(dest...)
	}
	switch {
	case err != nil:
		r.err = fmt.Errorf("db: %w", err)
	case r.expected != nil && r.number != r.expected.want:
		r.tx.stale, r.err = true, ErrStale
	default:
		r.met = true
		return nil
	}
	r.Close()
	return r.err
}

func (r *pgRows) Err() error { return r.err }

func (r *pgRows) Close() {
	if r.ended {
		return
	}
	r.ended, r.tx.open = true, nil
	defer r.span.End()
	if r.expected != nil && !r.met && !r.tx.stale { // there was no row to carry it
		r.tx.expected = r.expected
	}
	r.rows.Close()
	err := r.rows.Err()
	if r.batch != nil {
		if closed := r.batch.Close(); err == nil {
			err = closed
		}
	}
	if err == nil {
		r.tx.answered = true
		r.tx.did(r.rows.CommandTag())
	}
	if r.err == nil && err != nil {
		r.err = r.tx.fail(err)
	}
}

// pgRow is a query that runs at Scan.
type pgRow struct {
	tx    *pgTx
	ctx   context.Context
	query string
	args  []any
}

func (r *pgRow) Scan(dest ...any) error {
	rows, err := r.tx.Query(r.ctx, r.query, r.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return ErrNoRows
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}
