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
	// maxGroup and maxGroupTime bound the time that the first operation of a
	// group waits for the others, and so the latency under load. In a larger
	// group more writes share a page, which is written once.
	maxGroup     = 128
	maxGroupTime = 100 * time.Millisecond
)

// writer is SQLite's only writer. It runs waiting operations one after the
// other, undoes a failed one alone, and commits the group with one fsync. No
// caller gets an answer before that commit. The writer never waits for more
// operations to join, so a single operation is not delayed.
//
// Most operations that fail have changed nothing, and there is nothing to undo. A
// savepoint for each operation would copy every page that it changes, at 7 % of the
// writer's time. So the first operation of a group that fails after a change undoes the
// whole group. The others run again, as a Write does after a conflict, with savepoints
// from then on.
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

	// The running group. Only the writer's goroutine uses these fields.
	group   []*engine.Operation
	refused []*engine.Operation // failed after others of the group had changed something
	careful bool                // each operation has a savepoint
	started time.Time
	changes int64 // of the connection, before the group
	commits atomic.Int64
	// reclaim is true if the log must be emptied before the next write. It is
	// true at the start, because a killed process or a full disk may have left
	// a long log. It becomes true again whenever the disk is full.
	reclaim atomic.Bool
	reserve *reserve

	checkpoints    *driver.Conn
	checkpointNow  chan struct{}
	checkpointed   atomic.Int64 // pages of the log that are in the file
	counted        int          // pages of the log after the last commit
	restarts       atomic.Int64
	empties        atomic.Int64
	checkpointDone sync.WaitGroup
	// changed receives an element at the first change after the log was
	// emptied. full is true from then on.
	changed chan struct{}
	full    atomic.Bool
	clock   clock.Clock
	// interruptLong interrupts reads that take too long.
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

// do runs f in a group, at the organization's turn, and returns after the
// commit.
func (w *writer) do(ctx context.Context, span *trace.Span, organization int64, f func(db.Tx) error) error {
	op := engine.NewOperation(f, span)
	if err := w.queue.join(organization, op); err != nil {
		return err
	}
	return op.Wait(ctx)
}

// doAlone runs f between two groups, outside any transaction.
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

// close stops the writer. No call may be in progress.
func (w *writer) close() error {
	close(w.stop)
	<-w.ended
	w.checkpointDone.Wait()
	return errors.Join(w.checkpoints.Close(), w.conn.Close())
}

// loop runs groups until close.
func (w *writer) loop() {
	// A function that ended its goroutine (runtime.Goexit, as testing.T.FailNow
	// does) ended this one. Another one takes over.
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

// runWaiting runs a group of waiting operations.
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

// begin opens the group's transaction, unless the group has members already.
func (w *writer) begin() error {
	if len(w.group) > 0 {
		return nil
	}
	w.emptyLog()
	w.started = time.Now()
	w.changes = w.conn.TotalChanges()
	return w.statement("begin immediate")
}

// isFull reports whether SQLite found no room on the disk.
func isFull(err error) bool {
	var lite *driver.Error
	return errors.As(err, &lite) && (lite.Primary() == driver.Full || lite.Code == driver.NoRoomForIndex)
}

// noteFull remembers a full disk.
func (w *writer) noteFull(cause error) {
	if isFull(cause) {
		w.reclaim.Store(true)
	}
}

// undo undoes a failed operation alone. If others of the group have changed
// something, the failure may result from that: one of them may have deleted its
// record. So its caller gets the error after their commit.
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
		// SQLite rolled back the whole transaction: the disk is full or broken.
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

// repeatGroup undoes the group and runs its operations again, each with a savepoint.
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

// commit ends the group and answers its callers.
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

// failGroup rolls back the whole group. No caller in it has an answer yet, not
// even those whose operations failed.
func (w *writer) failGroup(cause error) {
	if w.conn.InTransaction() {
		w.statement("rollback")
	}
	w.noteFull(cause)
	cause = fmt.Errorf("db: nothing was stored, the commit failed: %w", cause)
	if !errors.Is(cause, db.ErrUnavailable) { // Writes reports that
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
