// Package process owns long acts: jobs that change a row step by step, with the rights of whoever began them.
//
// The row has the state and the progress of an act. Each transaction of the job also stores the
// row. So a process may die at any time, and no step is repeated or left out. Between
// transactions the job pauses, and after some minutes other jobs may run. If the person loses a
// right, the act stops.
//
// An act implements the reading and the storing of its row, its call and its steps.
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
	// Piece is the maximum number of records that one transaction changes. It holds the
	// organization's change clock (on SQLite the writer) for some milliseconds:
	// docs/decisions/0034.
	Piece = 50
	// Window is the number of records in one read of a walk. Such a read takes some milliseconds.
	Window = 5_000
	// Lease is the maximum time until another process continues an act whose process has died.
	Lease = 20 * time.Second
	// maxQuiet is the maximum number of consecutive windows without a hit that a walk reads
	// before it stores its position. For a family of a million records, these are a few writes.
	maxQuiet = 20
	// forgetPiece is the maximum number of lines that one transaction deletes.
	forgetPiece = 500
)

// Act is a long act whose row a run of its job has in memory.
type Act interface {
	// Load reads the row of an act into memory. It fails with db.ErrNoRows if there is no such
	// row.
	Load(ctx context.Context, tx db.Tx, organization int64, id string) error
	// Call returns a call for one transaction, with the current rights of the act.
	Call(ctx context.Context, tx db.Tx) (*op.Call, error)
	// Snapshot saves the values of the row that is in memory, and returns a function that restores
	// them.
	Snapshot() (restore func())
	// Store stores the row. It fails with ErrMoved if another call has changed the state of the
	// act.
	Store(ctx context.Context, tx db.Tx) error
}

// StepAct is an act with states. In some states, a job works on it.
type StepAct interface {
	Act
	// Step returns the step for the current state. It returns nil if no job works in this state.
	// A step ends with another state, or with End.
	Step() func(ctx context.Context) error
	// Stop ends the job, with End, after a step has failed with a StopError.
	Stop(ctx context.Context, why Reason) error
}

// Reason says why an act stopped.
type Reason string

// These reasons apply to all acts.
const (
	// NoRight means that the person was disabled or lost a right that the act needs.
	NoRight Reason = "noRight"
	// NotOpen means that the organization is closed or being deleted.
	NotOpen Reason = "notOpen"
)

// StopError is the error of a step that cannot continue.
type StopError struct{ Reason Reason }

// Error implements error.
func (s StopError) Error() string { return "process: stopped: " + string(s.Reason) }

// ErrMoved is the error for an act whose state is no longer the state that was read.
var ErrMoved = errors.New("process: another call changed the state of the act")

// Exec executes a statement that changes an act's row if its state is still the one that was
// read. It fails with ErrMoved if no row changed.
func Exec(ctx context.Context, tx db.Tx, statement string, args ...any) error {
	n, err := tx.Exec(ctx, statement, args...)
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrMoved
	}
	return nil
}

// AsConflict returns db.ErrConflict for ErrMoved, so that the call runs again. It returns any
// other error unchanged.
func AsConflict(err error) error {
	if err == ErrMoved {
		return db.ErrConflict
	}
	return err
}

// Encode returns v as JSON for a column. It panics if v cannot be encoded.
func Encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("process: " + err.Error()) // texts and numbers can always be encoded
	}
	return string(b)
}

// payload is the payload of a job. ID is the id of the act.
type payload struct {
	ID string `json:"id"`
}

// Enqueue enqueues a job that works on an act. s has the kind of the job, and may have other
// fields except Key and Payload.
func Enqueue(ctx context.Context, c *op.Call, organization int64, id string, s job.Spec) error {
	s.Key, s.Payload = id, payload{id}
	return job.Enqueue(ctx, c.Tx, organization, c.Now, s)
}

// SubjectOf returns the id of the act for which Enqueue has enqueued a job.
func SubjectOf(j *job.Job) (id string, err error) {
	var p payload
	err = j.Decode(&p)
	return p.ID, err
}

// Worker has the database, the clock and the services for the jobs of long acts.
type Worker struct {
	DB    db.DB
	Clock clock.Clock
	// Services are the services for the calls of acts.
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

// Do loads the act of a job and calls work. It does nothing if the act no longer exists, because
// the organization was erased or the act was deleted. pauses is the ratio between the pauses and
// the working time of the run: docs/decisions/0048.
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

// TakeSteps continues an act in its current state, step by step, until a step ends the job.
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

// leave ends the job of an act without further steps. If a call has resumed the act meanwhile,
// the job continues. That call did not enqueue a job, because this one was still there.
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

// Read runs f with a call of the act in a read transaction.
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

// Update commits a change and the row, while the job continues. If it fails, the row in memory is
// the same as before.
func (r *Run) Update(ctx context.Context, change func(tx db.Tx) error) error {
	return r.commit(ctx, r.Job.Update, func(tx db.Tx) error {
		if err := change(tx); err != nil {
			return err
		}
		return r.act.Store(ctx, tx)
	})
}

// UpdatePortion is Update with a call of the act. records is the number of records that change in
// this portion.
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

// commit runs f in a transaction of the job. f may run more than once. Each time, the row in
// memory has the same values as before.
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

// Each carries out a step on all entries that read returns. It reads some entries and changes
// them in one transaction, until read returns none.
func Each[T any](
	ctx context.Context, r *Run, portion job.Portion, read func(tx db.Tx, limit int) ([]T, error),
	change func(c *op.Call, list []T) error,
) error {
	return EachPrepared(ctx, r, portion, read,
		func(_ *op.Call, list []T) ([]T, error) { return list, nil }, change)
}

// EachPrepared is Each with a preparation. prepare may read much, because its transaction does
// not block other writers. The rights of the person are checked only if there are entries. So an
// act without further work ends normally, even if the person has lost the rights meanwhile.
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

// Walk is a step over all records of a family, in the order of their ids. It visits each record
// exactly once, whatever others change meanwhile.
type Walk[T any] struct {
	Family interface {
		Window(ctx context.Context, tx db.Tx, organization int64, after string, n int) (end string, err error)
	}
	Portion job.Portion
	// Find returns the records for the step with ids greater than after and at most end.
	Find func(c *op.Call, after, end string) ([]T, error)
	// ID returns the id of a record.
	ID func(T) string
	// Change changes the records in list, which may be empty, in one transaction. after is the
	// new position of the walk, which Change must store in the row.
	Change func(c *op.Call, list []T, after string) error
}

// Do walks over the records with ids greater than after.
func (s *Walk[T]) Do(ctx context.Context, r *Run, after string) error {
	for quiet := 1; ; quiet++ {
		begun := clock.Now(r.Clock)
		var list []T
		var end string
		err := r.Read(ctx, func(c *op.Call) (err error) {
			if end, err = s.Family.Window(ctx, c.Tx, r.Job.Organization, after, Window); err != nil {
				return err
			}
			if end != "" {
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

// AwaitExpiry returns an error that makes a job wait until an act has expired. If works is true,
// a job still works on the act. Then the act gets a new time of expiry at the end of that job,
// and AwaitExpiry waits an hour. It returns nil if the act has expired.
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

// DeleteLines deletes the lines of an act in pieces. first is the statement that selects the keys
// of the first lines in their order. deleteTo is the statement that deletes the lines up to a
// key.
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
