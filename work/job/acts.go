package job

import (
	"context"
	"errors"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
)

// Count is how many jobs of a kind are in a state.
type Count struct {
	Kind  string `json:"kind"`
	State string `json:"state"`
	Count int64  `json:"count"`
	// Oldest is when the first of them was due (waiting), taken (running) or
	// given up (failed). That of a waiting one may be in the future.
	Oldest clock.Micros `json:"oldest"`
	// Created is when the first of them was enqueued.
	Created clock.Micros `json:"-"`
	// Error is that of the last attempt of one of them, empty where none failed:
	// so what is tried again and again is seen before it is given up.
	Error string `json:"error"`
}

// FailedJob is one job that was given up.
type FailedJob struct {
	Organization int64        `json:"-"`
	ID           string       `json:"id"`
	Kind         string       `json:"kind"`
	Attempts     int          `json:"attempts"`
	Error        string       `json:"error"`
	CreatedAt    clock.Micros `json:"createdAt"`
	FailedAt     clock.Micros `json:"failedAt"`
}

// Counts counts the jobs of all organizations.
func Counts(ctx context.Context, d db.DB) (counts []Count, err error) {
	err = d.Read(ctx, func(tx db.Tx) error {
		counts = []Count{}
		rows, err := tx.Query(ctx, countJobs)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var c Count
			if err := rows.Scan(&c.Kind, &c.State, &c.Count, &c.Oldest, &c.Created, &c.Error); err != nil {
				return err
			}
			counts = append(counts, c)
		}
		return rows.Err()
	})
	return counts, err
}

// FailedJobs returns jobs that were given up, the last one first.
func FailedJobs(ctx context.Context, d db.DB, limit int) (list []FailedJob, err error) {
	err = d.Read(ctx, func(tx db.Tx) error {
		list = []FailedJob{}
		rows, err := tx.Query(ctx, selectFailed, limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var f FailedJob
			if err := rows.Scan(&f.Organization, &f.ID, &f.Kind, &f.Attempts, &f.Error, &f.CreatedAt, &f.FailedAt); err != nil {
				return err
			}
			list = append(list, f)
		}
		return rows.Err()
	})
	return list, err
}

// Retry has a job that was given up tried again, with all its attempts. It is
// fault.NotFound where there is no such job, and ErrDuplicate of db where its
// key is in use by another.
func Retry(ctx context.Context, d db.DB, now clock.Micros, id string) error {
	var organization int64
	err := d.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, findFailed, id).Scan(&organization) })
	if errors.Is(err, db.ErrNoRows) {
		return fault.New(fault.NotFound)
	}
	if err != nil {
		return err
	}
	return d.Write(ctx, func(tx db.Tx) error {
		tx.Queue(keepTurn, organization, now)
		n, err := tx.Exec(ctx, retryJob, organization, id, now)
		if err == nil && n == 0 {
			err = fault.New(fault.NotFound)
		}
		tx.NotifyLocal(Topic, "")
		tx.Notify(Topic, "")
		return err
	})
}
