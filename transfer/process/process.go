// Package process owns what long acts have in common: a row that a job takes on step by step, in short transactions.
//
// The row says in which state an act is and how far it came. Each transaction of the job
// also stores the row, so a process may die at any time: nothing is done twice and
// nothing is left out. Between transactions the job pauses, and after some minutes it
// makes room for other jobs. A person who lost a right stops the act.
//
// An act declares how its row is read and stored, whose rights it has, and its steps.
package process

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/job"
)

const (
	// Piece is the highest number of records that one transaction changes. It holds the
	// organization's change clock (on SQLite the writer) for some milliseconds:
	// docs/decisions/0034.
	Piece = 50
	// Window is the number of records in one read of a walk, which takes some
	// milliseconds.
	Window = 5_000
	// Lease is the longest time that an act waits for another process after its own has
	// died.
	Lease = 20 * time.Second
	// maxQuiet is the number of windows without a hit that a walk reads before it stores how far
	// it came. At an office with a million records that is a few writes for a family.
	maxQuiet = 20
	// forgetPiece is the number of lines that one transaction forgets.
	forgetPiece = 500
)

// Act is a long act, as a run of its job has it in memory.
type Act interface {
	// Load reads the row of an act. It fails with db.ErrNoRows if there is none any more.
	Load(ctx context.Context, tx db.Tx, organization int64, id string) error
	// Call returns the call of one transaction, with the rights that the act has now.
	Call(ctx context.Context, tx db.Tx) (*op.Call, error)
	// Snapshot returns a function that gives the row in memory back what it has now.
	Snapshot() (restore func())
	// Store stores the row. It fails with ErrMoved if another call was first.
	Store(ctx context.Context, tx db.Tx) error
}

// StepAct is an act with states. A job works on it in some of them.
type StepAct interface {
	Act
	// Step returns the step of the present state, nil if no job works in it. A step ends
	// with another state, or with End.
	Step() func(ctx context.Context) error
	// Stop ends a run whose step cannot go on, with End.
	Stop(ctx context.Context, why Reason) error
}

// Reason says why an act stopped.
type Reason string

// The reasons of all acts.
const (
	// NoRight is an act whose person lost a right that it needs, or was disabled.
	NoRight Reason = "noRight"
	// NotOpen is an act in an organization that is closed or being deleted.
	NotOpen Reason = "notOpen"
)

// StopError is the error of a step that cannot go on.
type StopError struct{ Reason Reason }

// Error implements error.
func (s StopError) Error() string { return "process: stopped: " + string(s.Reason) }

// ErrMoved means that an act is not in the state any more that was read.
var ErrMoved = errors.New("process: another call changed the state of the act")

// Exec runs a statement that changes a row in the state that was read. It fails with
// ErrMoved if there is none.
func Exec(ctx context.Context, tx db.Tx, statement string, args ...any) error {
	n, err := tx.Exec(ctx, statement, args...)
	if err == nil && n == 0 {
		err = ErrMoved
	}
	return err
}

// AsConflict makes ErrMoved a conflict, which runs a call again.
func AsConflict(err error) error {
	if err == ErrMoved {
		return db.ErrConflict
	}
	return err
}

// Encode returns what a row keeps as JSON.
func Encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("process: " + err.Error()) // texts and counts always encode
	}
	return string(b)
}

// payload names the act of a job.
type payload struct {
	ID string `json:"id"`
}

// Enqueue makes a job of a kind work on an act, as soon as it is due. s may say more.
func Enqueue(ctx context.Context, c *op.Call, organization int64, id string, s job.Spec) error {
	s.Key, s.Payload = id, payload{id}
	return job.Enqueue(ctx, c.Tx, organization, c.Now, s)
}

// SubjectOf returns the id that Enqueue gave a job.
func SubjectOf(j *job.Job) (id string, err error) {
	var p payload
	err = j.Decode(&p)
	return p.ID, err
}

// Worker is what the jobs of long acts work with.
type Worker struct {
	DB    db.DB
	Clock clock.Clock
	// Services are the services of calls.
	Services *op.Services
}

// Run is one run of a job on an act.
type Run struct {
	*Worker
	Job   *job.Job
	Pace  job.Pace
	act   Act
	ended bool
}

// Do loads the act of a job and works on it. It does nothing if there is none any more: the
// organization was erased, or the act forgotten. The run pauses so many times as long as it
// works: docs/decisions/0048.
func (r *Run) Do(
	ctx context.Context, w *Worker, j *job.Job, pauses int, a Act, work func(ctx context.Context) error,
) error {
	*r = Run{Worker: w, Job: j, Pace: job.NewPace(w.Clock, pauses), act: a}
	err := w.DB.Read(ctx, func(tx db.Tx) error { return r.load(ctx, tx) })
	switch {
	case errors.Is(err, db.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return work(ctx)
}

func (r *Run) load(ctx context.Context, tx db.Tx) error {
	id, err := SubjectOf(r.Job)
	if err != nil {
		return err
	}
	return r.act.Load(ctx, tx, r.Job.Organization, id)
}

// TakeSteps takes an act on from where it is, until a step ends the job.
func (r *Run) TakeSteps(ctx context.Context, w *Worker, j *job.Job, pauses int, a StepAct) error {
	return r.Do(ctx, w, j, pauses, a, func(ctx context.Context) error {
		for step := a.Step(); step != nil; step = a.Step() {
			err := step(ctx)
			if stop, is := errors.AsType[StopError](err); is {
				err = a.Stop(ctx, stop.Reason)
			}
			switch {
			case errors.Is(err, ErrMoved):
				return r.leave(ctx, a)
			case err != nil || r.ended:
				return err
			}
		}
		return r.leave(ctx, a)
	})
}

// leave ends the job of an act on which no work is left. If somebody resumed the act
// meanwhile, the job stays: that call found it in the queue.
func (r *Run) leave(ctx context.Context, a StepAct) error {
	return r.Job.Finish(ctx, func(tx db.Tx) error {
		err := r.load(ctx, tx)
		switch {
		case errors.Is(err, db.ErrNoRows):
			return nil
		case err == nil && a.Step() != nil:
			return job.Later(0)
		}
		return err
	})
}

// Read reads with a call of the act.
func (r *Run) Read(ctx context.Context, f func(c *op.Call) error) error {
	return r.DB.Read(ctx, func(tx db.Tx) error { return r.withCall(ctx, tx, f) })
}

func (r *Run) withCall(ctx context.Context, tx db.Tx, f func(c *op.Call) error) error {
	c, err := r.act.Call(ctx, tx)
	if err != nil {
		return err
	}
	return f(c)
}

// Update commits a change while the job goes on, and stores the row after it. If it fails,
// the row in memory is as before.
func (r *Run) Update(ctx context.Context, change func(tx db.Tx) error) error {
	return r.commit(ctx, r.Job.Update, func(tx db.Tx) error {
		if err := change(tx); err != nil {
			return err
		}
		return r.act.Store(ctx, tx)
	})
}

// UpdatePortion is Update with a call of the act, for so many records of a portion.
func (r *Run) UpdatePortion(
	ctx context.Context, portion *job.Portion, records int, change func(c *op.Call) error,
) error {
	return r.commit(ctx, func(ctx context.Context, f func(tx db.Tx) error) error {
		return portion.Update(ctx, r.Job, records, f)
	}, func(tx db.Tx) error {
		if err := r.withCall(ctx, tx, change); err != nil {
			return err
		}
		return r.act.Store(ctx, tx)
	})
}

// End stores the row, runs more in the same transaction, and ends the job. more may be nil.
func (r *Run) End(ctx context.Context, more func(tx db.Tx) error) error {
	err := r.commit(ctx, r.Job.Finish, func(tx db.Tx) error {
		if err := r.act.Store(ctx, tx); err != nil || more == nil {
			return err
		}
		return more(tx)
	})
	r.ended = err == nil
	return err
}

// commit runs f in a transaction of the job. f may run more than once, each time with the
// row as it was.
func (r *Run) commit(
	ctx context.Context, transact func(context.Context, func(tx db.Tx) error) error, f func(tx db.Tx) error,
) error {
	restore := func() {}
	err := transact(ctx, func(tx db.Tx) error {
		restore()
		restore = r.act.Snapshot()
		return f(tx)
	})
	if err != nil {
		restore()
	}
	return err
}

// Each does a step with all that read finds: it reads some and changes them in one
// transaction, until none is left.
func Each[T any](
	ctx context.Context, r *Run, portion job.Portion, read func(tx db.Tx, limit int) ([]T, error),
	change func(c *op.Call, list []T) error,
) error {
	return EachPrepared(ctx, r, portion, read,
		func(_ *op.Call, list []T) ([]T, error) { return list, nil }, change)
}

// EachPrepared is Each with a preparation, whose reads do not make others wait. The rights of
// the person are asked when there is something to do: an act that has done all of its work ends
// as done, whatever became of them since.
func EachPrepared[L, T any](
	ctx context.Context, r *Run, portion job.Portion, read func(tx db.Tx, limit int) ([]L, error),
	prepare func(c *op.Call, list []L) ([]T, error), change func(c *op.Call, list []T) error,
) error {
	for {
		begun := clock.Now(r.Clock)
		var list []T
		err := r.DB.Read(ctx, func(tx db.Tx) error {
			list = nil
			found, err := read(tx, portion.Next())
			if err != nil || len(found) == 0 {
				return err
			}
			return r.withCall(ctx, tx, func(c *op.Call) (err error) {
				list, err = prepare(c, found)
				return err
			})
		})
		if err != nil || len(list) == 0 {
			return err
		}
		if err := r.UpdatePortion(ctx, &portion, len(list), func(c *op.Call) error { return change(c, list) }); err != nil {
			return err
		}
		if err := r.Pace.Rest(ctx, begun); err != nil {
			return err
		}
	}
}

// Walk is a step over all records of a family, in the order of their ids: a record is met
// once, whatever others change meanwhile.
type Walk[T any] struct {
	Family interface {
		Window(ctx context.Context, tx db.Tx, organization int64, after string, n int) (end string, err error)
	}
	Portion job.Portion
	// Find returns what the step is about behind one id, up to another one.
	Find func(c *op.Call, after, end string) ([]T, error)
	// ID returns the id of a record.
	ID func(T) string
	// Change changes some of them, maybe none, in one transaction. The walk has come as far
	// as after, which belongs to the row.
	Change func(c *op.Call, list []T, after string) error
}

// Do goes over the records behind an id.
func (s *Walk[T]) Do(ctx context.Context, r *Run, after string) error {
	for quiet := 1; ; quiet++ {
		begun := clock.Now(r.Clock)
		var list []T
		var end string
		err := r.Read(ctx, func(c *op.Call) (err error) {
			if end, err = s.Family.Window(ctx, c.Tx, r.Job.Organization, after, Window); err == nil && end != "" {
				list, err = s.Find(c, after, end)
			}
			return err
		})
		if err != nil || end == "" {
			return err
		}
		if len(list) == 0 && quiet < maxQuiet {
			after = end
			continue
		}
		quiet = 0
		for after != end {
			part := list[:min(s.Portion.Next(), len(list))]
			list = list[len(part):]
			if after = end; len(list) > 0 {
				after = s.ID(part[len(part)-1])
			}
			err := r.UpdatePortion(ctx, &s.Portion, len(part), func(c *op.Call) error { return s.Change(c, part, after) })
			if err != nil {
				return err
			}
			if err := r.Pace.Rest(ctx, begun); err != nil {
				return err
			}
			begun = clock.Now(r.Clock)
		}
	}
}

// AwaitExpiry returns an error that makes a job wait until an act has expired. An act on
// which a job works gets another time when that ends.
func (r *Run) AwaitExpiry(works bool, expires clock.Micros) error {
	now := clock.Now(r.Clock)
	switch {
	case works:
		return job.Later(time.Hour)
	case expires > now:
		return job.Later(expires.Sub(now))
	}
	return nil
}

// DeleteLines deletes the lines of an act in pieces. first selects the first keys, in
// their order, and deleteTo deletes the lines up to a key.
func DeleteLines[K any](ctx context.Context, r *Run, id, first, deleteTo string) error {
	for {
		begun := clock.Now(r.Clock)
		var keys []K
		err := r.DB.Read(ctx, func(tx db.Tx) (err error) {
			keys, err = db.Values[K](ctx, tx, first, r.Job.Organization, id, forgetPiece)
			return err
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		err = r.Job.Update(ctx, func(tx db.Tx) error {
			tx.Queue(deleteTo, r.Job.Organization, id, keys[len(keys)-1])
			return nil
		})
		if err != nil {
			return err
		}
		if err := r.Pace.Pause(ctx, begun); err != nil {
			return err
		}
	}
}
