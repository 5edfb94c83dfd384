// Package job owns the queue of background jobs: enqueued with a change, claimed with a lease, retried, given up.
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

// Topic is the notification topic that wakes runners.
const Topic = "jobs"

// maxPayload is the maximum size of a payload in bytes of JSON. Larger data belongs in a table or
// in the blob store.
const maxPayload = 64 << 10

// never is the due time of an organization without waiting jobs.
const never clock.Micros = 1<<63 - 1

// Spec describes a job to enqueue.
type Spec struct {
	// Kind is the kind of the Handler that runs the job.
	Kind string
	// Key makes the job unique, unless it is empty. The job is dropped if another job of the same
	// organization, kind and key waits or runs.
	Key string
	// Payload is encoded as JSON of at most 64 KiB for the handler. It should refer to records by
	// id, and contain no personal data or secrets. Failed jobs keep their payload for weeks, even
	// if records are erased meanwhile.
	Payload any
	// Due is the earliest time at which the job may run. Zero, or a time in the past, means at
	// once.
	Due clock.Micros
	// Soon, Rest and Attempts apply if a job with the same key already waits. With Soon, the
	// waiting job becomes due no later than this job. If the last attempt of the waiting job
	// failed, Rest is the minimum time from the beginning of that attempt to the next. The attempts
	// of the waiting job so far count as at most Attempts.
	Soon     bool
	Rest     time.Duration
	Attempts int
}

// Enqueue adds a job in the transaction of the change that needs it. The runners of this process
// wake after the commit. Enqueue only queues statements, so it needs no round trip. If ctx has a
// span, the job continues its trace.
//
// Enqueue locks the organization's turn (its row in job_turns) until the commit. To prevent
// deadlocks, it must be called before db.Tx.Tick. It returns an error if the payload is too large
// or cannot be encoded.
func Enqueue(ctx context.Context, tx db.Tx, organization int64, now clock.Micros, s Spec) error {
	payload, err := json.Marshal(s.Payload)
	if err != nil {
		return fmt.Errorf("job: payload of %s: %w", s.Kind, err)
	}
	if len(payload) > maxPayload {
		return fmt.Errorf("job: the payload of %s has %d bytes, more than %d", s.Kind, len(payload), maxPayload)
	}
	due, insert := max(s.Due, now), insertOnce
	args := []any{organization, id.New(id.Job), s.Kind, s.Key, string(payload), due, now, trace.Of(ctx).Stored()}
	if s.Soon {
		insert, args = insertSoon, append(args, s.Attempts, s.Rest.Microseconds())
	}
	tx.Queue(keepTurn, organization, due)
	tx.Queue(insert, args...)
	tx.NotifyLocal(Topic, "")
	return nil
}

// Handler runs the jobs of one kind, in any process. A job may run more than once, because
// processes can die. So its effects must be safe to repeat, or be committed by Job.Finish.
type Handler struct {
	// Kind is the name of the kind in the database and in metrics. It must not change, because jobs
	// with this kind wait in the database.
	Kind string
	// Attempts is the maximum number of attempts before a job is given up. Zero means no limit. An
	// attempt counts even if its process dies. It does not count if the job is given back.
	Attempts int
	// Lease is the time after the death of a process until another process claims its job. Zero
	// means 1 minute. While Run runs, the lease is renewed after each third of this time.
	Lease time.Duration
	// Limit is the maximum time of one attempt. Zero means 1 hour. After this time, the context
	// ends and the lease is not renewed.
	Limit time.Duration
	// Backoff returns the pause after a failed attempt. The number of the first attempt is 1. If
	// Backoff is nil, the pause begins with at most 2 seconds and grows.
	Backoff func(attempt int) time.Duration
	// Secret says that payloads contain encrypted secrets. The payload of a job that is given up is
	// then replaced by {}.
	Secret bool
	// Every makes the job periodic. The whole instance has one such job, of organization 0, and no
	// call of Enqueue is needed. It first runs when the runner starts, and then Every after each
	// end. Zero means that the job is not periodic.
	Every time.Duration
	// Run runs a job. If it returns nil, the job is finished. If it returns an error, the job is
	// retried after the backoff, unless the error is Permanent or Later. The context ends if
	// another process claims the job. It also ends if this process stops, and the job is then given
	// back.
	Run func(ctx context.Context, j *Job) error
	// PutBack runs in the transaction that puts a failed job back into the queue, after that. It
	// may be nil. If it returns an error, the transaction is undone, and the job is claimed again
	// when its lease ends.
	PutBack func(ctx context.Context, tx db.Tx, j *Job) error
	// GaveUp runs in the transaction that marks a job as failed. It may be nil. It is called again
	// until it succeeds, and its transaction may run more than once.
	GaveUp func(ctx context.Context, tx db.Tx, j *Job, cause error) error
	// GivenUp is called after this transaction, unless it is nil.
	GivenUp func(j *Job)
}

// ErrLost is wrapped by errors of a job that another process has claimed, because this process
// seemed to be dead. The call has changed nothing.
var ErrLost = errors.New("job: another process has taken over the job")

// ErrTooLong is the cause with which the context of an attempt ends at Handler.Limit.
var ErrTooLong = errors.New("job: the attempt took too long")

// ErrDied is the cause for GaveUp if the process of the last attempt died and no error is known.
var ErrDied = errors.New("job: the process ended during each attempt")

// Job is a job that a Runner has claimed.
type Job struct {
	Organization int64
	// ID begins with job_.
	ID, Kind, Key string
	// Payload is JSON.
	Payload []byte
	// Attempt is the number of this attempt. The first is 1.
	Attempt int
	// CreatedAt is the time at which the job was enqueued.
	CreatedAt clock.Micros

	db    db.DB
	clock clock.Clock
	lease time.Duration
	// until is the time at which the first lease of this claim ends.
	until clock.Micros
	// claim is the number of this claim. It is the fencing token of statements on the job.
	claim int64
	// trace is the traceparent of the change that enqueued the job. It is empty if the change was
	// not traced.
	trace string
	// err is the error of the last attempt, or empty.
	err   string
	ended bool
	// first is the function of First, or nil.
	first func(tx db.Tx)
}

// First sets a function for the transactions that end the job or renew its lease. They call f
// before they lock the organization's row in job_turns. f locks rows that other transactions lock
// before they enqueue a job, which prevents deadlocks. It may only queue statements.
func (j *Job) First(f func(tx db.Tx)) { j.first = f }

// Decode decodes the payload into v. The error is Permanent.
func (j *Job) Decode(v any) error {
	if err := json.Unmarshal(j.Payload, v); err != nil {
		return Permanent(fmt.Errorf("job: payload of %s: %w", j.Kind, err))
	}
	return nil
}

// Finish commits the effects of f and the end of the job in one transaction. It returns ErrLost,
// without effects, if another process has claimed the job. f may be called more than once, and may
// be nil.
func (j *Job) Finish(ctx context.Context, f func(tx db.Tx) error) error {
	err := j.fenced(ctx, never, f, deleteJob)
	j.ended = j.ended || err == nil
	return err
}

// Update commits the effects of f while the job continues, and renews its lease. It returns
// ErrLost, without effects, if another process has claimed the job.
func (j *Job) Update(ctx context.Context, f func(tx db.Tx) error) error {
	until := clock.Now(j.clock).Add(j.lease)
	return j.fenced(ctx, until, f, renewJob, until)
}

// fenced runs a statement on the job and then f in one transaction. It returns ErrLost if the claim
// is no longer valid. If the due time of the organization in job_turns is later than due, it is set
// to due.
func (j *Job) fenced(
	ctx context.Context, due clock.Micros, f func(tx db.Tx) error, statement string, args ...any,
) error {
	args = append([]any{j.Organization, j.ID, j.claim}, args...)
	return j.db.WriteIn(ctx, j.Organization, func(tx db.Tx) error {
		if j.first != nil {
			j.first(tx)
		}
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

// permanent and later are the errors of Permanent and Later.
type (
	permanent struct{ error }
	later     struct{ after time.Duration }
)

func (p permanent) Unwrap() error { return p.error }
func (l later) Error() string     { return "job: again in " + l.after.String() }

// Permanent wraps an error that would occur in each further attempt. The job is given up at once.
// Permanent(nil) is nil.
func Permanent(err error) error {
	if err != nil {
		return permanent{err}
	}
	return nil
}

// Later returns an error for Handler.Run that makes the job run again after this time. The attempt
// does not count. It is for a job whose precondition is not yet met.
func Later(after time.Duration) error { return later{after} }
