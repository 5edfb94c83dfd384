// Package jobs owns how the operator sees the jobs of an instance, and repeats failed ones.
package jobs

import (
	"context"
	"errors"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/audit"
	"kartei/store/db"
	"kartei/store/job"
)

// Input is the input of List.
type Input struct {
	// Limit is the maximum number of failed jobs in the output, from 1 to 1,000. Zero means 100.
	Limit int `json:"limit,omitempty"`
}

// Output is the output of List.
type Output struct {
	// Counts has the number of jobs for each kind and state. Combinations without jobs are missing.
	Counts []job.Count `json:"counts"`
	// Failed has the failed jobs, the last first.
	Failed []FailedJob `json:"failed"`
}

// FailedJob is a job that failed and is not tried again.
type FailedJob struct {
	job.FailedJob
	// Organization is the id of the job's organization. It is empty for a job of the instance.
	Organization string `json:"organizationId"`
}

// List returns the number of jobs for each kind and state, and the failed jobs.
var List = op.New("jobs.list", op.Read, list, op.By(op.Operator))

func list(ctx context.Context, c *op.Call, in Input) (out Output, err error) {
	limit, err := op.PageSize(in.Limit, 100)
	if err != nil {
		return out, err
	}
	if out.Counts, err = job.Counts(ctx, c.Tx); err != nil {
		return out, err
	}
	failed, err := job.FailedJobs(ctx, c.Tx, limit)
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

// Retry makes a failed job run again.
var Retry = op.New("jobs.retry", op.Administer, retry, op.By(op.Operator), op.Audited("job.retry"))

func retry(ctx context.Context, c *op.Call, in op.ByID) (op.Nothing, error) {
	_, err := job.Retry(ctx, c.Tx, c.Now, in.ID)
	switch {
	case errors.Is(err, db.ErrDuplicate): // another job has the same key now
		return op.Nothing{}, fault.Invalid(fault.Field{Name: "id", Code: fault.Duplicate, Text: keyInUse})
	case fault.Is(err, fault.NotFound):
		return op.Nothing{}, &fault.Fault{Code: fault.NotFound, Detail: i18n.Format("There is no failed job %s.", in.ID)}
	}
	c.Audit.About(audit.Instance, in.ID)
	return op.Nothing{}, err
}

var keyInUse = i18n.Text("Another job does the same now, so this one does not need to be retried.")
