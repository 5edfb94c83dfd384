// Package sqlite owns the engine on SQLite: readers, the one writer with its group commits, the file, its log.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"kartei/kit/trace"
	"kartei/store/db"
	"kartei/store/db/internal/engine"
	"kartei/store/db/sqlite/driver"
)

// settings is the script of pragmas for each connection:
//
//   - synchronous=full: a commit is on the disk when it returns. The library's default differs
//     from build to build.
//   - mmap_size: the maximum of the library's build, 2 GiB. On Linux the whole file is mapped
//     (driver.Conn). Without a mapping all connections would share one page cache and its mutex.
//     With 8 readers that means half the reads a second and seven times the memory.
//   - busy_timeout: only checkpoints and migrations block other connections, for a short time.
//   - secure_delete: SQLite overwrites the space that a delete or an update frees, so that no
//     erased record remains in the file.
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

// busyTimeout is the value of busy_timeout in settings.
const busyTimeout = 5 * time.Second

// DB is the SQLite engine. It has several reading connections and one writer.
type DB struct {
	path  string
	opts  db.Options
	gate  *engine.Gate
	write *writer
	watch *fileWatch
	bus   engine.Bus
	// writes is the state that the method Writes returns.
	writes *engine.Writes

	slots chan struct{} // one element for each reader in use
	mu    sync.Mutex
	idle  []*reader // a stack, because the caches of the last used reader are warm
	all   []*reader
}

// reader is a reading connection. DB.mu protects all fields but the connection.
type reader struct {
	*driver.Conn
	busy bool
	// uses is the number of reads so far. since is the time at which read number noted was first
	// seen to block the log.
	uses, noted int64
	since       time.Time
}

// Open opens or creates the database at path. It does not migrate the schema. If another process
// has the database open, the error is an *InUse.
func Open(ctx context.Context, path string, opts db.Options) (_ *DB, err error) {
	opts = engine.WithDefaults(opts)
	if opts.Readers == 0 {
		opts.Readers = max(4, 2*runtime.GOMAXPROCS(0))
	}
	if path, err = realPath(path); err != nil {
		return nil, err
	}
	lock, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	d := &DB{path: path, opts: opts, gate: engine.NewGate(), slots: make(chan struct{}, opts.Readers)}
	d.watch = &fileWatch{path: path, lock: lock, clock: opts.Clock, gate: d.gate}
	d.writes = engine.NewWrites(opts, d.whyRefused, d.watch.look)
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
	d.write = newWriter(conn, checkpoints,
		&reserve{path: path + ".reserve", size: opts.Reserve, clock: opts.Clock}, opts, d.writes.Took, &d.bus,
		d.interruptLong)
	if err := d.watch.begin(); err != nil {
		return nil, err
	}
	for range opts.Readers {
		conn, err := openConn(path, opts)
		if err != nil {
			return nil, err
		}
		r := &reader{Conn: conn}
		d.mu.Lock()
		d.idle, d.all = append(d.idle, r), append(d.all, r)
		d.mu.Unlock()
		if err := r.Script("pragma query_only = on"); err != nil {
			return nil, MapError(err)
		}
	}
	return d, ctx.Err()
}

func (d *DB) Dialect() *db.Dialect { return db.SQLite }

func (d *DB) Read(ctx context.Context, f func(db.Tx) error) (err error) {
	if !d.gate.Enter() {
		return db.ErrClosed
	}
	defer d.gate.Leave()
	span := engine.BeginSpan(ctx, &d.opts, engine.ReadSpan, "sqlite")
	if span != nil {
		defer func() { engine.EndSpan(span, err) }()
	}
	conn, err := d.reader(ctx)
	if err != nil {
		return err
	}
	tx := &transaction{conn: conn.Conn, stated: d.opts.Stated, span: span}
	defer d.release(conn, tx)
	if err := f(tx); err != nil {
		return err
	}
	return tx.err
}

// reader returns a free reading connection. If none is free, it waits.
func (d *DB) reader(ctx context.Context) (*reader, error) {
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

func (d *DB) waitForReader(ctx context.Context) error {
	timeout := time.NewTimer(d.opts.Wait)
	defer timeout.Stop()
	select {
	case d.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timeout.C:
		return fmt.Errorf("%w: all %d reading connections are in use", db.ErrBusy, cap(d.slots))
	}
}

// interruptLong interrupts reads that have blocked the log for longestRead. Their callers get
// ErrBusy. PostgreSQL does the same by a timeout.
func (d *DB) interruptLong() {
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

func (d *DB) release(conn *reader, tx *transaction) {
	if tx.finish(); conn.InTransaction() {
		tx.exec("commit", nil)
	}
	d.mu.Lock()
	conn.busy = false
	d.idle = append(d.idle, conn)
	d.mu.Unlock()
	<-d.slots
}

func (d *DB) Write(ctx context.Context, f func(db.Tx) error) error { return d.WriteIn(ctx, 0, f) }

// WriteIn implements db.DB. Organizations take turns: see queue.
func (d *DB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	if !d.gate.Enter() {
		return db.ErrClosed
	}
	defer d.gate.Leave()
	span := engine.BeginSpan(ctx, &d.opts, engine.WriteSpan, "sqlite")
	err := d.writes.Note(d.tries(ctx, span, organization, f))
	engine.EndSpan(span, err)
	return err
}

func (d *DB) tries(ctx context.Context, span *trace.Span, organization int64, f func(db.Tx) error) error {
	if err := d.watch.look(); err != nil {
		return err
	}
	var err error
	for try := range engine.MaxTries {
		if err = engine.Pause(ctx, d.opts.Clock, try); err != nil {
			return err
		}
		if err = d.write.do(ctx, span, organization, f); !errors.Is(err, db.ErrConflict) {
			return err
		}
	}
	return err
}

// Writes reports whether the database accepts writes.
func (d *DB) Writes() db.Writes { return d.writes }

// Listen receives only messages of this process, because no other process changes the data.
func (d *DB) Listen(ctx context.Context, topic string, f func(string)) {
	defer d.bus.Subscribe(topic, f)()
	f("")
	<-ctx.Done()
}

// SubscribeLocal implements db.DB.
func (d *DB) SubscribeLocal(topic string, f func(string)) func() {
	return d.bus.Subscribe(topic, f)
}

func (d *DB) Ping(ctx context.Context) error {
	return d.Read(ctx, func(tx db.Tx) error {
		var one int
		return tx.QueryRow(ctx, "select 1").Scan(&one)
	})
}

func (d *DB) Close() error {
	if !d.gate.Close() {
		return nil
	}
	return d.closeAll()
}

// closeAll closes all connections. When the last one closes, SQLite copies the write-ahead log to
// the file.
func (d *DB) closeAll() error {
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
