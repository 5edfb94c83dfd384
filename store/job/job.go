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

// Topic is the topic that wakes runners.
const Topic = "jobs"

// maxPayload bounds a payload, in bytes of JSON. Larger data belongs in a table
// of its own or in storage.
const maxPayload = 64 << 10

// never is the due time if nothing is due.
const never clock.Micros = 1<<63 - 1

// Spec describes a job.
type Spec struct {
	// Kind names a Handler.
	Kind string
	// Key makes the job unique. While a job of the same organization, kind and
	// key waits or runs, another is dropped. An empty key is never unique.
	Key string
	// Payload becomes JSON of at most 64 KiB for the handler. It refers to
	// records by id and holds no personal data and no secrets. Failed jobs keep
	// it for weeks, whatever is erased meanwhile.
	Payload any
	// Due is when the job may begin. Zero, or a time in the past, means at
	// once.
	Due clock.Micros
	// Soon applies if a job with the same key already waits. That job then
	// becomes due no later than this one. If its last attempt failed, Rest is
	// the least time between the beginnings of that attempt and the next. At
	// most Attempts of its attempts count from then on.
	Soon     bool
	Rest     time.Duration
	Attempts int
}

// Enqueue adds a job in the transaction of the change that asks for it. The
// runners of this process wake after the commit. It only queues statements, so
// it costs no round trip. It locks the organization's turn until the commit, so
// it must be called before db.Tx.Tick to prevent deadlocks. If ctx carries a span,
// the job continues its trace.
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

// Handler runs the jobs of one kind, on any replica. Since processes die, a job
// may run more than once. Its effects must be harmless to repeat, or happen in
// Job.Finish.
type Handler struct {
	// Kind names the handler in the database and in metrics. It must never
	// change, since jobs wait under it.
	Kind string
	// Attempts is the number of attempts before a job is given up; zero means
	// no bound. An attempt that was given back does not count. An attempt that
	// ended with its process counts.
	Attempts int
	// Lease is the time after the death of a process until another claims its
	// job; zero means 1 minute. While Run runs, the lease is renewed after each
	// third of that time.
	Lease time.Duration
	// Limit bounds one attempt; zero means 1 hour. After that its context ends
	// and its lease is not renewed.
	Limit time.Duration
	// Backoff, if not nil, returns the pause after a failed attempt. The first
	// attempt is 1. Nil means a pause that begins with some seconds and grows.
	Backoff func(attempt int) time.Duration
	// Secret says that payloads hold sealed data. The payload of a job that is
	// given up becomes {}.
	Secret bool
	// Every makes the job run periodically without being enqueued. There is one
	// in the whole instance, of organization 0. It first runs when the runner
	// starts, and then Every after each end.
	Every time.Duration
	// Run runs a job. If it returns nil without Job.Finish, the job is
	// finished. If it fails, the job is retried after the backoff, unless the
	// error is Permanent or Later. Its context ends if another process claims
	// the job. It also ends if this process stops, which gives the job back.
	Run func(ctx context.Context, j *Job) error
	// PutBack, if not nil, runs in the transaction that puts a failed job back
	// into the queue, after it was put back. If it fails, the job is claimed
	// again when its lease ends.
	PutBack func(ctx context.Context, tx db.Tx, j *Job) error
	// GaveUp, if not nil, runs in the transaction that marks a job as failed.
	// It is retried until it succeeds, and may run more than once.
	GaveUp func(ctx context.Context, tx db.Tx, j *Job, cause error) error
	// GivenUp, if not nil, is called after that transaction.
	GivenUp func(j *Job)
}

// ErrLost is returned, wrapped, if another process has claimed the job because
// this one counted as dead. Nothing was changed.
var ErrLost = errors.New("job: another process has taken over the job")

// ErrTooLong is the cause that ends the context of an attempt at its Handler's
// Limit.
var ErrTooLong = errors.New("job: the attempt took too long")

// ErrDied is the cause for GaveUp if the last attempt ended with its process
// and no error is known.
var ErrDied = errors.New("job: the process ended during each attempt")

// Job is a job that a runner has claimed.
type Job struct {
	Organization int64
	// ID begins with job_.
	ID, Kind, Key string
	// Payload is JSON.
	Payload []byte
	// Attempt counts the attempts; the first is 1.
	Attempt int
	// CreatedAt is when the job was enqueued.
	CreatedAt clock.Micros

	db    db.DB
	clock clock.Clock
	lease time.Duration
	// until is the end of the first lease.
	until clock.Micros
	// claim is the fencing token of this claim.
	claim int64
	// trace is the trace of the change that enqueued the job, usually empty.
	trace string
	// err is the error of the last attempt.
	err   string
	ended bool
	// first is what First set.
	first func(tx db.Tx)
}

// First sets what transactions that end or renew the job do before they lock the
// organization's turn. It is for rows that other transactions lock before they
// enqueue a job. f only queues statements.
func (j *Job) First(f func(tx db.Tx)) { j.first = f }

// Decode decodes the payload.
func (j *Job) Decode(v any) error {
	if err := json.Unmarshal(j.Payload, v); err != nil {
		return Permanent(fmt.Errorf("job: payload of %s: %w", j.Kind, err))
	}
	return nil
}

// Finish commits the effects of f and the end of the job in one transaction. It
// fails with ErrLost, without effects, if another process has claimed the job.
// f may run more than once, and may be nil.
func (j *Job) Finish(ctx context.Context, f func(tx db.Tx) error) error {
	err := j.fenced(ctx, never, f, deleteJob)
	j.ended = j.ended || err == nil
	return err
}

// Update commits the effects of f while the job goes on, and renews its lease.
// It fails with ErrLost like Finish.
func (j *Job) Update(ctx context.Context, f func(tx db.Tx) error) error {
	until := clock.Now(j.clock).Add(j.lease)
	return j.fenced(ctx, until, f, renewJob, until)
}

// fenced runs a statement on the job and f in one transaction, if the claim is
// still valid. The organization's turn comes no later than due.
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

// permanent and later are errors of Run that decide what happens to the job.
type (
	permanent struct{ error }
	later     struct{ after time.Duration }
)

func (p permanent) Unwrap() error { return p.error }
func (l later) Error() string     { return "job: again in " + l.after.String() }

// Permanent wraps an error that every further attempt would repeat. The job is
// given up at once. Permanent(nil) is nil.
func Permanent(err error) error {
	if err != nil {
		return permanent{err}
	}
	return nil
}

// Later returns an error that makes the job run again after a time, without
// counting the attempt. It is for a job whose precondition does not hold yet.
func Later(after time.Duration) error { return later{after} }
