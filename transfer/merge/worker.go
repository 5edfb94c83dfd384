package merge

import (
	"context"
	"fmt"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/transfer/process"
)

// The kinds of jobs in the database.
const (
	// JobKind is the kind of the job that moves references: to the record that stays, or by an undo
	// to the restored one.
	JobKind = "merges.move"
	// SweepKind is the kind of the job that moves the references of transactions that began before
	// the merge and ended after the first pass. It runs once.
	SweepKind = "merges.sweep"
	// ForgetKind is the kind of the job that erases the copies after their time.
	ForgetKind = "merges.forget"
)

const (
	// sweepAfter is more than the longest time of a transaction.
	sweepAfter = time.Minute
	// pauses is the ratio between the pauses and the working time of a job.
	pauses = 2
)

// Worker executes the jobs of merges.
type Worker struct{ process.Worker }

// Handlers returns the handlers of the worker's jobs.
func (w *Worker) Handlers() []job.Handler {
	return []job.Handler{
		{Kind: JobKind, Lease: process.Lease, Run: w.move}, {Kind: SweepKind, Lease: process.Lease, Run: w.sweep},
		{Kind: ForgetKind, Run: w.forget},
	}
}

// work is one run of a job.
type work struct {
	process.Run
	*row
	*family
}

// Load implements process.Act.
func (x *work) Load(ctx context.Context, tx db.Tx, organization int64, id string) (err error) {
	if x.row, err = scan(tx.QueryRow(ctx, selectMerge, organization, id)); err != nil {
		return err
	}
	if x.family = familyNamed(x.row.family); x.family == nil {
		return job.Permanent(fmt.Errorf("merge: %s is about %q", x.id, x.row.family))
	}
	return nil
}

// Call implements process.Act. References move whether or not the person sees the records that have
// them. They also move if the person leaves.
func (x *work) Call(ctx context.Context, tx db.Tx) (*op.Call, error) {
	actor, err := access.CaretakerOf(ctx, tx, x.organization)
	return &op.Call{
		Actor: actor, Tx: tx, Now: clock.Now(x.Clock), RequestID: x.RequestID, Background: true, Door: x.Door,
		Requester: x.By, Services: x.Services,
	}, err
}

// Step implements process.StepAct.
func (x *work) Step() func(context.Context) error {
	switch x.state {
	case Moving:
		return x.moveAll
	case Undoing:
		return x.moveBack
	}
	return nil
}

// Stop implements process.StepAct. No step stops.
func (x *work) Stop(context.Context, process.Reason) error { return nil }

func (w *Worker) move(ctx context.Context, j *job.Job) error {
	x := new(work)
	return x.TakeSteps(ctx, &w.Worker, j, pauses, x)
}

// moveAll moves the references to the record that stays, and ends the operation.
func (x *work) moveAll(ctx context.Context) error {
	if err := x.repointAll(ctx, x.merged, x.kept, x.noteMove); err != nil {
		return err
	}
	return x.Update(ctx, func(tx db.Tx) error {
		c, err := x.Call(ctx, tx)
		if err != nil {
			return err
		}
		err = x.endOperation(ctx, c)
		x.state = Merged
		return err
	})
}

const (
	insertMove = `insert into merge_moves (organization, merge_id, record_id) values ($1, $2, $3)
		on conflict (organization, merge_id, record_id) do nothing`
	selectMoves = `select record_id from merge_moves where organization = $1 and merge_id = $2
		order by record_id limit $3`
	deleteMoves = `delete from merge_moves where organization = $1 and merge_id = $2 and record_id <= $3`
	deleteMove  = `delete from merge_moves where organization = $1 and merge_id = $2 and record_id = $3`
	eraseCopies = `update merges set copies = '' where organization = $1 and id = $2`
)

// noteMove stores that a record refers to another one because of the merge.
func (x *work) noteMove(c *op.Call, name string) {
	c.Tx.Queue(insertMove, x.organization, x.id, name)
	x.moved++
}

// repointAll replaces all references to a record. It ends early if the record to was deleted.
func (x *work) repointAll(ctx context.Context, from, to string, note func(c *op.Call, id string)) error {
	for _, f := range x.referrers {
		living := true
		err := process.Each(ctx, &x.Run, job.Portion{Most: process.Piece}, func(tx db.Tx, limit int) ([]string, error) {
			if !living {
				return nil, nil
			}
			return f.Referring(ctx, tx, x.organization, x.Plural, from, limit)
		}, func(c *op.Call, ids []string) (err error) {
			if living, err = record.Seen(ctx, c, x.Plural, to); err != nil || !living {
				return err
			}
			for _, name := range ids {
				done, err := f.Repoint(ctx, c, name, x.Plural, from, to)
				if err != nil {
					return err
				}
				if done {
					note(c, name)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// moveBack moves the references back that the merge had moved, unless others have changed them since.
// It also moves those that the merge had not reached.
func (x *work) moveBack(ctx context.Context) error {
	err := process.Each(ctx, &x.Run, job.Portion{Most: process.Piece}, func(tx db.Tx, limit int) ([]string, error) {
		return db.Values[string](ctx, tx, selectMoves, x.organization, x.id, limit)
	}, func(c *op.Call, ids []string) error {
		for _, name := range ids {
			if err := x.repointOne(ctx, c, name); err != nil {
				return err
			}
			c.Tx.Queue(deleteMove, x.organization, x.id, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := x.repointAll(ctx, x.merged, x.restored, func(*op.Call, string) {}); err != nil {
		return err
	}
	return x.Update(ctx, func(db.Tx) error {
		x.state = Undone
		return nil
	})
}

// repointOne moves the reference of one record to the restored one.
func (x *work) repointOne(ctx context.Context, c *op.Call, name string) error {
	for _, f := range x.referrers {
		if _, err := f.Repoint(ctx, c, name, x.Plural, x.kept, x.restored); err != nil {
			return err
		}
	}
	return nil
}

// sweep moves the references that came after the first pass.
func (w *Worker) sweep(ctx context.Context, j *job.Job) error {
	x := new(work)
	return x.Do(ctx, &w.Worker, j, pauses, x, func(ctx context.Context) error {
		if x.state == Moving {
			return job.Later(sweepAfter)
		}
		if x.state == Merged {
			if err := x.repointAll(ctx, x.merged, x.kept, x.noteMove); err != nil {
				return err
			}
		}
		return j.Finish(ctx, func(db.Tx) error { return nil })
	})
}

// forget erases the copies after their time, with the list of moved records.
func (w *Worker) forget(ctx context.Context, j *job.Job) error {
	x := new(work)
	return x.Do(ctx, &w.Worker, j, pauses, x, func(ctx context.Context) error {
		if err := x.AwaitExpiry(x.Step() != nil, x.expires); err != nil {
			return err
		}
		if err := process.DeleteLines[string](ctx, &x.Run, x.id, selectMoves, deleteMoves); err != nil {
			return err
		}
		return j.Finish(ctx, func(tx db.Tx) error {
			tx.Queue(forgetMerge, j.Organization, x.id, x.state)
			return nil
		})
	})
}

// The copies of a record are erased together with it.
func init() {
	contact.Contacts.OnErase(eraseAll)
	company.Companies.OnErase(eraseAll)
}
