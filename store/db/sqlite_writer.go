package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"kartei/kit/clock"
	"kartei/kit/trace"
	"kartei/store/db/sqlite"
)

const (
	// maxGroup and maxGroupTime bound how long the first of a group waits for
	// those that join it, and with it the latency under load. The larger a
	// group, the more of its writes share a page, which is written once.
	maxGroup     = 128
	maxGroupTime = 100 * time.Millisecond

	// checkpointPages is how much the write-ahead log grows (4 KiB a page)
	// before it is copied into the file: a page that was written many times
	// since is copied once. 4,000 is what the log's index finds in one step.
	checkpointPages = 4000
	// restartPages is the size at which the writer stands still for a moment
	// so that the log begins anew: without that a log that is written without
	// pause would grow without end.
	restartPages = 4 * checkpointPages

	// What was erased stands in the log, and in the file as long as the log is not
	// written back. So the log is emptied emptyAfter the first change that it
	// holds. If readers are in the way, it is tried again, at most emptyRetry
	// later, and a read that was in the way for longestRead is ended: PostgreSQL
	// bounds statements alike. Readers that begin once all is written back need
	// no log. So a log is empty 50 seconds after a change, whatever is read:
	// emptyAfter, twice longestRead, and two retries between. A backup is not
	// ended: it holds what the log holds.
	emptyAfter  = 15 * time.Second
	emptyRetry  = 5 * time.Second
	longestRead = 10 * time.Second
	// emptyWait is how long the writer waits for the last readers, which is
	// what each try may cost those who write.
	emptyWait = 50 * time.Millisecond
	// emptyLate is when the operator is told that the log could not be emptied.
	emptyLate = time.Minute
)

// liteWriter is SQLite's only writer. It runs the operations that wait one
// after the other, each undone alone if it fails, and commits them together:
// one fsync for all. Nobody is answered before that commit. It never waits for
// others to join, so a lone operation is not delayed.
type liteWriter struct {
	conn    *sqlite.Conn
	log     *slog.Logger
	grouped func(writes int) // Options.Grouped
	took    func()           // is called after each commit that changed something
	bus     *bus
	// stated is Options.Stated.
	stated func(query string)
	queue  *liteQueue
	alone  chan *operation
	stop   chan struct{}
	ended  chan struct{}

	// The group that is running. Only the writer's goroutine touches these.
	group   []*operation
	refused []*operation // failed after others of the group had changed something
	started time.Time
	changes int64 // of the connection before the group
	commits atomic.Int64
	// reclaim is set while the log is to be emptied before the next write is
	// tried: from the start, since a process that was killed or met a full disk
	// has left it long, and again whenever the disk is full.
	reclaim bool

	checkpoints    *sqlite.Conn
	checkpointNow  chan struct{}
	checkpointed   atomic.Int64 // pages of the log that are in the file
	restarts       atomic.Int64
	empties        atomic.Int64
	checkpointDone sync.WaitGroup
	// changed is sent to by the first change after the log was emptied; full says
	// that there was one.
	changed chan struct{}
	full    atomic.Bool
	clock   clock.Clock
	// interruptLong ends reads that take too long.
	interruptLong func()
}

func newLiteWriter(conn, checkpoints *sqlite.Conn, opts Options, took func(), bus *bus, interruptLong func()) *liteWriter {
	w := &liteWriter{
		conn:          conn,
		log:           opts.Logger,
		stated:        opts.Stated,
		grouped:       opts.Grouped,
		took:          took,
		bus:           bus,
		queue:         newLiteQueue(opts.Queue),
		alone:         make(chan *operation),
		stop:          make(chan struct{}),
		ended:         make(chan struct{}),
		checkpoints:   checkpoints,
		checkpointNow: make(chan struct{}, 1),
		reclaim:       true,
		changed:       make(chan struct{}, 1),
		clock:         opts.Clock,
		interruptLong: interruptLong,
	}
	conn.WatchLog()
	w.emptyLog()
	w.checkpointDone.Add(1)
	go w.checkpointLoop()
	go w.loop()
	return w
}

// do runs f in a group, when it is the organization's turn, and returns after the
// commit.
func (w *liteWriter) do(ctx context.Context, span *trace.Span, organization int64, f func(Tx) error) error {
	op := &operation{f: f, span: span, done: make(chan struct{})}
	if err := w.queue.join(organization, op); err != nil {
		return err
	}
	return op.wait(ctx)
}

// doAlone runs f between two groups, outside any transaction.
func (w *liteWriter) doAlone(ctx context.Context, f func(*sqlite.Conn) error) error {
	op := &operation{alone: f, done: make(chan struct{})}
	select {
	case w.alone <- op:
		return op.wait(ctx)
	case <-w.stop:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close stops the writer. No call may be running.
func (w *liteWriter) close() error {
	close(w.stop)
	<-w.ended
	w.checkpointDone.Wait()
	return errors.Join(w.checkpoints.Close(), w.conn.Close())
}

// loop runs groups until close.
func (w *liteWriter) loop() {
	// A function that ended its goroutine (runtime.Goexit, as testing.T.FailNow
	// does) took this one with it: another continues where it stood.
	finished := false
	defer func() {
		if !finished {
			go w.loop()
		}
	}()
	w.commit()
	for {
		select {
		case <-w.queue.ready:
			w.runWaiting()
			w.commit()
		case op := <-w.alone:
			if op.state.CompareAndSwap(opWaiting, opRunning) {
				op.err = op.alone(w.conn)
				close(op.done)
			}
		case <-w.stop:
			finished = true
			close(w.ended)
			return
		}
	}
}

// runWaiting runs a group of those who wait.
func (w *liteWriter) runWaiting() {
	for len(w.group) == 0 || len(w.group) < maxGroup && time.Since(w.started) < maxGroupTime {
		op := w.queue.next()
		if op == nil {
			return
		}
		w.run(op)
	}
}

// run runs one operation inside the group's transaction.
func (w *liteWriter) run(op *operation) {
	if !op.state.CompareAndSwap(opWaiting, opRunning) {
		return // its caller has gone
	}
	joins, err := w.begin()
	if err != nil {
		op.finish(err)
		return
	}
	tx := &liteTx{conn: w.conn, write: true, stated: w.stated, bus: w.bus, span: op.span}
	op.span.Event(begunEvent)
	defer func() {
		if op.exited {
			tx.finish()
			w.undo(op, errors.New("db: the function ended its goroutine"))
		}
	}()
	err = op.call(tx)
	if failure := tx.finish(); err == nil {
		err = failure
	}
	if err == nil && joins {
		err = w.statement("release operation")
	}
	if err != nil {
		w.undo(op, err)
		return
	}
	op.messages = tx.messages
	w.group = append(w.group, op)
}

// begin opens the group's transaction, or a savepoint in it where others are
// in the group already.
func (w *liteWriter) begin() (joins bool, err error) {
	if len(w.group) > 0 {
		return true, w.statement("savepoint operation")
	}
	w.emptyLog()
	w.started = time.Now()
	w.changes = w.conn.TotalChanges()
	return false, w.statement("begin immediate")
}

// emptyLog copies the log into the file and cuts it off, where that is due.
// On a full disk the log may hold all the room that there was; tried first, it
// takes the first megabyte that is freed, which a write would add to the log,
// and gives back up to 64. Where a long read is in the way, most of the log is
// in the file now and is written anew once the read has ended.
func (w *liteWriter) emptyLog() {
	if !w.reclaim {
		return
	}
	_, _, err := w.conn.Checkpoint(sqlite.Truncate)
	if w.reclaim = isFull(err); !w.reclaim {
		w.checkpointed.Store(0)
	}
}

// isFull reports whether SQLite found no room on the disk.
func isFull(err error) bool {
	var lite *sqlite.Error
	return errors.As(err, &lite) && (lite.Primary() == sqlite.Full || lite.Code == sqlite.NoRoomForIndex)
}

// undo takes back what a failed operation did, and nothing else. Where others
// of the group have changed something, it may have failed because of that (a
// record that one of them deleted), so it is told after their commit.
func (w *liteWriter) undo(op *operation, cause error) {
	op.err = cause
	w.reclaim = w.reclaim || isFull(cause)
	if len(w.group) == 0 {
		defer op.finish(cause)
	} else {
		w.refused = append(w.refused, op)
	}
	var err error
	switch {
	case !w.conn.InTransaction():
		// SQLite rolled back everything: the disk is full or broken.
		err = cause
	case len(w.group) == 0:
		err = w.statement("rollback")
	default:
		if err = w.statement("rollback to operation"); err == nil {
			err = w.statement("release operation")
		}
	}
	if err != nil && len(w.group) > 0 {
		w.failGroup(err)
	}
}

// commit ends the group and answers its callers.
func (w *liteWriter) commit() {
	if len(w.group) == 0 {
		if w.conn.InTransaction() {
			w.statement("rollback")
		}
		return
	}
	if err := w.statement("commit"); err != nil {
		w.failGroup(err)
		return
	}
	w.commits.Add(1)
	w.grouped(len(w.group))
	if w.conn.TotalChanges() != w.changes {
		w.took()
		w.noteChange()
	}
	for _, op := range w.group {
		w.bus.send(op.messages)
	}
	w.answer(func(op *operation) error { return op.err })
	w.watchLog()
}

// answer tells everyone in the group what became of their operation.
func (w *liteWriter) answer(result func(*operation) error) {
	for _, list := range [][]*operation{w.group, w.refused} {
		for _, op := range list {
			op.finish(result(op))
		}
		clear(list)
	}
	w.group, w.refused = w.group[:0], w.refused[:0]
}

// failGroup takes back the whole group. Nobody in it was answered yet, nor was
// who failed because of what it did.
func (w *liteWriter) failGroup(cause error) {
	if w.conn.InTransaction() {
		w.statement("rollback")
	}
	w.reclaim = w.reclaim || isFull(cause)
	cause = fmt.Errorf("db: nothing was stored, the commit failed: %w", cause)
	if !errors.Is(cause, ErrUnavailable) { // of that Writes tells
		w.log.Error("commit failed", "writes", len(w.group), "error", cause)
	}
	w.answer(func(*operation) error { return cause })
}

func (w *liteWriter) statement(sql string) error {
	s, err := w.conn.Prepare(sql)
	if err != nil {
		return mapError(err)
	}
	defer s.Reset()
	_, err = s.Step()
	return mapError(err)
}

// watchLog has the log copied once it has grown enough.
func (w *liteWriter) watchLog() {
	pages := int64(w.conn.LogPages())
	done := w.checkpointed.Load()
	if pages < done {
		// The log has begun anew.
		w.checkpointed.Store(0)
		done = 0
	}
	if pages-done < checkpointPages {
		return
	}
	select {
	case w.checkpointNow <- struct{}{}:
	default:
	}
}

// noteChange has the log emptied within the time that is promised.
func (w *liteWriter) noteChange() {
	if !w.full.Load() && w.full.CompareAndSwap(false, true) {
		w.changed <- struct{}{} // there is room: full is cleared after it was taken
	}
}

// checkpointLoop copies the write-ahead log into the file beside the writer:
// done by the writer itself, as SQLite would, a commit in some hundred would
// wait for two more fsyncs and the copying. And it empties the log some time
// after a change, so that nothing that was erased stays in it.
func (w *liteWriter) checkpointLoop() {
	defer w.checkpointDone.Done()
	var due <-chan time.Time
	var e emptying
	for {
		select {
		case <-w.stop:
			return
		case <-w.checkpointNow:
			if log, ok := w.copyLog(); ok && log >= restartPages {
				w.restartLog()
			}
		case <-w.changed:
			e = emptying{since: w.clock.Now()}
			due = w.clock.After(emptyAfter)
		case <-due:
			due = nil
			if !w.tryEmpty() {
				due = w.clock.After(e.again(w))
			}
		}
	}
}

// emptying is the state of a log that must be emptied.
type emptying struct {
	since time.Time // of the first change
	wait  time.Duration
	told  bool
}

// again returns when to try again to empty the log.
func (e *emptying) again(w *liteWriter) time.Duration {
	if late := w.clock.Now().Sub(e.since); late >= emptyLate && !e.told {
		e.told = true
		w.log.Warn("the write-ahead log cannot be emptied, and may hold what was erased: a backup or another program reads the database", "since", late.String())
	}
	e.wait = min(max(2*e.wait, time.Second), emptyRetry)
	return e.wait
}

// copyLog copies the log as far as nobody has to wait for it, and returns the
// pages in it.
func (w *liteWriter) copyLog() (log int, ok bool) {
	log, done, err := w.checkpoints.Checkpoint(sqlite.Passive)
	if err != nil {
		if !isFull(err) { // of that Writes tells
			w.log.Warn("checkpoint failed", "error", err)
		}
		return 0, false
	}
	w.checkpointed.Store(int64(done))
	return log, true
}

// tryEmpty copies the log into the file and cuts it off, and reports whether it
// did. Most is copied beside the writer, which then waits for the rest and, for
// a moment, for readers of the log.
func (w *liteWriter) tryEmpty() bool {
	if log, ok := w.copyLog(); !ok || int64(log) > w.checkpointed.Load() {
		w.interruptLong()
		return false
	}
	err := w.doAlone(context.Background(), func(conn *sqlite.Conn) error {
		conn.BusyTimeout(emptyWait)
		defer conn.BusyTimeout(busyTimeout)
		_, _, err := conn.Checkpoint(sqlite.Truncate)
		if err == nil {
			w.checkpointed.Store(0)
			w.full.Store(false)
		}
		return err
	})
	var lite *sqlite.Error
	switch {
	case err == nil:
		w.empties.Add(1)
		return true
	case errors.As(err, &lite) && lite.Primary() == sqlite.Busy:
		w.interruptLong()
	case !errors.Is(err, ErrClosed) && !isFull(err):
		w.log.Warn("the write-ahead log was not emptied", "error", err)
	}
	return false
}

// restartLog has the writer stand still while the rest of the log is copied
// and the last readers of it finish.
func (w *liteWriter) restartLog() {
	err := w.doAlone(context.Background(), func(conn *sqlite.Conn) error {
		_, _, err := conn.Checkpoint(sqlite.Restart)
		select {
		case <-w.checkpointNow: // asked for before, and done now
		default:
		}
		return err
	})
	switch {
	case err == nil:
		w.restarts.Add(1)
	case !errors.Is(err, ErrClosed):
		w.log.Warn("write-ahead log goes on growing", "error", err)
	}
}
