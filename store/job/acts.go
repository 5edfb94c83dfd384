package job

import (
	"context"
	"errors"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
)

// Count is the number of jobs of one kind in one state.
type Count struct {
	Kind  string `json:"kind"`
	State string `json:"state"`
	Count int64  `json:"count"`
	// Oldest is the earliest time at which one of the jobs was due (waiting), claimed (running) or
	// given up (failed). For waiting jobs it may be in the future.
	Oldest clock.Micros `json:"oldest"`
	// Created is the earliest time at which one of the jobs was enqueued.
	Created clock.Micros `json:"-"`
	// Error is the error of the last attempt of one of the jobs. It is empty if no attempt failed.
	// It shows failing jobs before they are given up.
	Error string `json:"error"`
}

// FailedJob is a job that was given up.
type FailedJob struct {
	Organization int64        `json:"-"`
	ID           string       `json:"id"`
	Kind         string       `json:"kind"`
	Attempts     int          `json:"attempts"`
	Error        string       `json:"error"`
	CreatedAt    clock.Micros `json:"createdAt"`
	FailedAt     clock.Micros `json:"failedAt"`
}

// Counts returns the numbers of jobs of all organizations, by kind and state.
func Counts(ctx context.Context, tx db.Tx) ([]Count, error) {
	counts, err := db.List(ctx, tx, func(row db.Row) (c Count, err error) {
		err = row.Scan(&c.Kind, &c.State, &c.Count, &c.Oldest, &c.Created, &c.Error)
		return c, err
	}, countJobs)
	return append([]Count{}, counts...), err
}

// FailedJobs returns at most limit jobs that were given up, the latest first.
func FailedJobs(ctx context.Context, tx db.Tx, limit int) ([]FailedJob, error) {
	list, err := db.List(ctx, tx, func(row db.Row) (f FailedJob, err error) {
		err = row.Scan(&f.Organization, &f.ID, &f.Kind, &f.Attempts, &f.Error, &f.CreatedAt, &f.FailedAt)
		return f, err
	}, selectFailed, limit)
	return append([]FailedJob{}, list...), err
}

// Retry makes a failed job run again with all its attempts, and returns its organization. It
// returns fault.NotFound if there is no such job. It returns db.ErrDuplicate if another job with
// the same key waits or runs.
func Retry(ctx context.Context, tx db.Tx, now clock.Micros, id string) (organization int64, err error) {
	err = tx.QueryRow(ctx, findFailed, id).Scan(&organization)
	if errors.Is(err, db.ErrNoRows) {
		return 0, fault.New(fault.NotFound)
	}
	if err != nil {
		return 0, err
	}
	tx.Queue(keepTurn, organization, now)
	n, err := tx.Exec(ctx, retryJob, organization, id, now)
	if err == nil && n == 0 {
		err = fault.New(fault.NotFound)
	}
	tx.NotifyLocal(Topic, "")
	tx.Notify(Topic, "")
	return organization, err
}
