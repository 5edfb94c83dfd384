package settings

import (
	"context"
	"errors"

	"kartei/access"
	"kartei/app"
	"kartei/audit"
	"kartei/kit/fault"
	"kartei/store/db"
	"kartei/work/job"
)

// JobsInput is what ListJobs takes.
type JobsInput struct {
	// Limit is how many failed jobs are listed at most, 1 to 1,000; zero is 100.
	Limit int `json:"limit,omitempty"`
}

// JobsOutput is what ListJobs answers.
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

// ListJobs says what waits, runs and has failed.
func ListJobs(ctx context.Context, c *app.Call, in JobsInput) (out JobsOutput, err error) {
	if in.Limit <= 0 || in.Limit > maxPage {
		in.Limit = 100
	}
	if out.Counts, err = job.Counts(ctx, c.Tx); err != nil {
		return out, err
	}
	failed, err := job.FailedJobs(ctx, c.Tx, in.Limit)
	if err != nil {
		return out, err
	}
	out.Failed = make([]FailedJob, len(failed))
	for n, f := range failed {
		id, err := access.OrganizationID(ctx, c.Tx, f.Organization)
		if err != nil {
			return out, err
		}
		out.Failed[n] = FailedJob{f, id}
	}
	return out, nil
}

// RetryJob has a failed job tried again.
func RetryJob(ctx context.Context, c *app.Call, in access.ByID) (app.Nothing, error) {
	_, err := job.Retry(ctx, c.Tx, c.Now, in.ID)
	switch {
	case errors.Is(err, db.ErrDuplicate): // another job has its key now
		return app.Nothing{}, fault.Invalid(fault.Field{Name: "id", Code: fault.Duplicate, Text: &keyInUse})
	case fault.Is(err, fault.NotFound):
		return app.Nothing{}, &fault.Fault{Code: fault.NotFound, Detail: &fault.Text{
			DE: "Einen gescheiterten Auftrag " + in.ID + " gibt es nicht.",
			EN: "There is no failed job " + in.ID + ".",
		}}
	}
	c.Audit.About(audit.Instance, in.ID)
	return app.Nothing{}, err
}

var keyInUse = fault.Text{
	DE: "Ein anderer Auftrag tut gerade dasselbe; dieser muss nicht wiederholt werden.",
	EN: "Another job does the same now, so this one does not need to be retried.",
}
