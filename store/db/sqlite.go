package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"kartei/kit/trace"
	"kartei/store/db/sqlite/driver"
)

// settings apply to every connection.
//
//   - synchronous=full: a commit is on the disk when it returns. The library's
//     default differs from build to build.
//   - mmap_size: the maximum of the library's build, 2 GiB. On Linux the whole
//     file is mapped (driver.Conn). Without a mapping all connections share one
//     page cache and its mutex (half the reads a second at 8 readers, seven
//     times the memory).
//   - busy_timeout: only a checkpoint or a migration blocks, and briefly.
//   - secure_delete: space freed by a delete or an update is overwritten, so
//     that no erased record remains in the file.
//   - cache_size: 8 MiB, for pages that are not read through the mapping.
const settings = `
	pragma busy_timeout = 5000; -- busyTimeout
	pragma journal_mode = wal;
	pragma synchronous = full;
	pragma foreign_keys = on;
	pragma mmap_size = 2147418112;
	pragma cache_size = -8192;
	pragma temp_store = memory;
	pragma trusted_schema = off;
	pragma secure_delete = on;
`

// busyTimeout equals busy_timeout in settings.
const busyTimeout = 5 * time.Second

// maxTries bounds the calls of a Write function that meets ErrConflict.
const maxTries = 5

// liteDB is the SQLite engine: several reading connections and one writer.
type liteDB struct {
	path  string
	opts  Options
	gate  *gate
	write *liteWriter
	watch *fileWatch
	bus   bus
	// writes observes the result of each write.
	writes *Writes

	slots chan struct{} // one for each reader in use
	mu    sync.Mutex
	idle  []*liteReader // the last one used is reused first, because its caches are warm
	all   []*liteReader
}

// liteReader is a reading connection. All fields but the connection are guarded
// by liteDB.mu.
type liteReader struct {
	*driver.Conn
	busy bool
	// uses counts the reads. since is when the read with the number noted was
	// first seen to block the log.
	uses, noted int64
	since       time.Time
}

func openSQLite(ctx context.Context, path string, opts Options) (_ DB, err error) {
	if path, err = realPath(path); err != nil {
		return nil, err
	}
	lock, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	d := &liteDB{path: path, opts: opts, gate: newGate(), slots: make(chan struct{}, opts.Readers)}
	d.watch = &fileWatch{path: path, lock: lock, clock: opts.Clock, gate: d.gate}
	d.writes = newWrites(opts, d.whyRefused, d.watch.look)
	defer func() {
		if err != nil {
			d.closeAll()
		}
	}()
	if err := checkWritable(path); err != nil {
		return nil, err
	}
	conn, err := openConn(path, opts)
	if err != nil {
		return nil, err
	}
	if err := claimApplication(conn, path); err != nil {
		conn.Close()
		return nil, err
	}
	if !opts.NoSync {
		if err := conn.BufferLog(); err != nil {
			conn.Close()
			return nil, describeOpen(path, err)
		}
	}
	checkpoints, err := openConn(path, opts)
	if err != nil {
		conn.Close()
		return nil, err
	}
	d.write = newLiteWriter(conn, checkpoints,
		&reserve{path: path + ".reserve", size: opts.Reserve, clock: opts.Clock}, opts, d.writes.took, &d.bus,
		d.interruptLong)
	if err := d.watch.begin(); err != nil {
		return nil, err
	}
	for range opts.Readers {
		conn, err := openConn(path, opts)
		if err != nil {
			return nil, err
		}
		reader := &liteReader{Conn: conn}
		d.mu.Lock()
		d.idle, d.all = append(d.idle, reader), append(d.all, reader)
		d.mu.Unlock()
		if err := reader.Script("pragma query_only = on"); err != nil {
			return nil, MapError(err)
		}
	}
	return d, ctx.Err()
}

func (d *liteDB) Dialect() *Dialect { return sqliteDialect }

func (d *liteDB) Read(ctx context.Context, f func(Tx) error) (err error) {
	if !d.gate.enter() {
		return ErrClosed
	}
	defer d.gate.leave()
	span := d.opts.begin(ctx, readSpan, "sqlite")
	if span != nil {
		defer func() { endSpan(span, err) }()
	}
	conn, err := d.reader(ctx)
	if err != nil {
		return err
	}
	tx := &liteTx{conn: conn.Conn, stated: d.opts.Stated, span: span}
	defer d.release(conn, tx)
	if err := f(tx); err != nil {
		return err
	}
	return tx.err
}

// reader takes a reading connection, and waits for one if necessary.
func (d *liteDB) reader(ctx context.Context) (*liteReader, error) {
	select {
	case d.slots <- struct{}{}:
	default:
		if err := d.waitForReader(ctx); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	last := len(d.idle) - 1
	conn := d.idle[last]
	d.idle = d.idle[:last]
	conn.busy, conn.uses = true, conn.uses+1
	return conn, nil
}

func (d *liteDB) waitForReader(ctx context.Context) error {
	timeout := time.NewTimer(d.opts.Wait)
	defer timeout.Stop()
	select {
	case d.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timeout.C:
		return fmt.Errorf("%w: all %d reading connections are in use", ErrBusy, cap(d.slots))
	}
}

// interruptLong interrupts reads that have blocked the log for longer than
// longestRead. PostgreSQL does the same by a timeout. Their callers get
// ErrBusy.
func (d *liteDB) interruptLong() {
	now := d.opts.Clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.all {
		switch {
		case !r.busy:
		case r.noted != r.uses:
			r.noted, r.since = r.uses, now
		case now.Sub(r.since) >= longestRead:
			d.opts.Logger.Warn("a long read was interrupted, because the write-ahead log could not be emptied", "after",
				now.Sub(r.since).String())
			r.Interrupt()
		}
	}
}

func (d *liteDB) release(conn *liteReader, tx *liteTx) {
	if tx.finish(); conn.InTransaction() {
		tx.exec("commit", nil)
	}
	d.mu.Lock()
	conn.busy = false
	d.idle = append(d.idle, conn)
	d.mu.Unlock()
	<-d.slots
}

func (d *liteDB) Write(ctx context.Context, f func(Tx) error) error { return d.WriteIn(ctx, 0, f) }

// WriteIn lets organizations take turns: see liteQueue.
func (d *liteDB) WriteIn(ctx context.Context, organization int64, f func(Tx) error) error {
	if !d.gate.enter() {
		return ErrClosed
	}
	defer d.gate.leave()
	span := d.opts.begin(ctx, writeSpan, "sqlite")
	err := d.writes.note(d.tries(ctx, span, organization, f))
	endSpan(span, err)
	return err
}

func (d *liteDB) tries(ctx context.Context, span *trace.Span, organization int64, f func(Tx) error) error {
	if err := d.watch.look(); err != nil {
		return err
	}
	var err error
	for try := range maxTries {
		if err = pause(ctx, d.opts.Clock, try); err != nil {
			return err
		}
		if err = d.write.do(ctx, span, organization, f); !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return err
}

// Writes reports whether the database accepts writes.
func (d *liteDB) Writes() *Writes { return d.writes }

// Listen receives messages of this process only, since no other one changes the
// data.
func (d *liteDB) Listen(ctx context.Context, topic string, f func(string)) {
	defer d.bus.subscribe(topic, f)()
	f("")
	<-ctx.Done()
}

// SubscribeLocal receives messages of this process only, as Listen does.
func (d *liteDB) SubscribeLocal(topic string, f func(string)) func() {
	return d.bus.subscribe(topic, f)
}

func (d *liteDB) Ping(ctx context.Context) error {
	return d.Read(ctx, func(tx Tx) error {
		var one int
		return tx.QueryRow(ctx, "select 1").Scan(&one)
	})
}

func (d *liteDB) Close() error {
	if !d.gate.close() {
		return nil
	}
	return d.closeAll()
}

// closeAll closes all connections. The last one to close copies the write-ahead
// log to the file.
func (d *liteDB) closeAll() error {
	var errs []error
	for _, conn := range d.idle {
		errs = append(errs, conn.Close())
	}
	if d.write != nil {
		errs = append(errs, d.write.close())
	}
	errs = append(errs, d.watch.release())
	return errors.Join(errs...)
}
