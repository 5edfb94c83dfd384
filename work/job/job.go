// Package job owns the queue of background work: enqueued with a change, leased, retried, given up visibly.
package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/kit/trace"
	"kartei/store/db"
)

// Topic is what runners listen to.
const Topic = "jobs"

// maxPayload bounds a payload, in bytes of JSON: what is larger belongs into a
// table of its own or into storage.
const maxPayload = 64 << 10

// never is when nothing is due.
const never clock.Micros = 1<<63 - 1

// Spec says what is to be done.
type Spec struct {
	// Kind names a Handler.
	Kind string
	// Key makes the job unique: while one of this organization, kind and key
	// waits or runs, another is dropped. The empty one is never unique.
	Key string
	// Payload becomes JSON of at most 64 KiB, for the handler. It names things
	// by their identifiers and holds no personal data and no secrets: the rows
	// of failed jobs stay for weeks, whatever is erased meanwhile.
	Payload any
	// Due is when it may begin; zero, and what is past, is at once.
	Due clock.Micros
	// Soon changes what happens if a job with the same key waits already: that one
	// becomes due no later than this one, and its attempts are counted anew.
	Soon bool
}

// Enqueue adds a job as part of the transaction of the change that asks for
// it; the runners of this process wake after the commit. It queues statements
// and asks nothing, so it costs no round trip. It locks the organization's place
// in the queue until the commit: call it before db.Tick, so that no two
// transactions wait for each other. If ctx carries a span, the job goes on under
// its trace.
func Enqueue(ctx context.Context, tx db.Tx, organization int64, now clock.Micros, s Spec) error {
	payload, err := json.Marshal(s.Payload)
	if err != nil {
		return fmt.Errorf("job: payload of %s: %w", s.Kind, err)
	}
	if len(payload) > maxPayload {
		return fmt.Errorf("job: the payload of %s is of %d bytes, more than %d", s.Kind, len(payload), maxPayload)
	}
	due, insert := max(s.Due, now), insertOnce
	if s.Soon {
		insert = insertSoon
	}
	tx.Queue(keepTurn, organization, due)
	tx.Queue(insert, organization, id.New(id.Job), s.Kind, s.Key, string(payload), due, now, trace.Of(ctx).Stored())
	tx.NotifyLocal(Topic, "")
	return nil
}

// Handler does the jobs of one kind. Any replica may run it, and because
// processes die it may run more than once for a job: what it does is either
// harmless to repeat or done in Job.Finish.
type Handler struct {
	// Kind names the handler in the data base and in metrics. It is never
	// changed, since jobs wait under it.
	Kind string
	// Attempts is how often a job is tried before it is given up; zero is for
	// ever. Tries that were given back do not count; those that ended with the
	// death of their process do.
	Attempts int
	// Lease is how long after the death of its process a job is taken by
	// another; 1 minute if zero. While Run runs it is renewed, three times as often.
	Lease time.Duration
	// Limit is how long one try may take; 1 hour if zero. Then its context ends
	// and its lease is renewed no more.
	Limit time.Duration
	// Backoff, if not nil, returns how long after a failed attempt, counted from 1,
	// the next one follows. Without it that is some seconds, and more each time.
	Backoff func(attempt int) time.Duration
	// Secret says that payloads hold something sealed. Once a job is given up its
	// payload is {}.
	Secret bool
	// Every makes the job run by itself, without being enqueued: one in the
	// whole instance, of organization 0, first when the runner starts and then so
	// long after each end.
	Every time.Duration
	// Run does a job. If it returns nil without Job.Finish the job is finished.
	// Else it is tried again after some seconds and more each time, unless the
	// error is Permanent or Later. Its context ends when another has taken the job
	// over or the process stops, which gives the job back.
	Run func(ctx context.Context, j *Job) error
	// GaveUp, if not nil, runs in the transaction that marks a job as failed.
	// It is tried again until it succeeds, and may run more than once.
	GaveUp func(ctx context.Context, tx db.Tx, j *Job, cause error) error
	// GivenUp, if not nil, is told of it once that is committed.
	GivenUp func(j *Job)
}

// ErrLost is returned, wrapped, when another has taken the job over: this one
// was taken for dead. Nothing was changed.
var ErrLost = errors.New("job: taken over by another")

// ErrTooLong is why a try's context ended that was at its Handler's Limit.
var ErrTooLong = errors.New("job: the try took too long")

// ErrDied is the cause that GaveUp gets where each try ended with its process.
var ErrDied = errors.New("job: the process ended in the middle of each try")

// Job is one job that was taken.
type Job struct {
	Organization int64
	// ID begins with job_.
	ID, Kind, Key string
	// Payload is JSON.
	Payload []byte
	// Attempt is 1 on the first try.
	Attempt int
	// CreatedAt is when it was enqueued.
	CreatedAt clock.Micros

	db    db.DB
	clock clock.Clock
	lease time.Duration
	// until is when the lease under which it was taken ends.
	until clock.Micros
	// claim is the number of this taking.
	claim int64
	// trace is that of what enqueued it, empty for most.
	trace string
	// err is what went wrong the last time.
	err   string
	ended bool
}

// Decode reads the payload.
func (j *Job) Decode(v any) error {
	if err := json.Unmarshal(j.Payload, v); err != nil {
		return Permanent(fmt.Errorf("job: payload of %s: %w", j.Kind, err))
	}
	return nil
}

// Finish commits the effects of f and the end of the job in one transaction,
// which fails with ErrLost, without effects, when another has taken the job
// over. f may run more than once, and may be nil.
func (j *Job) Finish(ctx context.Context, f func(tx db.Tx) error) error {
	err := j.fenced(ctx, never, f, deleteJob)
	j.ended = j.ended || err == nil
	return err
}

// Update commits the effects of f while the job goes on, and renews its lease.
// It fails with ErrLost as Finish does.
func (j *Job) Update(ctx context.Context, f func(tx db.Tx) error) error {
	until := clock.Now(j.clock).Add(j.lease)
	return j.fenced(ctx, until, f, renewJob, until)
}

// fenced runs a statement on the job, if it is still its holder's, and f in one
// transaction. The organization's turn comes no later than due.
func (j *Job) fenced(ctx context.Context, due clock.Micros, f func(tx db.Tx) error, statement string, args ...any) error {
	args = append([]any{j.Organization, j.ID, j.claim}, args...)
	return j.db.WriteIn(ctx, j.Organization, func(tx db.Tx) error {
		tx.Queue(keepTurn, j.Organization, due)
		n, err := tx.Exec(ctx, statement, args...)
		switch {
		case err != nil:
			return err
		case n == 0:
			return ErrLost
		case f == nil:
			return nil
		}
		return f(tx)
	})
}

// permanent and later are what Run returns to say how it goes on.
type (
	permanent struct{ error }
	later     struct{ after time.Duration }
)

func (p permanent) Unwrap() error { return p.error }
func (l later) Error() string     { return "job: again in " + l.after.String() }

// Permanent wraps an error that another try would meet too: the job is given
// up at once. Of nil it is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

// Later returns an error that has the job run again after some time without
// counting the attempt: what it waits for has not happened yet.
func Later(after time.Duration) error { return later{after} }
