package offboarding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/people/audit"
	"kartei/record"
	"kartei/store/db"
	"kartei/store/job"
)

// JobKind is the kind of job that hands records over.
const JobKind = "people.handOver"

// DoneWord is the word in the audit log for the end of a part.
const DoneWord = "person.handedOver"

const (
	// window is the number of records in one read, which takes some
	// milliseconds.
	window = 5_000
	// piece is the highest number of records in one transaction. The transaction
	// holds the organization's change clock (on SQLite the writer):
	// docs/decisions/0034.
	piece = 50
	// noteEvery is the number of windows without a change after which the
	// progress is stored.
	noteEvery = 20
	// maxPasses bounds the passes, in case others keep giving records to the
	// principal.
	maxPasses = 10
)

const (
	selectHandover = `select from_principal, to_principal, private, progress, requested_by, kind, request_id
		from handovers where organization = $1 and id = $2 and finished_at = 0`
	updateProgress = `update handovers set progress = $3 where organization = $1 and id = $2`
	finishHandover = `update handovers set progress = $3, finished_at = $4 where organization = $1 and id = $2`
)

// jobPayload names the subject of a job: a handover, or an erased person.
type jobPayload struct {
	ID string `json:"id"`
}

// Worker carries out the jobs of people who leave.
type Worker struct {
	DB    db.DB
	Clock clock.Clock
	// Services are the services of calls.
	Services *op.Services
}

// Handlers returns the handlers of the worker's jobs.
func (w *Worker) Handlers() []job.Handler {
	return []job.Handler{{Kind: JobKind, Run: w.handOver}, {Kind: EraseKind, Run: w.erase}}
}

// walk is one run of a part.
type walk struct {
	*Worker
	job *job.Job
	id  string
	record.Handover
	requestedBy, kind, requestID string
	progress
	pace job.Pace
	// quiet is the number of windows since the progress was stored.
	quiet int
	// portion chooses how many records a transaction changes.
	portion job.Portion
}

// handOver hands over records in pieces. The transaction of each piece also
// stores the progress. If the process is killed, the next run continues after
// that piece.
func (w *Worker) handOver(ctx context.Context, j *job.Job) error {
	var of jobPayload
	if err := j.Decode(&of); err != nil {
		return err
	}
	h := &walk{Worker: w, job: j, id: of.ID, pace: job.NewPace(w.Clock, 1), portion: job.Portion{Most: piece}}
	switch err := w.DB.Read(ctx, func(tx db.Tx) error { return h.load(ctx, tx) }); {
	case errors.Is(err, db.ErrNoRows): // the organization was erased
		return nil
	case err != nil:
		return err
	}
	for {
		done, err := h.step(ctx)
		switch {
		case err != nil:
			return err
		case done:
			return h.finish(ctx)
		case h.pace.Over():
			if err := h.note(ctx); err != nil {
				return err
			}
			return job.Later(0)
		}
	}
}

func (h *walk) load(ctx context.Context, tx db.Tx) error {
	var text string
	if err := tx.QueryRow(ctx, selectHandover, h.job.Organization, h.id).Scan(&h.From, &h.To, &h.Private, &text, &h.requestedBy, &h.kind, &h.requestID); err != nil {
		return err
	}
	h.progress = progress{}
	if err := json.Unmarshal([]byte(text), &h.progress); err != nil {
		return job.Permanent(fmt.Errorf("offboarding: hand-over %s: %w", h.id, err))
	}
	return nil
}

// step reads the next window of records and hands them over. It reports whether
// the part is done.
func (h *walk) step(ctx context.Context) (done bool, err error) {
	if h.Family == len(families) {
		return h.nextPass(), nil
	}
	f := families[h.Family]
	var end string
	var ids []string
	err = h.DB.Read(ctx, func(tx db.Tx) (err error) {
		if end, err = f.Window(ctx, tx, h.job.Organization, h.After, window); err == nil && end != "" {
			ids, err = f.HeldIn(ctx, tx, h.job.Organization, h.From, h.After, end)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	for len(ids) > 0 {
		n := min(h.portion.Next(), len(ids))
		if err := h.change(ctx, f, ids[:n]); err != nil {
			return false, err
		}
		ids = ids[n:]
	}
	if h.After = end; end == "" {
		h.Family++
	}
	if h.quiet++; h.quiet >= noteEvery {
		return false, h.note(ctx)
	}
	return false, nil
}

// nextPass begins another pass, or reports that the part is done because the
// last pass found nothing.
func (h *walk) nextPass() (done bool) {
	if h.Handed == 0 || h.Pass >= maxPasses {
		return true
	}
	h.progress = progress{Pass: h.Pass + 1, Families: h.Families}
	for name, t := range h.Families { // the next pass counts them again
		t.Stayed = 0
		h.Families[name] = t
	}
	return false
}

// change hands over some records in one transaction. Then it pauses for as long
// as that took, to leave time to others.
func (h *walk) change(ctx context.Context, f family, ids []string) error {
	var begun clock.Micros
	var next progress
	err := h.portion.Update(ctx, h.job, len(ids), func(tx db.Tx) error {
		begun = clock.Now(h.Clock) // it may have waited for others
		next = h.clone()
		actor, err := access.CaretakerOf(ctx, tx, h.job.Organization)
		if err != nil {
			return err
		}
		c := &op.Call{Actor: actor, Tx: tx, Now: begun, RequestID: h.requestID, Door: "job", Requester: h.requestedBy, Services: h.Services}
		for _, id := range ids {
			handed, stayed, err := f.HandOver(ctx, c, id, h.Handover)
			if err != nil {
				return err
			}
			next.add(f.plural, handed, stayed)
		}
		next.After = ids[len(ids)-1]
		return next.store(tx, updateProgress, h.job.Organization, h.id)
	})
	if err != nil {
		return err
	}
	h.progress, h.quiet = next, 0
	return h.pace.Pause(ctx, begun)
}

func (p progress) store(tx db.Tx, statement string, organization int64, id string, more ...any) error {
	text, err := json.Marshal(p)
	if err == nil {
		tx.Queue(statement, append([]any{organization, id, string(text)}, more...)...)
	}
	return err
}

// note stores the progress.
func (h *walk) note(ctx context.Context) error {
	h.quiet = 0
	return h.job.Update(ctx, func(tx db.Tx) error { return h.store(tx, updateProgress, h.job.Organization, h.id) })
}

// finish ends a part, and writes its counts to the audit log.
func (h *walk) finish(ctx context.Context) error {
	now := clock.Now(h.Clock)
	act := new(audit.Act)
	act.About(h.job.Organization, h.From)
	act.Changed("records", h.From, h.To)
	for _, f := range families {
		t := h.Families[f.plural]
		act.Changed(f.plural+".owned", int64(0), t.Handed.Owned)
		act.Changed(f.plural+".private", int64(0), t.Handed.Private)
		act.Changed(f.plural+".assigned", int64(0), t.Handed.Assigned)
		act.Changed(f.plural+".stayed", int64(0), t.Stayed)
	}
	return h.job.Finish(ctx, func(tx db.Tx) error {
		if err := h.store(tx, finishHandover, h.job.Organization, h.id, now); err != nil {
			return err
		}
		return audit.Append(tx, act, audit.Line{
			Time: now, PrincipalID: h.requestedBy, CredentialKind: h.kind, CredentialID: h.job.ID,
			Door: "job", Operation: JobKind, Word: DoneWord, RequestID: h.requestID,
		})
	})
}
