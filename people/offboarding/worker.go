package offboarding

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/people/audit"
	"kartei/record"
	"kartei/store/db"
	"kartei/store/job"
	"kartei/transfer/process"
)

// JobKind is the kind of job that hands over records.
const JobKind = "people.handOver"

// DoneWord is the word in the audit log for the end of a part.
const DoneWord = "person.handedOver"

// maxPasses is the maximum number of passes, in case other people keep giving records to the
// principal.
const maxPasses = 10

const (
	selectHandover = `select from_principal, to_principal, private, progress, requested_by, kind, request_id
		from handovers where organization = $1 and id = $2 and finished_at = 0`
	updateProgress = `update handovers set progress = $3 where organization = $1 and id = $2`
	finishHandover = `update handovers set progress = $3, finished_at = $4 where organization = $1 and id = $2`
)

// Worker runs the jobs of hand-overs and erasures.
type Worker struct{ process.Worker }

// Handlers returns the handlers of the worker's jobs.
func (w *Worker) Handlers() []job.Handler {
	return []job.Handler{{Kind: JobKind, Run: w.handOver}, {Kind: EraseKind, Run: w.erase}}
}

// walk is one run of the job of a part.
type walk struct {
	process.Run
	id string
	record.Handover
	process.Delegation
	progress
	finished clock.Micros
}

// Load implements process.Act.
func (h *walk) Load(ctx context.Context, tx db.Tx, organization int64, id string) error {
	var text string
	h.id = id
	if err := tx.QueryRow(ctx, selectHandover, organization, id).Scan(&h.From, &h.To, &h.Private, &text, &h.By,
		&h.Kind, &h.RequestID); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), &h.progress); err != nil {
		return job.Permanent(fmt.Errorf("offboarding: hand-over %s: %w", id, err))
	}
	return nil
}

// Call implements process.Act. A hand-over continues even if the person who began it leaves too.
func (h *walk) Call(ctx context.Context, tx db.Tx) (*op.Call, error) {
	actor, err := access.CaretakerOf(ctx, tx, h.Job.Organization)
	return &op.Call{
		Actor: actor, Tx: tx, Now: clock.Now(h.Clock), RequestID: h.RequestID, Background: true, Door: "job", Requester: h.By,
		Services: h.Services,
	}, err
}

// Snapshot implements process.Act.
func (h *walk) Snapshot() (restore func()) {
	before := h.progress
	h.Families = maps.Clone(h.Families)
	return func() { h.progress = before }
}

// Store implements process.Act.
func (h *walk) Store(_ context.Context, tx db.Tx) error {
	if h.finished == 0 {
		tx.Queue(updateProgress, h.Job.Organization, h.id, process.Encode(h.progress))
	} else {
		tx.Queue(finishHandover, h.Job.Organization, h.id, process.Encode(h.progress), h.finished)
	}
	return nil
}

// handOver runs a job: it hands over records in pieces, until a pass finds none.
func (w *Worker) handOver(ctx context.Context, j *job.Job) error {
	h := new(walk)
	return h.Do(ctx, &w.Worker, j, 1, h, func(ctx context.Context) error {
		for done := false; !done; done = h.nextPass() {
			for ; h.Family < len(families); h.Family, h.After = h.Family+1, "" {
				if err := h.handOverFamily(ctx, families[h.Family]); err != nil {
					return err
				}
			}
		}
		return h.finish(ctx)
	})
}

// handOverFamily hands over the records of a family, from the position of the pass on.
func (h *walk) handOverFamily(ctx context.Context, f family) error {
	records := process.Walk[string]{
		Family: f, Portion: job.Portion{Most: process.Piece}, ID: func(id string) string { return id },
		Find: func(c *op.Call, after, end string) ([]string, error) {
			return f.HeldIn(ctx, c.Tx, h.Job.Organization, h.From, after, end)
		},
		Change: func(c *op.Call, ids []string, after string) error {
			for _, id := range ids {
				handed, stayed, err := f.HandOver(ctx, c, id, h.Handover)
				if err != nil {
					return err
				}
				h.add(f.plural, handed, stayed)
			}
			h.After = after
			return nil
		},
	}
	return records.Do(ctx, &h.Run, h.After)
}

// nextPass begins another pass. It returns true if the part is done, because the last pass found no
// records or there were too many passes.
func (h *walk) nextPass() (done bool) {
	if h.Handed == 0 || h.Pass >= maxPasses {
		return true
	}
	h.progress = progress{Pass: h.Pass + 1, Families: h.Families}
	for name, t := range h.Families { // the next pass counts these records again
		t.Stayed = 0
		h.Families[name] = t
	}
	return false
}

// finish ends a part, and writes its counts to the audit log.
func (h *walk) finish(ctx context.Context) error {
	now := clock.Now(h.Clock)
	act := new(audit.Act)
	act.About(h.Job.Organization, h.From)
	act.Changed("records", h.From, h.To)
	for _, f := range families {
		t := h.Families[f.plural]
		act.Changed(f.plural+".owned", int64(0), t.Handed.Owned)
		act.Changed(f.plural+".private", int64(0), t.Handed.Private)
		act.Changed(f.plural+".assigned", int64(0), t.Handed.Assigned)
		act.Changed(f.plural+".stayed", int64(0), t.Stayed)
	}
	h.finished = now
	return h.End(ctx, func(tx db.Tx) error { return audit.Append(tx, act, h.Line(h.Job, DoneWord, now)) })
}
