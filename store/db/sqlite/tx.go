package sqlite

import (
	"context"
	"errors"
	"fmt"

	"kartei/kit/clock"
	"kartei/kit/trace"
	"kartei/store/db"
	"kartei/store/db/internal/engine"
	"kartei/store/db/sqlite/driver"
)

// transaction runs statements on one SQLite connection. It has PostgreSQL's rules, so that code
// that works on SQLite also works on PostgreSQL. A failed statement ends the transaction, and only
// one result can be open at a time.
type transaction struct {
	conn  *driver.Conn
	write bool
	// wrote says that the transaction has run a statement that can change rows.
	wrote bool
	// err is the first failure of a Write. After it, no further statement runs.
	err      error
	open     *queryRows
	pending  []db.Statement
	ended    bool
	messages []engine.Message // of NotifyLocal
	bus      *engine.Bus
	stated   func(string) // Options.Stated
	span     *trace.Span  // of the transaction, or nil
}

func (t *transaction) Dialect() *db.Dialect { return db.SQLite }

// ready returns an error if no statement can run now. It checks the context of a read before each
// statement, but not during one. Statements are short, and watching a context costs a third of a
// read of one row. It ignores the context of a write, because other operations share its commit.
func (t *transaction) ready(ctx context.Context) error {
	switch {
	case t.ended:
		return engine.ErrEnded
	case t.err != nil:
		return t.err
	case t.open != nil:
		return engine.ErrRowsOpen
	}
	if !t.write {
		return ctx.Err()
	}
	return t.flush()
}

// fail records the first failure of a Write.
func (t *transaction) fail(err error) error {
	err = MapError(err)
	if t.write && t.err == nil {
		t.err = err
	}
	return err
}

// start prepares a statement and binds its arguments.
func (t *transaction) start(query string, args []any) (*driver.Stmt, error) {
	if t.stated != nil {
		t.stated(query)
	}
	s, err := t.conn.Prepare(query)
	if err != nil {
		return nil, t.fail(err)
	}
	if err := bind(s, args); err != nil {
		s.Reset()
		return nil, t.fail(err)
	}
	t.wrote = t.wrote || !s.ReadOnly()
	return s, nil
}

func bind(s *driver.Stmt, args []any) error {
	if len(args) != s.Params() {
		return fmt.Errorf("db: %d arguments for %d parameters", len(args), s.Params())
	}
	var room [24]engine.Value
	values := room[:0]
	size := 0
	for _, arg := range args {
		v, err := engine.ValueOf(arg)
		if err != nil {
			return err
		}
		size += len(v.Text)
		values = append(values, v)
	}
	if err := s.Reserve(size); err != nil {
		return err
	}
	for i, v := range values {
		if err := bindValue(s, i+1, v); err != nil {
			return err
		}
	}
	return nil
}

func bindValue(s *driver.Stmt, i int, v engine.Value) error {
	switch v.Kind {
	case engine.KindText:
		return s.BindText(i, v.Text)
	case engine.KindInt, engine.KindBool:
		return s.BindInt(i, v.Int)
	case engine.KindFloat:
		return s.BindFloat(i, v.Float)
	}
	return s.BindNull(i)
}

func (t *transaction) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if !t.write {
		return 0, engine.ErrReadOnly
	}
	if err := t.ready(ctx); err != nil {
		return 0, err
	}
	return t.exec(query, args)
}

func (t *transaction) exec(query string, args []any) (int64, error) {
	defer t.span.Statement(query, 1).End()
	s, err := t.start(query, args)
	if err != nil {
		return 0, err
	}
	defer s.Reset()
	for {
		more, err := s.Step()
		if err != nil {
			return 0, t.fail(err)
		}
		if !more {
			break
		}
	}
	if s.ReadOnly() {
		return 0, nil
	}
	return t.conn.Changes(), nil
}

func (t *transaction) Queue(query string, args ...any) {
	switch {
	case t.ended || t.err != nil:
	case !t.write:
		t.err = engine.ErrReadOnly
	case t.open != nil:
		// The statement runs after the open rows are closed.
		plain, err := engine.PlainArgs(args)
		if err != nil {
			t.fail(err)
			return
		}
		t.pending = append(t.pending, db.Statement{Query: query, Args: plain})
	default:
		t.exec(query, args)
	}
}

// flush runs the statements that were queued while rows were open.
func (t *transaction) flush() error {
	pending := t.pending
	t.pending = nil
	for _, q := range pending {
		if _, err := t.exec(q.Query, q.Args); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the transaction, and returns the error that prevents its commit.
func (t *transaction) finish() error {
	if t.open != nil {
		t.open.Close()
	}
	if t.err == nil {
		t.flush()
	}
	t.ended = true
	return t.err
}

// Notify does nothing, because SQLite has no replicas.
func (t *transaction) Notify(_, _ string) {}

// NotifyLocal stores the message until the commit.
func (t *transaction) NotifyLocal(topic, word string) (subscribed bool) {
	t.messages = append(t.messages, engine.Message{Topic: topic, Word: word})
	return t.bus.Subscribed(topic)
}

// Expect runs the query at once.
func (t *transaction) Expect(ctx context.Context, query string, want int64) error {
	return engine.Expect(ctx, t, query, want)
}

// Tick advances the clock at once.
func (t *transaction) Tick(ctx context.Context, organization int64, now clock.Micros) (clock.Micros, error) {
	return engine.Tick(ctx, t, organization, now)
}

// CopyRows does nothing and returns false, because SQLite has no COPY.
func (*transaction) CopyRows(context.Context, string, []string, [][]any) (can bool, err error) {
	return false, nil
}

// AssumeNone runs the query, because a query on SQLite takes little time.
func (t *transaction) AssumeNone(ctx context.Context, query string, args ...any) db.Row {
	return t.QueryRow(ctx, query, args...)
}

// ExecOne runs the statement and counts the changed rows.
func (t *transaction) ExecOne(ctx context.Context, change, _ db.Statement) error {
	return engine.ExecOne(ctx, t, change)
}

// Lock always succeeds. An SQLite database has one writer, so the running transaction has every
// lock until its end.
func (t *transaction) Lock(ctx context.Context, _ string) (bool, error) {
	if !t.write {
		return false, engine.ErrReadOnly
	}
	if err := t.ready(ctx); err != nil {
		return false, err
	}
	return true, nil
}

func (t *transaction) Snapshot(ctx context.Context) error {
	if err := t.ready(ctx); err != nil || t.conn.InTransaction() {
		return err
	}
	_, err := t.exec("begin", nil)
	return err
}

func (t *transaction) Query(ctx context.Context, query string, args ...any) (db.Rows, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	span := t.span.Statement(query, 1)
	s, err := t.start(query, args)
	if err != nil {
		span.End()
		return nil, err
	}
	t.open = &queryRows{tx: t, stmt: s, span: span}
	return t.open, nil
}

type queryRows struct {
	tx   *transaction
	stmt *driver.Stmt
	row  bool
	err  error
	span *trace.Span
}

func (r *queryRows) Next() bool {
	if r.stmt == nil {
		return false
	}
	var err error
	if r.row, err = r.stmt.Step(); err != nil {
		r.err = r.tx.fail(err)
	}
	if !r.row {
		r.end()
	}
	return r.row
}

func (r *queryRows) Scan(dest ...any) error {
	if !r.row {
		return errors.New("db: Scan without a row")
	}
	if err := scanRow(r.stmt, dest); err != nil {
		r.err = err
		r.Close()
		return err
	}
	return nil
}

func (r *queryRows) Err() error { return r.err }

func (r *queryRows) Close() {
	if r.stmt == nil {
		return
	}
	if r.row || r.err == nil {
		if err := r.stmt.Finish(); err != nil && r.err == nil {
			r.err = r.tx.fail(err)
		}
	}
	r.end()
}

func (r *queryRows) end() {
	r.stmt.Reset()
	r.span.End()
	r.stmt, r.row, r.tx.open = nil, false, nil
}

func (t *transaction) QueryRow(ctx context.Context, query string, args ...any) db.Row {
	return &queryRow{t, ctx, query, args}
}

// queryRow is a query that runs at Scan.
type queryRow struct {
	tx    *transaction
	ctx   context.Context
	query string
	args  []any
}

func (r *queryRow) Scan(dest ...any) error {
	t := r.tx
	if err := t.ready(r.ctx); err != nil {
		return err
	}
	defer t.span.Statement(r.query, 1).End()
	s, err := t.start(r.query, r.args)
	if err != nil {
		return err
	}
	defer s.Reset()
	found, err := s.Step()
	if err != nil {
		return t.fail(err)
	}
	if !found {
		return db.ErrNoRows
	}
	return scanRow(s, dest)
}
