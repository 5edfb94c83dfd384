package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kartei/kit/clock"
	"kartei/kit/trace"
	"kartei/store/db"
	"kartei/store/db/internal/engine"
	"kartei/store/db/sqlite/driver"
)

const (
	// maxGroup and maxGroupTime are the limits of a group commit, in operations and in time. They
	// limit the time that the first operation waits for the others. In a large group more writes
	// share a page, which is written once.
	maxGroup     = 128
	maxGroupTime = 100 * time.Millisecond
)

// writer is SQLite's only writer. It runs waiting operations one after the other and commits them
// as a group with one fsync. If an operation fails, only that operation is rolled back. Callers get
// their results after the commit. The writer does not wait for more operations to join, so a single
// operation is not delayed.
//
// Most failing operations have changed nothing. A savepoint for each operation would copy every
// page that it changes, which took 7 % of the writer's time. So groups begin without savepoints. If
// an operation fails after a change, the whole group is rolled back. The other operations then run
// again, as a Write does after a conflict, with savepoints.
type writer struct {
	conn    *driver.Conn
	log     *slog.Logger
	grouped func(writes int) // Options.Grouped
	logged  func(pages int)  // Options.Logged
	took    func()           // called after each commit that changed something
	bus     *engine.Bus
	// stated is Options.Stated.
	stated func(query string)
	queue  *queue
	alone  chan *engine.Operation
	stop   chan struct{}
	ended  chan struct{}

	// These fields describe the running group. Only the writer's goroutine uses them.
	group   []*engine.Operation
	refused []*engine.Operation // operations that failed, perhaps because of changes of the group
	careful bool                // each operation has a savepoint
	started time.Time
	changes int64 // total changes of the connection before the group
	commits atomic.Int64
	// reclaim says that the log must be truncated before the next write. It is true at the start,
	// because a killed process or a full disk may have left a long log. It becomes true again
	// whenever the disk is full.
	reclaim atomic.Bool
	reserve *reserve

	checkpoints    *driver.Conn
	checkpointNow  chan struct{}
	checkpointed   atomic.Int64 // pages of the log that are in the file
	counted        int          // pages of the log after the last commit
	restarts       atomic.Int64
	empties        atomic.Int64
	checkpointDone sync.WaitGroup
	// changed receives an element at the first change after a truncation of the log. full is true
	// from then on.
	changed chan struct{}
	full    atomic.Bool
	clock   clock.Clock
	// interruptLong interrupts reads that block the log for too long.
	interruptLong func()
}

func newWriter(
	conn, checkpoints *driver.Conn, reserve *reserve, opts db.Options, took func(), bus *engine.Bus, interruptLong func(),
) *writer {
	w := &writer{
		conn:          conn,
		log:           opts.Logger,
		stated:        opts.Stated,
		grouped:       opts.Grouped,
		logged:        opts.Logged,
		took:          took,
		bus:           bus,
		queue:         newQueue(opts.Queue),
		alone:         make(chan *engine.Operation),
		stop:          make(chan struct{}),
		ended:         make(chan struct{}),
		checkpoints:   checkpoints,
		reserve:       reserve,
		checkpointNow: make(chan struct{}, 1),
		changed:       make(chan struct{}, 1),
		clock:         opts.Clock,
		interruptLong: interruptLong,
	}
	conn.WatchLog()
	w.reclaim.Store(true)
	w.emptyLog()
	w.reserve.keep()
	w.checkpointDone.Add(1)
	go w.checkpointLoop()
	go w.loop()
	return w
}

// do runs f in a group, when it is the organization's turn. It returns after the commit.
func (w *writer) do(ctx context.Context, span *trace.Span, organization int64, f func(db.Tx) error) error {
	op := engine.NewOperation(f, span)
	if err := w.queue.join(organization, op); err != nil {
		return err
	}
	return op.Wait(ctx)
}

// doAlone runs f between two groups, outside of any transaction.
func (w *writer) doAlone(ctx context.Context, f func() error) error {
	op := engine.NewOperation(func(db.Tx) error { return f() }, nil)
	select {
	case w.alone <- op:
		return op.Wait(ctx)
	case <-w.stop:
		return db.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close stops the writer. No call may be running.
func (w *writer) close() error {
	close(w.stop)
	<-w.ended
	w.checkpointDone.Wait()
	return errors.Join(w.checkpoints.Close(), w.conn.Close())
}

// loop runs groups until close.
func (w *writer) loop() {
	// If a function called runtime.Goexit, as testing.T.FailNow does, it ended this goroutine. Then
	// a new goroutine takes over.
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
			if op.Start() {
				op.Finish(op.Call(nil))
			}
		case <-w.stop:
			finished = true
			close(w.ended)
			return
		}
	}
}

// runWaiting runs waiting operations until the group is full or no operation is waiting.
func (w *writer) runWaiting() {
	for len(w.group) == 0 || len(w.group) < maxGroup && time.Since(w.started) < maxGroupTime {
		op := w.queue.next()
		if op == nil {
			return
		}
		w.run(op)
	}
}

// run runs one operation inside the group's transaction.
func (w *writer) run(op *engine.Operation) {
	if !op.Start() {
		return
	}
	if err := w.begin(); err != nil {
		op.Finish(err)
		return
	}
	w.join(op)
}

// join runs an operation inside the group's transaction, and adds it to the group.
func (w *writer) join(op *engine.Operation) {
	tx := &transaction{conn: w.conn, write: true, stated: w.stated, bus: w.bus, span: op.Span}
	apart := w.careful && len(w.group) > 0
	if apart {
		if err := w.statement("savepoint operation"); err != nil {
			w.refused = append(w.refused, op)
			w.failGroup(err)
			return
		}
	}
	op.Span.Event(engine.BegunEvent)
	defer func() {
		if op.HasExited() {
			tx.finish()
			w.undo(op, tx.wrote, errors.New("db: the function ended its goroutine"))
		}
	}()
	err := op.Call(tx)
	if failure := tx.finish(); err == nil {
		err = failure
	}
	if err == nil && apart {
		err = w.statement("release operation")
	}
	if err != nil {
		w.undo(op, tx.wrote, err)
		return
	}
	op.Messages = tx.messages
	w.group = append(w.group, op)
}

// begin begins the group's transaction, if the group is empty.
func (w *writer) begin() error {
	if len(w.group) > 0 {
		return nil
	}
	w.emptyLog()
	w.started = time.Now()
	w.changes = w.conn.TotalChanges()
	return w.statement("begin immediate")
}

// isFull reports whether an error of SQLite means a full disk.
func isFull(err error) bool {
	var lite *driver.Error
	return errors.As(err, &lite) && (lite.Primary() == driver.Full || lite.Code == driver.NoRoomForIndex)
}

// noteFull sets reclaim if the cause is a full disk.
func (w *writer) noteFull(cause error) {
	if isFull(cause) {
		w.reclaim.Store(true)
	}
}

// undo rolls back a failed operation. The failure may result from changes of other operations in
// the group. For example, one of them may have deleted a record. So the caller gets the error after
// the commit of the group.
func (w *writer) undo(op *engine.Operation, wrote bool, cause error) {
	op.Err = cause
	w.noteFull(cause)
	if len(w.group) == 0 {
		if w.conn.InTransaction() {
			w.statement("rollback")
		}
		op.Finish(cause)
		return
	}
	w.refused = append(w.refused, op)
	var err error
	switch {
	case !w.conn.InTransaction():
		// SQLite has rolled back the whole transaction, because the disk is full or broken.
		err = cause
	case w.careful:
		if err = w.statement("rollback to operation"); err == nil {
			err = w.statement("release operation")
		}
	case wrote:
		err = w.repeatGroup()
	}
	if err != nil {
		w.failGroup(err)
	}
}

// repeatGroup rolls back the group and runs its operations again, each with a savepoint.
func (w *writer) repeatGroup() error {
	again := slices.Clone(w.group)
	if err := w.statement("rollback"); err != nil {
		return err
	}
	w.group, w.careful = w.group[:0], true
	for _, op := range again {
		if err := w.begin(); err != nil {
			op.Finish(err)
			continue
		}
		w.join(op)
	}
	return nil
}

// commit commits the group and returns the results to its callers.
func (w *writer) commit() {
	if len(w.group) == 0 {
		if w.conn.InTransaction() {
			w.statement("rollback")
		}
		w.answer(func(op *engine.Operation) error { return op.Err })
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
		w.countLog()
		w.noteChange()
	}
	for _, op := range w.group {
		w.bus.Send(op.Messages)
	}
	w.answer(func(op *engine.Operation) error { return op.Err })
	w.watchLog()
}

// answer returns the results to the callers of the group.
func (w *writer) answer(result func(*engine.Operation) error) {
	for _, list := range [][]*engine.Operation{w.group, w.refused} {
		for _, op := range list {
			op.Finish(result(op))
		}
		clear(list)
	}
	w.group, w.refused, w.careful = w.group[:0], w.refused[:0], false
}

// failGroup rolls back the whole group, and returns the error to all of its callers. None of them
// has a result yet.
func (w *writer) failGroup(cause error) {
	if w.conn.InTransaction() {
		w.statement("rollback")
	}
	w.noteFull(cause)
	cause = fmt.Errorf("db: nothing was stored, the commit failed: %w", cause)
	if !errors.Is(cause, db.ErrUnavailable) { // db.Writes reports ErrUnavailable
		w.log.Error("commit failed", "writes", len(w.group), "error", cause)
	}
	w.answer(func(*engine.Operation) error { return cause })
}

func (w *writer) statement(sql string) error {
	s, err := w.conn.Prepare(sql)
	if err != nil {
		return MapError(err)
	}
	defer s.Reset()
	_, err = s.Step()
	return MapError(err)
}
