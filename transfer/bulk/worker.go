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

// The kinds of job.
const (
	// JobKind works on an act: it collects, changes or undoes.
	JobKind = "bulk.work"
	// ForgetKind forgets an act when its time is over.
	ForgetKind = "bulk.forget"
)

// The words of the audit log for the ends of an act and of its undoing.
const (
	DoneWord   = "records.bulkDone"
	UndoneWord = "records.bulkUndone"
)

const (
	// window is the number of records in one read of a walk, which takes some
	// milliseconds.
	window = 5_000
	// noted is the number of records that one transaction notes.
	noted = 500
	// piece is the highest number of records that one transaction changes. It holds the
	// organization's change clock (on SQLite the writer) for some milliseconds:
	// docs/decisions/0034.
	piece = 50
	// pauses is how much longer than its work the job pauses: docs/decisions/0048.
	pauses = 2
	// lease is the longest time that an act waits for another process after its own has
	// died.
	lease = 20 * time.Second
	// waiting is the pause of an act while another one has its turn.
	waiting = 2 * time.Second
	// forgetPiece is the number of lines that one transaction forgets.
	forgetPiece = 500
)

// jobPayload names the act of a job.
type jobPayload struct {
	ID string `json:"id"`
}

// Worker carries out the jobs of acts.
type Worker struct {
	DB    db.DB
	Clock clock.Clock
	// Services are the services of calls.
	Services *op.Services
}

// Handlers returns the handlers of the worker's jobs.
func (w *Worker) Handlers() []job.Handler {
	return []job.Handler{{Kind: JobKind, Lease: lease, Run: w.run}, {Kind: ForgetKind, Run: w.forget}}
}

// work is one run of a job.
type work struct {
	*Worker
	*row
	*family
	job  *job.Job
	pace job.Pace
	// undone are the calls of acts that were taken back: see undo.go.
	undone map[string]bool
}

// stopError is the error of a step that cannot go on.
type stopError struct{ reason Reason }

// Error implements error.
func (s stopError) Error() string { return "bulk: stopped: " + string(s.reason) }

// run takes an act on from where it is.
func (w *Worker) run(ctx context.Context, j *job.Job) error {
	x, err := w.load(ctx, j)
	if errors.Is(err, db.ErrNoRows) { // the organization was erased, or the act forgotten
		return nil
	}
	if err != nil {
		return err
	}
	if x.state == Collecting {
		err = x.collect(ctx)
	}
	if err == nil && (x.state == Running || x.state == Undoing) {
		err = x.workInTurn(ctx)
	}
	if stop := (stopError{}); errors.As(err, &stop) {
		err = x.stop(ctx, stop.reason)
	}
	if errors.Is(err, errMoved) || err == nil && !x.state.Works() {
		return x.leave(ctx)
	}
	return err
}

// load reads the act of a job.
func (w *Worker) load(ctx context.Context, j *job.Job) (*work, error) {
	x := &work{Worker: w, job: j, pace: job.NewPace(w.Clock, pauses)}
	var of jobPayload
	if err := j.Decode(&of); err != nil {
		return x, err
	}
	err := w.DB.Read(ctx, func(tx db.Tx) (err error) {
		x.row, err = scan(tx.QueryRow(ctx, selectAct, j.Organization, of.ID))
		return err
	})
	if err == nil {
		if x.family = familyOf(x.content.Family); x.family == nil {
			err = job.Permanent(fmt.Errorf("bulk: %s is about %q", x.id, x.content.Family))
		}
	}
	return x, err
}

// stop stores why the act does not go on.
func (x *work) stop(ctx context.Context, why Reason) error {
	from := x.state
	x.state, x.reason = Stopped, why
	return x.job.Update(ctx, func(tx db.Tx) error {
		if err := x.change(ctx, tx, from); err != nil {
			return err
		}
		return x.tellOwners(ctx, tx, x.Services, clock.Now(x.Clock))
	})
}

const selectState = `select state from bulk_acts where organization = $1 and id = $2`

// leave ends the job of an act on which no work is left. If somebody resumed the act
// meanwhile, the job stays: that call found it in the queue.
func (x *work) leave(ctx context.Context) error {
	return x.job.Finish(ctx, func(tx db.Tx) error {
		var now State
		err := tx.QueryRow(ctx, selectState, x.organization, x.id).Scan(&now)
		switch {
		case errors.Is(err, db.ErrNoRows):
			return nil
		case err == nil && now.Works():
			return job.Later(0)
		}
		return err
	})
}

// call returns the call of the person who asked for the step, with the rights that they
// have now.
func (x *work) call(ctx context.Context, tx db.Tx) (*op.Call, error) {
	c, err := x.Delegation.Call(ctx, tx, x.organization, clock.Now(x.Clock), x.Services, x.scopes()...)
	switch {
	case errors.Is(err, process.ErrNoRight):
		return nil, stopError{NoRight}
	case errors.Is(err, process.ErrNotOpen):
		return nil, stopError{NotOpen}
	}
	return c, err
}

const updateProgress = `update bulk_acts set progress = $4 where organization = $1 and id = $2 and state = $3`

// keep stores the progress in a transaction of the job. It fails with errMoved if
// somebody stopped the act.
func (x *work) keep(ctx context.Context, tx db.Tx, p progress) error {
	n, err := tx.Exec(ctx, updateProgress, x.organization, x.id, x.state, text(p))
	if err == nil && n == 0 {
		err = errMoved
	}
	return err
}

// collect notes the records of the list. A run that goes on finds those before it noted.
func (x *work) collect(ctx context.Context) error {
	var err error
	if x.Q != "" {
		err = x.collectHits(ctx)
	} else {
		err = x.collectWindows(ctx)
	}
	if err != nil {
		return err
	}
	return x.collected(ctx)
}

// collectWindows walks over all records of the family, in the order of their ids. So a
// record is met once, whatever others change meanwhile.
func (x *work) collectWindows(ctx context.Context) error {
	filters, err := x.filters(x.Filters)
	if err != nil {
		return job.Permanent(err)
	}
	for {
		begun := clock.Now(x.Clock)
		var list []record.Matched
		var end string
		err := x.DB.Read(ctx, func(tx db.Tx) error {
			c, err := x.call(ctx, tx)
			if err != nil {
				return err
			}
			if end, err = x.Window(ctx, tx, x.organization, x.After, window); err == nil && end != "" {
				list, err = x.MatchIn(ctx, c, filters, x.After, end, x.Until)
			}
			return err
		})
		if err != nil || end == "" {
			return err
		}
		if err := x.note(ctx, list, end); err != nil {
			return err
		}
		if err := x.pace.Rest(ctx, begun); err != nil {
			return err
		}
	}
}

// collectHits walks over what a search finds. The position is kept in memory only,
// because it has words of records: another run begins anew and finds what is noted.
func (x *work) collectHits(ctx context.Context) error {
	x.progress.Records = 0
	for from := (*search.Position)(nil); ; {
		begun := clock.Now(x.Clock)
		var list []record.Matched
		err := x.DB.Read(ctx, func(tx db.Tx) error {
			c, err := x.call(ctx, tx)
			if err == nil {
				list, from, err = x.MatchHits(ctx, c, x.Q, from, x.Until)
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := x.note(ctx, list, ""); err != nil || from == nil {
			return err
		}
		if err := x.pace.Pause(ctx, begun); err != nil {
			return err
		}
	}
}

const insertLine = `insert into bulk_lines (organization, act_id, record_id, state, before) values ($1, $2, $3, '', $4) on conflict (organization, act_id, record_id) do nothing`

// note stores lines for records, and how far the walk came.
func (x *work) note(ctx context.Context, list []record.Matched, end string) error {
	if x.progress.Records+int64(len(list)) > MaxRecords {
		return stopError{TooMany}
	}
	parts := slices.Collect(slices.Chunk(list, noted))
	if parts == nil {
		parts = [][]record.Matched{nil}
	}
	for i, part := range parts {
		next := x.progress
		next.Records += int64(len(part))
		if next.After = end; end != "" && i < len(parts)-1 {
			next.After = part[len(part)-1].ID
		}
		err := x.job.Update(ctx, func(tx db.Tx) error {
			for _, m := range part {
				tx.Queue(insertLine, x.organization, x.id, m.ID, x.former(m))
			}
			return x.keep(ctx, tx, next)
		})
		if err != nil {
			return err
		}
		x.progress = next
	}
	return nil
}

// former is what a line keeps of a record: the member that the act changes. A line about
// tags keeps none before the change.
func (x *work) former(m record.Matched) string {
	switch x.content.Kind {
	case Owner:
		return m.OwnerID
	case Visibility:
		return string(m.Visibility)
	}
	return ""
}

const countLines = `select count(*) from bulk_lines where organization = $1 and act_id = $2`

// collected ends the collecting. The list is forgotten.
func (x *work) collected(ctx context.Context) error {
	next := *x.row
	err := x.job.Update(ctx, func(tx db.Tx) error {
		next = *x.row
		next.state, next.Q, next.Filters = Running, "", nil
		next.progress = x.clone()
		next.Collected, next.After = true, ""
		if err := tx.QueryRow(ctx, countLines, x.organization, x.id).Scan(&next.progress.Records); err != nil {
			return err
		}
		return next.change(ctx, tx, Collecting)
	})
	if err == nil {
		x.row = &next
	}
	return err
}

// workInTurn changes the records, or takes the changes back, if no other act of the
// organization has its turn before. So two acts never work at the same time, and others
// of the office wait for one only.
func (x *work) workInTurn(ctx context.Context) error {
	var waits bool
	err := x.DB.Read(ctx, func(tx db.Tx) (err error) {
		if waits, err = x.waits(ctx, tx); err == nil && x.Undo {
			x.undone, err = requestsOfUndone(ctx, tx, x.organization)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case waits:
		return job.Later(waiting)
	case x.state == Undoing:
		return x.each(ctx, Undone, UndoneWord, x.undoSome)
	}
	return x.each(ctx, Finished, DoneWord, x.changeSome)
}

// line is a record of an act.
type line struct {
	record string
	state  Outcome
	// revision is the record's revision after the change.
	revision int64
	// before is the member before the change. For a removed tag that is its place and
	// itself; for an added one it is empty.
	before string
}

const selectLines = `select record_id, state, revision, before from bulk_lines where organization = $1 and act_id = $2 and record_id > $3 order by record_id limit $4`

// each does a step with the lines, some in each transaction, which also stores how far
// the step came.
func (x *work) each(ctx context.Context, end State, word string, step func(ctx context.Context, b *batch, list []*line) error) error {
	portion := job.Portion{Most: piece}
	for {
		begun := clock.Now(x.Clock)
		var list []*line
		err := x.DB.Read(ctx, func(tx db.Tx) (err error) {
			list, err = db.List(ctx, tx, func(from db.Row) (*line, error) {
				l := new(line)
				return l, from.Scan(&l.record, &l.state, &l.revision, &l.before)
			}, selectLines, x.organization, x.id, x.After, portion.Next())
			return err
		})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return x.finish(ctx, end, word, begun)
		}
		b := &batch{work: x}
		err = portion.Update(ctx, x.job, len(list), func(tx db.Tx) (err error) {
			if b.Call, err = x.call(ctx, tx); err != nil {
				return err
			}
			b.progress = x.clone()
			if err := step(ctx, b, list); err != nil {
				return err
			}
			b.progress.After = list[len(list)-1].record
			b.progress.Done += int64(len(list))
			return x.keep(ctx, tx, b.progress)
		})
		if err != nil {
			return err
		}
		x.progress = b.progress
		if err := x.pace.Rest(ctx, begun); err != nil {
			return err
		}
	}
}

// batch is some records in one transaction.
type batch struct {
	*work
	*op.Call
	progress
}

// finish ends a step, and writes its counts to the audit log.
func (x *work) finish(ctx context.Context, end State, word string, now clock.Micros) error {
	from := x.state
	act := new(audit.Act)
	act.About(x.organization, x.id)
	for _, o := range []Outcome{Changed, Unchanged, Refused, Gone, Restored, Kept} {
		act.Changed(string(o), int64(0), x.Counts[o])
	}
	next := *x.row
	next.state, next.expires = end, now.Add(Age)
	err := x.job.Update(ctx, func(tx db.Tx) error {
		if err := next.change(ctx, tx, from); err != nil {
			return err
		}
		if err := x.tellOwners(ctx, tx, x.Services, now); err != nil {
			return err
		}
		return audit.Append(tx, act, x.Delegation.Line(x.job, word, now))
	})
	if err == nil {
		x.row = &next
	}
	return err
}

const (
	endLine = `update bulk_lines set state = $4, problem = $5, revision = $6, before = $7 where organization = $1 and act_id = $2 and record_id = $3`
	// leaveLine leaves what a line keeps of its record.
	leaveLine = `update bulk_lines set state = $4, problem = $5 where organization = $1 and act_id = $2 and record_id = $3`
)

// changeSome changes some records.
func (x *work) changeSome(ctx context.Context, b *batch, list []*line) error {
	for _, l := range list {
		if err := b.changeOne(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// changeOne changes a record, and notes what it had before.
func (b *batch) changeOne(ctx context.Context, l *line) error {
	before := l.before
	revision, changed, err := b.Share(ctx, b.Call, l.record, func(s *record.Sharing) (err error) {
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
	b.progress.Counts[outcome]++
	if outcome == Changed {
		b.Tx.Queue(endLine, b.organization, b.id, l.record, outcome, problem, revision, before)
	} else {
		b.Tx.Queue(leaveLine, b.organization, b.id, l.record, outcome, problem)
	}
	return nil
}

// alter sets the member that the act changes, and returns what it was. A tag more or less
// takes nothing from another change. An owner or a visibility that somebody changed since
// the act began stays.
func (b *batch) alter(s *record.Sharing, l *line) (before string, err error) {
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

// tagAt returns the place of a tag, or -1.
func tagAt(tags []string, tag string) int {
	return slices.IndexFunc(tags, func(t string) bool { return strings.EqualFold(t, tag) })
}

func changedSince() error {
	return &fault.Fault{Code: fault.PreconditionFailed, Detail: &fault.Text{
		DE: "Jemand hat das inzwischen geändert.",
		EN: "Somebody changed this in the meantime.",
	}}
}

// outcomeOf says what a change came to, and why if it was refused. Other errors stay
// errors.
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

// forget deletes an act when its time is over: its lines in pieces, then itself.
func (w *Worker) forget(ctx context.Context, j *job.Job) error {
	x, err := w.load(ctx, j)
	if errors.Is(err, db.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	now := clock.Now(w.Clock)
	if x.state.Works() { // its end sets another time
		return job.Later(time.Hour)
	}
	if x.expires > now {
		return job.Later(x.expires.Sub(now))
	}
	for {
		begun := clock.Now(w.Clock)
		var names []string
		err := w.DB.Read(ctx, func(tx db.Tx) (err error) {
			names, err = db.Values[string](ctx, tx, selectForgettable, j.Organization, x.id, forgetPiece)
			return err
		})
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return j.Finish(ctx, func(tx db.Tx) error {
				tx.Queue(deleteAct, j.Organization, x.id, x.state)
				return nil
			})
		}
		err = j.Update(ctx, func(tx db.Tx) error {
			tx.Queue(deleteLines, j.Organization, x.id, names[len(names)-1])
			return nil
		})
		if err != nil {
			return err
		}
		if err := x.pace.Pause(ctx, begun); err != nil {
			return err
		}
	}
}

const eraseOfRecord = `update bulk_lines set before = '' where organization = $1 and record_id = $2 and before <> ''`

// What an act keeps of a record is erased with it.
func init() {
	erase := func(c *op.Call, id string) { c.Tx.Queue(eraseOfRecord, c.Actor.Org(), id) }
	contact.Contacts.OnErase(erase)
	company.Companies.OnErase(erase)
}
