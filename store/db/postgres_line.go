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
	// maxLineGroup bounds how many changes of one organization are committed
	// together, and with it how long the first of them waits for the others.
	maxLineGroup = 64
	// maxTicks is of how many organizations the last tick is kept.
	maxTicks = 10_000
)

// lines are the changes that wait, by organization. All changes of an
// organization hold its clock row until they are committed, so there is no
// use in running two at the same time: while one is under way the others wait
// here, and then go together. Who finds the line empty goes at once and waits
// for nobody.
type lines struct {
	mu sync.Mutex
	// waiting holds an entry for each organization that is being written to.
	waiting map[int64][]*operation
	ticks   map[int64]clock.Micros
}

// enter reports whether the caller may go at once; leave must follow then.
// Otherwise op has been put in line, or the line is full.
func (l *lines) enter(organization int64, op *operation, most int) (free bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, busy := l.waiting[organization]
	switch {
	case !busy:
		if l.waiting == nil {
			l.waiting = map[int64][]*operation{}
		}
		l.waiting[organization] = nil
		return true, nil
	case len(line) >= most:
		return false, fmt.Errorf("%w: %d writes are waiting", ErrBusy, len(line))
	}
	l.waiting[organization] = append(line, op)
	return false, nil
}

// take returns who goes next; none ends the line.
func (l *lines) take(organization int64) []*operation {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.waiting[organization]
	if len(line) == 0 {
		delete(l.waiting, organization)
		return nil
	}
	n := min(len(line), maxLineGroup)
	l.waiting[organization] = line[n:]
	return line[:n]
}

// last returns the last tick that is known of an organization; another replica
// may have given later ones.
func (l *lines) last(organization int64) clock.Micros {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ticks[organization]
}

func (l *lines) note(organization int64, tick clock.Micros) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ticks == nil || len(l.ticks) >= maxTicks {
		l.ticks = map[int64]clock.Micros{}
	}
	l.ticks[organization] = tick
}

func (d *pgDB) WriteIn(ctx context.Context, organization int64, f func(Tx) error) error {
	if !d.gate.enter() {
		return ErrClosed
	}
	defer d.gate.leave()
	span := d.opts.begin(ctx, writeSpan, "postgresql")
	err := d.writes.note(d.inLine(ctx, span, organization, f))
	endSpan(span, err)
	return err
}

// inLine carries out a change alone, or together with those that wait.
func (d *pgDB) inLine(ctx context.Context, span *trace.Span, organization int64, f func(Tx) error) error {
	op := &operation{f: f, span: span, done: make(chan struct{})}
	free, err := d.lines.enter(organization, op, d.opts.Line)
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
func (d *pgDB) writeIn(ctx context.Context, span *trace.Span, organization int64, optimistic bool, f func(Tx) error) error {
	err := d.write(ctx, span, organization, optimistic, f)
	if err == nil {
		d.opts.Grouped(1)
	}
	return err
}

// errAlone is what an operation of a group is told that shall be tried again
// outside of it.
var errAlone = errors.New("db: to be tried alone")

// leave lets those go who came meanwhile.
func (d *pgDB) leave(organization int64) {
	if group := d.lines.take(organization); group != nil {
		go d.serve(organization, group)
	}
}

// serve runs groups until nobody waits.
func (d *pgDB) serve(organization int64, group []*operation) {
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
		d.together(organization, group)
		answered = true
		group = d.lines.take(organization)
	}
}

// together carries out the operations of a group and answers each after the
// commit: first supposing, which takes one round trip where they only queue
// statements; where that failed each in a savepoint, asking. What lost a race
// there is told to try alone.
func (d *pgDB) together(organization int64, group []*operation) {
	running := make([]*operation, 0, len(group))
	for _, op := range group {
		if op.state.CompareAndSwap(opWaiting, opRunning) { // else its caller has gone
			running = append(running, op)
		}
	}
	ctx := context.Background() // of no one caller
	again, err := d.supposing(ctx, organization, running)
	if again {
		again, err = d.asking(ctx, organization, running)
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

// supposing runs the group in an optimistic transaction. again is true where
// nothing was stored and another attempt may end otherwise.
func (d *pgDB) supposing(ctx context.Context, organization int64, group []*operation) (again bool, err error) {
	tx, end, err := d.begin(ctx, organization, true, 0)
	if err != nil {
		return false, err
	}
	defer end()
	for _, op := range group {
		waiting, told := len(tx.pending), len(tx.told)
		tx.supposed = false
		tx.begins(op)
		op.err = op.call(tx)
		if op.err != nil && (tx.err != nil || tx.supposed || tx.expecting || len(tx.pending) != waiting) {
			return tx.mayGoAlone(op.err), op.err
		}
		if op.err != nil {
			tx.told = tx.told[:told]
		}
	}
	tx.ends(group)
	if err := tx.commit(); err != nil {
		return tx.mayGoAlone(err), err
	}
	d.lines.note(organization, tx.tick)
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

// asking runs the group in one transaction, each operation in a savepoint to
// which it is undone where it fails.
func (d *pgDB) asking(ctx context.Context, organization int64, group []*operation) (again bool, err error) {
	tx, end, err := d.begin(ctx, organization, false, 0)
	if err != nil {
		return false, err
	}
	defer end()
	for _, op := range group {
		tick, told := tx.tick, len(tx.told)
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
		tx.tick, tx.told = tick, tx.told[:told]
	}
	tx.ends(group)
	if err := tx.commit(); err != nil {
		return tx.mayGoAlone(err), err
	}
	d.lines.note(organization, tx.tick)
	return false, nil
}
