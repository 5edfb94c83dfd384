package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"kartei/kit/clock"
	"kartei/kit/trace"
	"kartei/store/db"
	"kartei/store/db/internal/engine"
)

const (
	// maxQueueGroup is the maximum number of changes in a group commit. So the first change does
	// not wait long for the others.
	maxQueueGroup = 64
	// maxTicks is the maximum number of organizations whose last tick is cached.
	maxTicks = 10_000
)

// queues contains the waiting changes of each organization. Each change locks the clock row of its
// organization until the commit, so concurrent changes would only wait for each other. While a
// change runs, further changes wait here. They are then committed together. A change runs at once
// if no other change of its organization runs.
type queues struct {
	mu sync.Mutex
	// waiting has an entry for each organization with a running change.
	waiting map[int64][]*engine.Operation
	ticks   map[int64]clock.Micros
}

// enter returns true if the caller can run its change at once. The caller then calls leave.
// Otherwise enter adds op to the queue, or fails if the queue is full.
func (q *queues) enter(organization int64, op *engine.Operation, limit int) (free bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue, busy := q.waiting[organization]
	switch {
	case !busy:
		if q.waiting == nil {
			q.waiting = map[int64][]*engine.Operation{}
		}
		q.waiting[organization] = nil
		return true, nil
	case len(queue) >= limit:
		return false, fmt.Errorf("%w: %d writes are waiting", db.ErrBusy, len(queue))
	}
	q.waiting[organization] = append(queue, op)
	return false, nil
}

// next returns the next group of changes. If the queue is empty, it removes the queue and returns
// nil.
func (q *queues) next(organization int64) []*engine.Operation {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue := q.waiting[organization]
	if len(queue) == 0 {
		delete(q.waiting, organization)
		return nil
	}
	n := min(len(queue), maxQueueGroup)
	q.waiting[organization] = queue[n:]
	return queue[:n]
}

// lastTick returns the last known tick of an organization, or 0. Another replica may have taken
// later ticks.
func (q *queues) lastTick(organization int64) clock.Micros {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ticks[organization]
}

func (q *queues) noteTick(organization int64, tick clock.Micros) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ticks == nil || len(q.ticks) >= maxTicks {
		q.ticks = map[int64]clock.Micros{}
	}
	q.ticks[organization] = tick
}

func (d *DB) WriteIn(ctx context.Context, organization int64, f func(db.Tx) error) error {
	if !d.gate.Enter() {
		return db.ErrClosed
	}
	defer d.gate.Leave()
	span := engine.BeginSpan(ctx, &d.opts, engine.WriteSpan, "postgresql")
	err := d.writes.Note(d.inQueue(ctx, span, organization, f))
	engine.EndSpan(span, err)
	return err
}

// inQueue runs a change at once, or in a group with other waiting changes.
func (d *DB) inQueue(ctx context.Context, span *trace.Span, organization int64, f func(db.Tx) error) error {
	op := engine.NewOperation(f, span)
	free, err := d.queues.enter(organization, op, d.opts.Queue)
	switch {
	case err != nil:
		return err
	case free:
		defer d.leave(organization)
		return d.writeIn(ctx, span, organization, true, f)
	}
	patience, cancel := context.WithTimeout(ctx, d.opts.Wait)
	defer cancel()
	err = op.Wait(patience)
	switch {
	case err == errAlone:
		return d.writeIn(ctx, span, organization, false, f)
	case op.IsGivenUp() && ctx.Err() == nil:
		return fmt.Errorf("%w: other calls write to the same organization", db.ErrBusy)
	}
	return err
}

// writeIn runs one change that is not in a group.
func (d *DB) writeIn(
	ctx context.Context, span *trace.Span, organization int64, speculative bool, f func(db.Tx) error,
) error {
	err := d.write(ctx, span, organization, speculative, f)
	if err != nil {
		return err
	}
	d.opts.Grouped(1)
	return nil
}

// errAlone is the result of an operation in a group that must be tried again without the group.
var errAlone = errors.New("db: to be tried alone")

// leave starts the changes that arrived during the caller's change.
func (d *DB) leave(organization int64) {
	if group := d.queues.next(organization); group != nil {
		go d.runGroups(organization, group)
	}
}

// runGroups runs groups until no change is waiting.
func (d *DB) runGroups(organization int64, group []*engine.Operation) {
	answered := false
	defer func() {
		if answered {
			return
		}
		// A function called runtime.Goexit, for example by testing.T.FailNow. This ends the current
		// goroutine too. The transaction was rolled back.
		for _, op := range group {
			if op.IsRunning() {
				op.Finish(errAlone)
			}
		}
		d.leave(organization)
	}()
	for group != nil {
		answered = false
		d.runGroup(organization, group)
		answered = true
		group = d.queues.next(organization)
	}
}

// runGroup runs the operations of a group, and returns their results after the commit. It first
// speculates, which takes one round trip if the operations only queue statements. If that fails,
// each operation runs in a savepoint and queries. An operation that then loses a race is tried
// again alone.
func (d *DB) runGroup(organization int64, group []*engine.Operation) {
	running := make([]*engine.Operation, 0, len(group))
	for _, op := range group {
		if op.Start() {
			running = append(running, op)
		}
	}
	ctx := context.Background() // not the context of one of the callers
	again, err := d.speculate(ctx, organization, running)
	if again {
		again, err = d.runInSavepoints(ctx, organization, running)
	}
	if !again && err == nil {
		d.opts.Grouped(len(running))
	}
	for _, op := range running {
		switch {
		case again || err == nil && errors.Is(op.Err, db.ErrConflict):
			op.Finish(errAlone)
		case err != nil:
			op.Finish(err)
		default:
			op.Finish(op.Err)
		}
	}
}

// speculate runs the group in a speculative transaction. again is true if
// nothing was stored and another attempt may have a different result.
func (d *DB) speculate(ctx context.Context, organization int64, group []*engine.Operation) (again bool, err error) {
	tx, end, err := d.begin(ctx, organization, true, 0)
	if err != nil {
		return false, err
	}
	defer end()
	for _, op := range group {
		waiting, sent := len(tx.pending), len(tx.messages)
		tx.assumed = false
		tx.begins(op)
		op.Err = op.Call(tx)
		if op.Err != nil && (tx.err != nil || tx.assumed || tx.expecting || len(tx.pending) != waiting) {
			return tx.mayGoAlone(op.Err), op.Err
		}
		if op.Err != nil {
			tx.messages = tx.messages[:sent]
		}
	}
	tx.ends(group)
	if err := tx.commit(); err != nil {
		return tx.mayGoAlone(err), err
	}
	d.queues.noteTick(organization, tx.tick)
	return false, nil
}

// mayGoAlone reports whether the operations of a group that failed with err may succeed alone.
func (t *transaction) mayGoAlone(err error) bool { return t.lost(err) || !hopeless(err) }

// hopeless reports whether an error is a failure of the server. Then all other operations would
// fail too.
func hopeless(err error) bool {
	return errors.Is(err, db.ErrUnavailable) || errors.Is(err, db.ErrUnknownOutcome) || errors.Is(err, db.ErrBusy)
}

// These statements begin and end an operation of a group in runInSavepoints. Each savepoint is
// released. So a rollback does not find the savepoint of an earlier operation.
const (
	savepoint        = "savepoint operation"
	releaseSavepoint = "release savepoint operation"
)

// runInSavepoints runs the group in one transaction. Each operation has a savepoint, to which a
// failed operation is rolled back.
func (d *DB) runInSavepoints(ctx context.Context, organization int64, group []*engine.Operation) (again bool, err error) {
	tx, end, err := d.begin(ctx, organization, false, 0)
	if err != nil {
		return false, err
	}
	defer end()
	for _, op := range group {
		tick, sent := tx.tick, len(tx.messages)
		tx.begins(op)
		tx.Queue(savepoint)
		if op.Err = op.Call(tx); op.Err == nil {
			tx.Queue(releaseSavepoint)
			op.Err = tx.flush()
		}
		if op.Err == nil {
			continue
		}
		if err := tx.err; err != nil && hopeless(err) {
			return tx.lost(err), err
		}
		if err := tx.undo(); err != nil {
			return tx.mayGoAlone(err), err
		}
		tx.tick, tx.messages = tick, tx.messages[:sent]
	}
	tx.ends(group)
	if err := tx.commit(); err != nil {
		return tx.mayGoAlone(err), err
	}
	d.queues.noteTick(organization, tx.tick)
	return false, nil
}

// begins makes the following statements part of an operation's span.
func (t *transaction) begins(op *engine.Operation) {
	t.span = op.Span
	op.Span.Event(engine.BegunEvent)
}

// ends makes the shared commit part of the first traced operation's span.
func (t *transaction) ends(group []*engine.Operation) {
	for _, op := range group {
		if t.span = op.Span; t.span != nil {
			return
		}
	}
}
