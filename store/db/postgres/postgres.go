// Package postgres owns the engine on PostgreSQL: connections, speculation, group commits, notifications.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"kartei/kit/trace"
	"kartei/store/db"
	"kartei/store/db/internal/engine"
)

// limits are the settings of each PostgreSQL connection:
//
//   - A statement ends after 10 s, and a wait for a lock after 5 s.
//   - A transaction ends after 10 s without a statement. Kartei does not pause between
//     statements.
//   - A statement ends within a second if its client died (PostgreSQL 14 or later). So the locks
//     of a killed replica are released even while it waits for another lock.
//   - If a machine is gone, keep-alives detect that within 25 s.
//   - No statement is worth compiling (jit).
var limits = map[string]string{
	"statement_timeout":                   "10s",
	"lock_timeout":                        "5s",
	"idle_in_transaction_session_timeout": "10s",
	"client_connection_check_interval":    "1s",
	"tcp_keepalives_idle":                 "10",
	"tcp_keepalives_interval":             "5",
	"tcp_keepalives_count":                "3",
	"jit":                                 "off",
	"application_name":                    "kartei",
}

// planOnce makes the server use one plan of a statement for all values. Each statement is written
// so that one plan is right. For a list among ten million records, planning takes three times as
// long as the list itself. Citus needs the values to find the server with the rows.
const planOnce = `select set_config('plan_cache_mode', 'force_generic_plan', false)
	where not exists (select 1 from pg_extension where extname = 'citus')`

// DB is the PostgreSQL engine. It has a pool of read-only connections and a pool of writing
// connections.
type DB struct {
	opts    db.Options
	gate    *engine.Gate
	config  *pgx.ConnConfig // from the URL, without the timeouts
	readers *pool
	writers *pool
	watch   *watchdog
	// pooled says that the URL has default_query_exec_mode=exec or simple_protocol, because a
	// transaction pooler is in use. A pooler has no sessions. So there are no session settings and
	// no prepared statements.
	pooled bool
	// spread says that tables may be distributed over several servers (Citus).
	spread bool
	queues queues
	bus    engine.Bus
	// writes is the state that the method Writes returns.
	writes *engine.Writes
}

// Open opens the database with the URL. It does not migrate the schema.
func Open(ctx context.Context, url string, opts db.Options) (_ *DB, err error) {
	opts = engine.WithDefaults(opts)
	address, err := readAddress(url)
	if err != nil {
		return nil, err
	}
	config := address.config
	mode := config.ConnConfig.DefaultQueryExecMode
	if _, given := config.ConnConfig.RuntimeParams["statement_timeout"]; given { // the timeout of the URL may be longer
		opts.Answer = opts.Transaction
	}
	d := &DB{
		opts:   opts,
		gate:   engine.NewGate(),
		config: config.ConnConfig.Copy(),
		pooled: mode == pgx.QueryExecModeExec || mode == pgx.QueryExecModeSimpleProtocol,
		watch:  newWatchdog(opts.Transaction, opts.Answer),
	}
	d.writes = engine.NewWrites(opts, whyRefused, func() error { return nil })
	defer func() {
		if err != nil {
			d.closeAll()
		}
	}()
	readers := max(8, 4*runtime.GOMAXPROCS(0))
	// With enough connections, concurrent writes share fsyncs. With 16 concurrent writes on two
	// processors, each write then takes this process a tenth less time.
	writers := max(16, readers)
	if strings.Contains(url, "pool_max_conns") {
		readers = max(8, int(config.MaxConns))
		writers = readers
	}
	if d.readers, err = d.pool(ctx, config.Copy(), first(opts.Readers, readers), true); err != nil {
		return nil, err
	}
	if d.writers, err = d.pool(ctx, config.Copy(), first(opts.Writers, opts.Readers, writers), false); err != nil {
		return nil, err
	}
	return d, address.explainTLS(d.check(ctx))
}

// first returns the first number that is not zero, or zero.
func first(numbers ...int) int {
	for _, n := range numbers {
		if n != 0 {
			return n
		}
	}
	return 0
}

func (d *DB) pool(ctx context.Context, config *pgxpool.Config, size int, readOnly bool) (*pool, error) {
	config.MaxConns = int32(size)
	config.ConnConfig.ConnectTimeout = min(config.ConnConfig.ConnectTimeout, d.opts.Wait)
	config.PingTimeout = d.opts.Wait
	config.ConnConfig.DialFunc = noteWaits(config.ConnConfig.DialFunc)
	if !d.pooled {
		for name, value := range limits {
			if _, given := config.ConnConfig.RuntimeParams[name]; !given {
				config.ConnConfig.RuntimeParams[name] = value
			}
		}
		if readOnly {
			config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
		}
		config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, planOnce)
			return err
		}
	}
	p, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &pool{p, make(chan struct{}, size)}, nil
}

// check returns an error if the server is unreachable or stores text in another encoding than
// UTF-8.
func (d *DB) check(ctx context.Context) error {
	conn, err := d.acquire(ctx, d.readers)
	if err != nil {
		if strings.Contains(err.Error(), "unsupported startup parameter") {
			// The error is not temporary: see open.Away.
			err = fmt.Errorf("db: a pooler in front of the database refuses the settings of a session: if it is in transaction mode, "+
				"add default_query_exec_mode=exec to the URL; if PgBouncer is in session mode, list the settings in its "+
				"ignore_startup_parameters, as docs/operating/replicas.md shows: %v", err)
		}
		return err
	}
	defer d.release(conn, d.readers, 0)
	if encoding := conn.Conn().PgConn().ParameterStatus("server_encoding"); encoding != "" && encoding != "UTF8" {
		return fmt.Errorf("db: the database stores text as %s; it must be created with encoding UTF8", encoding)
	}
	var fsync, commit string
	err = conn.QueryRow(ctx, `select current_setting('fsync'), current_setting('synchronous_commit'),
		exists (select 1 from pg_extension where extname = 'citus')`).Scan(&fsync, &commit, &d.spread)
	if err != nil {
		return MapError(err)
	}
	if fsync == "off" || commit == "off" {
		d.opts.Logger.Warn("the database server answers before a commit is on its disk: if it crashes, acknowledged changes are lost",
			"fsync", fsync, "synchronous_commit", commit)
	}
	return nil
}

// Config returns a copy of the configuration for connections outside the pools. The caller may
// change it. Its ConnString is the URL with the additions of readAddress. It lacks the timeouts of
// calls, because 10 seconds are too short for a statement of a migration. Such connections return
// errors of pgx: see MapError.
func (d *DB) Config() *pgx.ConnConfig { return d.config.Copy() }

// Pooled reports whether the URL names a transaction pooler. Then connections have no sessions, and
// so no locks that outlast a transaction.
func (d *DB) Pooled() bool { return d.pooled }

func (d *DB) Dialect() *db.Dialect { return db.PostgreSQL }

// acquire takes a connection from a pool, and waits at most Options.Wait. The caller returns the
// connection with release.
func (d *DB) acquire(ctx context.Context, pool *pool) (*pgxpool.Conn, error) {
	if !pool.take(ctx, d.opts.Wait) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: all connections are in use", db.ErrBusy)
	}
	// pgx pings idle connections one after the other, and each can be silent for a while. So the
	// time for all of them is limited too.
	bounded, cancel := context.WithTimeout(ctx, d.opts.Wait)
	defer cancel()
	conn, err := pool.Acquire(bounded)
	switch {
	case err == nil:
		d.watch.enter(conn.Conn())
		return conn, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case bounded.Err() != nil:
		err = fmt.Errorf("%w: no connection within %s", db.ErrUnavailable, d.opts.Wait)
	case isConnectionLoss(err):
		err = engine.Wrap(db.ErrUnavailable, err)
	default:
		err = engine.Wrap(db.ErrBusy, err)
	}
	pool.leave()
	return nil, err
}

func (d *DB) Read(ctx context.Context, f func(db.Tx) error) error {
	if !d.gate.Enter() {
		return db.ErrClosed
	}
	defer d.gate.Leave()
	span := engine.BeginSpan(ctx, &d.opts, engine.ReadSpan, "postgresql")
	err := d.read(ctx, span, f)
	engine.EndSpan(span, err)
	return err
}

func (d *DB) read(ctx context.Context, span *trace.Span, f func(db.Tx) error) error {
	return d.tries(ctx, func(try int) (again bool, err error) {
		conn, err := d.acquire(ctx, d.readers)
		if err != nil {
			return false, err
		}
		defer d.release(conn, d.readers, try)
		// If pgx watched the caller's context, an interrupted caller would cost a connection.
		tx := &transaction{conn: conn.Conn(), ctx: context.Background(), stated: d.opts.Stated, spread: d.spread, span: span}
		defer tx.end()
		err = tx.settled(f(tx))
		// If f has seen no result, it can run again unnoticed.
		return tx.lost(err) && !tx.answered, err
	})
}

func (d *DB) Write(ctx context.Context, f func(db.Tx) error) error {
	if !d.gate.Enter() {
		return db.ErrClosed
	}
	defer d.gate.Leave()
	span := engine.BeginSpan(ctx, &d.opts, engine.WriteSpan, "postgresql")
	err := d.writes.Note(d.write(ctx, span, 0, false, f))
	engine.EndSpan(span, err)
	return err
}

// Writes reports whether the database accepts writes.
func (d *DB) Writes() db.Writes { return d.writes }

// whyRefused returns the reason of a refusal for the operator.
func whyRefused(err error) string {
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return "the database server does not answer: " + engine.PlainText(err)
	}
	switch server.Code {
	case "53100":
		return "the disk of the database server is full: " + server.Error()
	case "25006":
		return "the database is read-only: " + server.Error()
	}
	return "the database server takes no writes: " + server.Error()
}

// write runs f in transactions until one is committed or fails permanently.
func (d *DB) write(
	ctx context.Context, span *trace.Span, organization int64, speculative bool, f func(db.Tx) error,
) error {
	if speculative {
		if again, err := d.attempt(ctx, span, organization, true, 0, f); !again {
			return err
		}
	}
	return d.tries(ctx, func(try int) (again bool, err error) { return d.attempt(ctx, span, organization, false, try, f) })
}

// tries calls f until f returns again == false, at most engine.MaxTries times. No change can happen
// twice. f returns true only after a rollback by the server, or after the connection was lost
// before a commit was sent.
func (d *DB) tries(ctx context.Context, f func(try int) (again bool, err error)) error {
	for try := 0; ; try++ {
		if err := engine.Pause(ctx, d.opts.Clock, try); err != nil {
			return err
		}
		if again, err := f(try); !again || try == engine.MaxTries-1 {
			return err
		}
	}
}

// attempt runs f in one transaction. again says that another attempt may have a different result.
func (d *DB) attempt(
	ctx context.Context, span *trace.Span, organization int64, speculative bool, try int, f func(db.Tx) error,
) (again bool, err error) {
	tx, end, err := d.begin(ctx, organization, speculative, try)
	if err != nil {
		return false, err
	}
	defer end()
	tx.span = span
	if err = f(tx); err != nil {
		return tx.again(err), err
	}
	if err = tx.commit(); err != nil {
		return tx.again(err), err
	}
	d.queues.noteTick(organization, tx.tick)
	return tx.again(err), err
}

// begin returns a transaction on a connection of its own. The caller calls end.
func (d *DB) begin(
	ctx context.Context, organization int64, speculative bool, try int,
) (tx *transaction, end func(), err error) {
	conn, err := d.acquire(ctx, d.writers)
	if err != nil {
		return nil, nil, err
	}
	tx = &transaction{conn: conn.Conn(), fresh: fresh(conn.Conn()), ctx: context.Background(), stated: d.opts.Stated,
		write: true, took: d.writes.Took, bus: &d.bus, pooled: d.pooled,
		speculative: speculative, organization: organization, tick: d.queues.lastTick(organization)}
	return tx, func() {
		tx.end()
		d.release(conn, d.writers, try)
	}, nil
}

// fresh reports whether a connection is used for the first time.
func fresh(conn *pgx.Conn) bool {
	data := conn.PgConn().CustomData()
	_, taken := data["taken"]
	data["taken"] = true
	return !taken
}

// again reports whether another attempt may have a different result. That is so after a lost race,
// a lost connection, or a wrong assumption. After a commit that may have succeeded, it returns
// false.
func (t *transaction) again(err error) bool {
	switch {
	case err == nil, errors.Is(err, db.ErrUnknownOutcome), errors.Is(err, db.ErrBusy):
		return false
	case errors.Is(err, db.ErrUnavailable):
		return t.lost(err)
	}
	return errors.Is(err, db.ErrConflict) || t.assumed || t.expecting
}

// release returns a connection to its pool. If the second attempt also lost its connection, release
// closes all idle connections, because the server was probably restarted.
func (d *DB) release(conn *pgxpool.Conn, pool *pool, try int) {
	d.watch.leave(conn.Conn())
	lost := conn.Conn().IsClosed()
	conn.Release()
	pool.leave()
	if lost && try > 0 {
		pool.Reset()
	}
}

func (d *DB) Ping(ctx context.Context) error {
	if !d.gate.Enter() {
		return db.ErrClosed
	}
	defer d.gate.Leave()
	conn, err := d.acquire(ctx, d.readers)
	if err != nil {
		return err
	}
	defer d.release(conn, d.readers, 0)
	return MapError(conn.Ping(ctx))
}

func (d *DB) Close() error {
	if d.gate.Close() {
		d.closeAll()
	}
	return nil
}

func (d *DB) closeAll() {
	d.watch.end()
	for _, pool := range []*pool{d.readers, d.writers} {
		if pool != nil {
			pool.Close()
		}
	}
}
