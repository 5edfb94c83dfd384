package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/people/audit"
	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/search"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/transfer/process"
)

// The kinds of jobs in the database.
const (
	// JobKind is the kind of the job that works on an act: it collects, changes or undoes.
	JobKind = "bulk.work"
	// ForgetKind is the kind of the job that deletes an act after its time.
	ForgetKind = "bulk.forget"
)

// The audit words for the end of an act and of its undo.
const (
	DoneWord   = "records.bulkDone"
	UndoneWord = "records.bulkUndone"
)

const (
	// noted is the maximum number of ids that one transaction stores.
	noted = 500
	// pauses is the ratio between the pauses and the working time of the job.
	pauses = 2
	// waiting is the pause of a job while another act works.
	waiting = 2 * time.Second
)

// Worker executes the jobs of acts.
type Worker struct{ process.Worker }

// Handlers returns the handlers of the worker's jobs.
func (w *Worker) Handlers() []job.Handler {
	return []job.Handler{{Kind: JobKind, Lease: process.Lease, Run: w.run}, {Kind: ForgetKind, Run: w.forget}}
}

// run continues an act in its current state.
func (w *Worker) run(ctx context.Context, j *job.Job) error {
	x := new(work)
	return x.TakeSteps(ctx, &w.Worker, j, pauses, x)
}

// work is one run of a job.
type work struct {
	process.Run
	*row
	*family
	// undone has the request ids of acts that were undone: see undo.go.
	undone map[string]bool
}

// Load implements process.Act.
func (x *work) Load(ctx context.Context, tx db.Tx, organization int64, id string) (err error) {
	if x.row, err = scan(tx.QueryRow(ctx, selectAct, organization, id)); err != nil {
		return err
	}
	if x.family = familyOf(x.content.Family); x.family == nil {
		return job.Permanent(fmt.Errorf("bulk: %s is about %q", x.id, x.content.Family))
	}
	return nil
}

// Call implements process.Act. The call has the rights of the person who requested the step.
func (x *work) Call(ctx context.Context, tx db.Tx) (*op.Call, error) {
	return x.Delegation.Call(ctx, tx, x.organization, clock.Now(x.Clock), x.Services, x.scopes()...)
}

// Step implements process.StepAct.
func (x *work) Step() func(context.Context) error {
	switch x.state {
	case Collecting:
		return x.collect
	case Running:
		return x.changeAll
	case Undoing:
		return x.undoAll
	}
	return nil
}

// Stop implements process.StepAct. The changes so far stay.
func (x *work) Stop(ctx context.Context, why Reason) error {
	x.state, x.reason = Stopped, why
	return x.End(ctx, func(tx db.Tx) error { return x.tellOwners(ctx, tx, x.Services, clock.Now(x.Clock)) })
}

// collect stores the ids of the records in the list, and then erases the list's filters. A later
// run finds the ids that an earlier run has stored.
func (x *work) collect(ctx context.Context) error {
	collect := x.collectFamily
	if x.Q != "" {
		collect = x.collectHits
	}
	if err := collect(ctx); err != nil {
		return err
	}
	return x.Update(ctx, func(tx db.Tx) error {
		x.state, x.Q, x.Filters = Running, "", nil
		x.Collected, x.After = true, ""
		return tx.QueryRow(ctx, countLines, x.organization, x.id).Scan(&x.progress.Records)
	})
}

// collectFamily stores the ids of the family's records that match the filters.
func (x *work) collectFamily(ctx context.Context) error {
	filters, err := x.filters(x.Filters)
	if err != nil {
		return job.Permanent(err)
	}
	walk := process.Walk[record.Match]{
		Family: x.family, Portion: job.Portion{Most: noted, Least: noted}, ID: func(m record.Match) string { return m.ID },
		Find: func(c *op.Call, after, end string) ([]record.Match, error) {
			list, err := x.MatchIn(ctx, c, filters, after, end, x.Until)
			if err != nil {
				return nil, err
			}
			return list, x.checkRoom(list)
		},
		Change: func(c *op.Call, list []record.Match, after string) error {
			x.note(c.Tx, list)
			x.After = after
			return nil
		},
	}
	return walk.Do(ctx, &x.Run, x.After)
}

// collectHits stores the ids of the records that a search finds. The position of the search is
// only in memory, because it contains words of records. So a later run begins again, and stored
// ids are not stored twice.
func (x *work) collectHits(ctx context.Context) error {
	x.progress.Records = 0
	for from := (*search.Position)(nil); ; {
		begun := clock.Now(x.Clock)
		var list []record.Match
		err := x.Read(ctx, func(c *op.Call) (err error) {
			if list, from, err = x.MatchHits(ctx, c, x.Q, from, x.Until); err != nil {
				return err
			}
			return x.checkRoom(list)
		})
		if err != nil {
			return err
		}
		for part := range slices.Chunk(list, noted) {
			err := x.Update(ctx, func(tx db.Tx) error {
				x.note(tx, part)
				return nil
			})
			if err != nil {
				return err
			}
		}
		if from == nil {
			return nil
		}
		if err := x.Pace.Pause(ctx, begun); err != nil {
			return err
		}
	}
}

// checkRoom stops the act if its list has too many records.
func (x *work) checkRoom(more []record.Match) error {
	if x.progress.Records+int64(len(more)) > MaxRecords {
		return process.StopError{Reason: TooMany}
	}
	return nil
}

const (
	insertLine = `insert into bulk_lines (organization, act_id, record_id, state, before) values ($1, $2, $3, '', $4) on conflict (organization, act_id, record_id) do nothing`
	countLines = `select count(*) from bulk_lines where organization = $1 and act_id = $2`
)

// note stores a line for each record.
func (x *work) note(tx db.Tx, list []record.Match) {
	for _, m := range list {
		tx.Queue(insertLine, x.organization, x.id, m.ID, x.former(m))
	}
	x.progress.Records += int64(len(list))
}

// former returns the current value of the member that the act changes. For tags, it returns "",
// because alter determines their former value.
func (x *work) former(m record.Match) string {
	switch x.content.Kind {
	case Owner:
		return m.OwnerID
	case Visibility:
		return string(m.Visibility)
	}
	return ""
}

// changeAll changes the records of the act.
func (x *work) changeAll(ctx context.Context) error {
	return x.each(ctx, Finished, DoneWord, func(ctx context.Context, b *batch, list []*line) error {
		for _, l := range list {
			if err := b.changeOne(ctx, l); err != nil {
				return err
			}
		}
		return nil
	})
}

// line is a record of an act.
type line struct {
	record string
	state  Outcome
	// revision is the revision of the record after the change.
	revision int64
	// before is the value of the member before the change. For a removed tag, it is the tag with
	// its place. For an added tag, it is empty.
	before string
}

const selectLines = `select record_id, state, revision, before from bulk_lines where organization = $1 and act_id = $2 and record_id > $3 order by record_id limit $4`

func scanLine(from db.Row) (*line, error) {
	l := new(line)
	return l, from.Scan(&l.record, &l.state, &l.revision, &l.before)
}

// batch has some records that change in one transaction.
type batch struct {
	*work
	*op.Call
}

// each carries out a step on all lines, after other acts have ended. It then ends the act and
// writes its counts to the audit log.
func (x *work) each(
	ctx context.Context, end State, word string, step func(ctx context.Context, b *batch, list []*line) error,
) error {
	if err := x.awaitTurn(ctx); err != nil {
		return err
	}
	err := process.Each(ctx, &x.Run, job.Portion{Most: process.Piece}, func(tx db.Tx, limit int) ([]*line, error) {
		return db.List(ctx, tx, scanLine, selectLines, x.organization, x.id, x.After, limit)
	}, func(c *op.Call, list []*line) error {
		x.After = list[len(list)-1].record
		x.Done += int64(len(list))
		return step(ctx, &batch{x, c}, list)
	})
	if err != nil {
		return err
	}
	now := clock.Now(x.Clock)
	act := new(audit.Act)
	act.About(x.organization, x.id)
	for _, o := range []Outcome{Changed, Unchanged, Refused, Gone, Restored, Kept} {
		act.Changed(string(o), int64(0), x.Counts[o])
	}
	x.state, x.expires = end, now.Add(Age)
	return x.End(ctx, func(tx db.Tx) error {
		if err := x.tellOwners(ctx, tx, x.Services, now); err != nil {
			return err
		}
		return audit.Append(tx, act, x.Delegation.Line(x.Job, word, now))
	})
}

// awaitTurn makes the job wait while another act of the organization works. So two acts do not
// work at the same time, and other calls wait for at most one of them.
func (x *work) awaitTurn(ctx context.Context) error {
	var waits bool
	err := x.DB.Read(ctx, func(tx db.Tx) (err error) {
		if waits, err = x.waits(ctx, tx); err != nil {
			return err
		}
		if x.Undo {
			x.undone, err = requestsOfUndone(ctx, tx, x.organization)
		}
		return err
	})
	if err != nil {
		return err
	}
	if waits {
		return job.Later(waiting)
	}
	return nil
}

const (
	endLine = `update bulk_lines set state = $4, problem = $5, revision = $6, before = $7 where organization = $1 and act_id = $2 and record_id = $3`
	// recordOutcome stores the outcome and keeps the saved value.
	recordOutcome = `update bulk_lines set state = $4, problem = $5 where organization = $1 and act_id = $2 and record_id = $3`
)

// changeOne changes a record, and stores the outcome and the former value.
func (b *batch) changeOne(ctx context.Context, l *line) error {
	before := l.before
	revision, changed, err := b.Share(ctx, b.Call, l.record, func(s *record.CommonFields) (err error) {
		before, err = b.alter(s, l)
		return err
	})
	outcome, problem, err := outcomeOf(Changed, Refused, err)
	if err != nil {
		return err
	}
	if outcome == Changed && !changed {
		outcome = Unchanged
	}
	b.Counts[outcome]++
	if outcome == Changed {
		b.Tx.Queue(endLine, b.organization, b.id, l.record, outcome, problem, revision, before)
	} else {
		b.Tx.Queue(recordOutcome, b.organization, b.id, l.record, outcome, problem)
	}
	return nil
}

// alter sets the member that the act changes, and returns its former value. Adding or removing
// one tag does not affect changes by others. An owner or a visibility that others have changed
// since the beginning of the act stays, and alter returns a fault.
func (b *batch) alter(s *record.CommonFields, l *line) (before string, err error) {
	value := b.Value
	switch b.content.Kind {
	case Tag:
		if tagAt(s.Tags, value) >= 0 {
			return "", nil
		}
		if len(s.Tags) >= record.MaxTags {
			return "", fault.Invalid(fault.Field{Name: "tags", Code: fault.TooLong, Limit: fault.Items(record.MaxTags)})
		}
		s.Tags = append(s.Tags, value)
	case Untag:
		at := tagAt(s.Tags, value)
		if at < 0 {
			return "", nil
		}
		before = strconv.Itoa(at) + " " + s.Tags[at]
		s.Tags = slices.Delete(s.Tags, at, at+1)
	case Owner:
		if s.OwnerID != value && s.OwnerID != l.before {
			return "", changedSince()
		}
		before, s.OwnerID = s.OwnerID, value
	case Visibility:
		if s.Visibility != record.Visibility(value) && s.Visibility != record.Visibility(l.before) {
			return "", changedSince()
		}
		before, s.Visibility = string(s.Visibility), record.Visibility(value)
	}
	return before, nil
}

// tagAt returns the index of a tag, or -1.
func tagAt(tags []string, tag string) int {
	return slices.IndexFunc(tags, func(t string) bool { return strings.EqualFold(t, tag) })
}

func changedSince() error {
	return &fault.Fault{Code: fault.PreconditionFailed, Detail: "Somebody changed this in the meantime."}
}

// outcomeOf returns the outcome of a change, and the stored reason if it was refused. It returns
// an error that is not a refusal.
func outcomeOf(done, refused Outcome, err error) (Outcome, string, error) {
	f, said := errors.AsType[*fault.Fault](err)
	switch {
	case err == nil:
		return done, "", nil
	case !said:
		return "", "", err
	case f.Code == fault.NotFound:
		return Gone, "", nil
	case f.Code == fault.PreconditionFailed, f.Code == fault.ValidationFailed, f.Code == fault.Forbidden:
		return refused, storedProblem(f), nil
	}
	return "", "", err
}

const (
	selectForgettable = `select record_id from bulk_lines where organization = $1 and act_id = $2 order by record_id limit $3`
	deleteLines       = `delete from bulk_lines where organization = $1 and act_id = $2 and record_id <= $3`
	deleteAct         = `delete from bulk_acts where organization = $1 and id = $2 and state = $3`
)

// forget deletes an act after its time: first its lines in pieces, then the act.
func (w *Worker) forget(ctx context.Context, j *job.Job) error {
	x := new(work)
	return x.Do(ctx, &w.Worker, j, pauses, x, func(ctx context.Context) error {
		if err := x.AwaitExpiry(x.state.Works(), x.expires); err != nil {
			return err
		}
		if err := process.DeleteLines[string](ctx, &x.Run, x.id, selectForgettable, deleteLines); err != nil {
			return err
		}
		return j.Finish(ctx, func(tx db.Tx) error {
			tx.Queue(deleteAct, j.Organization, x.id, x.state)
			return nil
		})
	})
}

const eraseOfRecord = `update bulk_lines set before = '' where organization = $1 and record_id = $2 and before <> ''`

// The value that an act stores of a record is erased together with the record.
func init() {
	erase := func(c *op.Call, id string) { c.Tx.Queue(eraseOfRecord, c.Actor.Org(), id) }
	contact.Contacts.OnErase(erase)
	company.Companies.OnErase(erase)
}
