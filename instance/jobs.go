package instance

import (
	"context"
	"errors"
	"slices"

	"kartei/access"
	"kartei/api"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
	"kartei/webhook"
	"kartei/work/job"
	"kartei/work/retention"
)

// runner makes what runs the jobs; whoever has jobs adds its handlers here. An
// instance has one runner: it takes jobs of every kind.
func (i *Instance) runner() (*job.Runner, error) {
	maker, err := i.newMaker()
	if err != nil {
		return nil, err
	}
	handlers := slices.Concat(retention.New(i.DB, i.clock, retention.Rules).Handlers(), maker.Handlers(), i.receiver.Handlers(),
		(&webhook.Desk{DB: i.DB, Clock: i.clock, Families: api.Families}).Handlers(), webhook.Eraser{Clock: i.clock}.Handlers(), i.eraser().handlers(), i.notices.Handlers())
	return job.NewRunner(i.DB, i.clock, handlers, job.Options{Logger: i.logger, Observe: i.metrics.Jobs(), Tracer: i.tracer}), nil
}

// JobsInput is what the act job.list takes.
type JobsInput struct {
	// Limit is how many failed jobs are listed at most, 1 to 1,000; zero is 100.
	Limit int `json:"limit,omitempty"`
}

// JobsOutput is what the act job.list answers.
type JobsOutput struct {
	// Counts are by kind and state; no number is 0.
	Counts []job.Count `json:"counts"`
	// Failed are the jobs that were given up last.
	Failed []FailedJob `json:"failed"`
}

// FailedJob is a job that was given up.
type FailedJob struct {
	job.FailedJob
	// Organization is its id, empty for the instance's own.
	Organization string `json:"organizationId"`
}

// RetryInput is what the act job.retry takes.
type RetryInput struct {
	ID string `json:"id"`
}

// listJobs says what waits, runs and has failed.
func listJobs(d db.DB) func(context.Context, JobsInput) (JobsOutput, error) {
	return func(ctx context.Context, in JobsInput) (out JobsOutput, err error) {
		if in.Limit <= 0 || in.Limit > 1000 {
			in.Limit = 100
		}
		if out.Counts, err = job.Counts(ctx, d); err != nil {
			return out, err
		}
		failed, err := job.FailedJobs(ctx, d, in.Limit)
		if err != nil {
			return out, err
		}
		out.Failed = make([]FailedJob, len(failed))
		err = d.Read(ctx, func(tx db.Tx) error {
			for n, f := range failed {
				id, err := access.OrganizationID(ctx, tx, f.Organization)
				if err != nil {
					return err
				}
				out.Failed[n] = FailedJob{f, id}
			}
			return nil
		})
		return out, err
	}
}

// errKeyInUse is what a job meets whose key another one has now.
var errKeyInUse = errors.New("another job does the same now: it does not need to be retried")

// retryJob has a failed job tried again.
func retryJob(d db.DB, now func() clock.Micros) func(context.Context, RetryInput) (Nothing, error) {
	return func(ctx context.Context, in RetryInput) (Nothing, error) {
		err := job.Retry(ctx, d, now(), in.ID)
		switch {
		case errors.Is(err, db.ErrDuplicate):
			err = errKeyInUse
		case fault.Is(err, fault.NotFound):
			err = errors.New("there is no failed job " + in.ID)
		}
		return Nothing{}, err
	}
}
