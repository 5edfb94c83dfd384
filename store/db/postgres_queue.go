package db

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"kartei/kit/clock"
	"kartei/kit/trace"
)

const (
	// maxQueueGroup bounds how many changes of one organization are committed
	// together, and with it how long the first of them waits for the others.
	maxQueueGroup = 64
	// maxTicks is of how many organizations the last tick is kept.
	maxTicks = 10_000
)

// queues are the changes that wait, by organization. All changes of an
// organization hold its clock row until their commit, so running two at the same
// time has no use. While one runs, the others wait here, and are then committed
// together. A change that finds no other one runs at once.
type queues struct {
	mu sync.Mutex
	// waiting holds an entry for each organization that is being written to.
	waiting map[int64][]*operation
	ticks   map[int64]clock.Micros
}

// enter reports whether the caller may go at once; leave must follow then.
// Otherwise op waits in the queue, or the queue is full.
func (q *queues) enter(organization int64, op *operation, most int) (free bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	queue, busy := q.waiting[organization]
	switch {
	case !busy:
		if q.waiting == nil {
			q.waiting = map[int64][]*operation{}
		}
		q.waiting[organization] = nil
		return true, nil
	case len(queue) >= most:
		return false, fmt.Errorf("%w: %d writes are waiting", ErrBusy, len(queue))
	}
	q.waiting[organization] = append(queue, op)
	return false, nil
}

// next returns the group that runs next. The queue ends with none.
func (q *queues) next(organization int64) []*operation {
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

// last returns the last tick that is known of an organization; another replica
// may have given later ones.
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

func (d *pgDB) WriteIn(ctx context.Context, organization int64, f func(Tx) error) error {
	if !d.gate.enter() {
		return ErrClosed
	}
	defer d.gate.leave()
	span := d.opts.begin(ctx, writeSpan, "postgresql")
	err := d.writes.note(d.inQueue(ctx, span, organization, f))
	endSpan(span, err)
	return err
}

// inQueue carries out a change alone, or together with those that wait.
func (d *pgDB) inQueue(ctx context.Context, span *trace.Span, organization int64, f func(Tx) error) error {
	op := &operation{f: f, span: span, done: make(chan struct{})}
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
	err = op.wait(patience)
	switch {
	case err == errAlone:
		return d.writeIn(ctx, span, organization, false, f)
	case op.state.Load() == opGivenUp && ctx.Err() == nil:
		return fmt.Errorf("%w: others write to the same organization", ErrBusy)
	}
	return err
}

// writeIn carries out one change alone.
func (d *pgDB) writeIn(ctx context.Context, span *trace.Span, organization int64, speculative bool, f func(Tx) error) error {
	err := d.write(ctx, span, organization, speculative, f)
	if err == nil {
		d.opts.Grouped(1)
	}
	return err
}

// errAlone tells an operation of a group to try again outside of it.
var errAlone = errors.New("db: to be tried alone")

// leave runs the changes that came meanwhile.
func (d *pgDB) leave(organization int64) {
	if group := d.queues.next(organization); group != nil {
		go d.runGroups(organization, group)
	}
}

// runGroups runs groups until no change waits.
func (d *pgDB) runGroups(organization int64, group []*operation) {
	answered := false
	defer func() {
		if answered {
			return
		}
		// A function ended its goroutine, and this one with it (runtime.Goexit,
		// as testing.T.FailNow does). Its transaction was rolled back.
		for _, op := range group {
			if op.state.Load() == opRunning {
				op.finish(errAlone)
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

// runGroup carries out the operations of a group and answers each after the
// commit. It first speculates, which takes one round trip if the operations only
// queue statements. If that fails, each runs in a savepoint and asks. One that
// loses a race there tries again alone.
func (d *pgDB) runGroup(organization int64, group []*operation) {
	running := make([]*operation, 0, len(group))
	for _, op := range group {
		if op.state.CompareAndSwap(opWaiting, opRunning) { // else its caller has gone
			running = append(running, op)
		}
	}
	ctx := context.Background() // of no one caller
	again, err := d.speculate(ctx, organization, running)
	if again {
		again, err = d.runInSavepoints(ctx, organization, running)
	}
	if !again && err == nil {
		d.opts.Grouped(len(running))
	}
	for _, op := range running {
		switch {
		case again || err == nil && errors.Is(op.err, ErrConflict):
			op.finish(errAlone)
		case err != nil:
			op.finish(err)
		default:
			op.finish(op.err)
		}
	}
}

// speculate runs the group in a speculative transaction. again is true if nothing
// was stored and another attempt may end otherwise.
func (d *pgDB) speculate(ctx context.Context, organization int64, group []*operation) (again bool, err error) {
	tx, end, err := d.begin(ctx, organization, true, 0)
	if err != nil {
		return false, err
	}
	defer end()
	for _, op := range group {
		waiting, sent := len(tx.pending), len(tx.messages)
		tx.assumed = false
		tx.begins(op)
		op.err = op.call(tx)
		if op.err != nil && (tx.err != nil || tx.assumed || tx.expecting || len(tx.pending) != waiting) {
			return tx.mayGoAlone(op.err), op.err
		}
		if op.err != nil {
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

// mayGoAlone reports whether the members of a group that failed with err may
// still succeed.
func (t *pgTx) mayGoAlone(err error) bool { return t.lost(err) || !hopeless(err) }

// hopeless reports whether an error is the server's and not an operation's:
// all others would meet it too.
func hopeless(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnknownOutcome) || errors.Is(err, ErrBusy)
}

// An operation of a group that asks begins and ends with these. Since each is
// released, there is never another one that could be rolled back to.
const (
	savepoint        = "savepoint operation"
	releaseSavepoint = "release savepoint operation"
)

// runInSavepoints runs the group in one transaction, each operation in a savepoint to
// which it is undone where it fails.
func (d *pgDB) runInSavepoints(ctx context.Context, organization int64, group []*operation) (again bool, err error) {
	tx, end, err := d.begin(ctx, organization, false, 0)
	if err != nil {
		return false, err
	}
	defer end()
	for _, op := range group {
		tick, sent := tx.tick, len(tx.messages)
		tx.begins(op)
		tx.Queue(savepoint)
		if op.err = op.call(tx); op.err == nil {
			tx.Queue(releaseSavepoint)
			op.err = tx.flush()
		}
		if op.err == nil {
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
