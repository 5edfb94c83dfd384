package upload

import (
	"context"
	"errors"
	"strconv"
	"time"

	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/store/job"
)

// ExpireKind is the kind of a job that expires the sessions of an organization. One job expires
// all sessions whose time ends within the same hour. One job for each session would mean a
// million rows at a million uploads a day.
const ExpireKind = "uploads.expire"

const (
	// clearAfter is the time between the end of a session and the deletion of bytes that arrived
	// later. It is the time that 168 MiB need at the slowest accepted rate, see package rest.
	clearAfter = 3 * clock.Hour
	// expireEvery is the minimum time between two runs of the job.
	expireEvery = time.Minute
	// expirePage is the maximum number of sessions that one transaction ends.
	expirePage = 100
)

const (
	// selectOver selects expired sessions. It leaves out sessions whose bytes a running operation
	// still needs.
	selectOver = `select id from uploads where organization = $1 and expires_at >= $2 and expires_at < $3 and expires_at <= $4 and ended = false
		and not exists (select 1 from operations where operations.organization = $1 and operations.id = uploads.operation and operations.finished_at = 0)
		order by expires_at limit $5`
	selectCleared = `select id from uploads where organization = $1 and expires_at >= $2 and expires_at < $3 and expires_at <= $4 and ended = true
		order by expires_at limit $5`
	selectNextEnd = `select coalesce(min(case when ended then expires_at + $4 else expires_at end), 0) from uploads
		where organization = $1 and expires_at >= $2 and expires_at < $3`
	setEnded    = `update uploads set ended = $3, file_name = '', sha256 = '' where organization = $1 and id = $2`
	deleteEnded = `delete from uploads where organization = $1 and id = $2`
)

// hour is the payload of the job. From is the beginning of the hour in which the sessions end. A
// session lives for a day, so no session is added to an hour that has already begun.
type hour struct {
	From clock.Micros `json:"from"`
}

// expiry returns the job that expires the sessions of the hour that contains at.
func expiry(at clock.Micros) job.Spec {
	h := hour{at - at%clock.Hour}
	return job.Spec{Kind: ExpireKind, Key: strconv.FormatInt(int64(h.From), 10), Payload: h, Due: at}
}

// Expire ends expired sessions and deletes their bytes. A client that began to send before the
// end may send bytes after it. A bucket checks the time only at the beginning. A process may die
// before it deletes a late file. So Expire deletes the bytes again three hours later, together
// with the rows of the sessions.
func (r *Receiver) Expire(ctx context.Context, j *job.Job) error {
	var h hour
	if err := j.Decode(&h); err != nil {
		return err
	}
	e := expiryRun{r, j, h.From}
	if err := errors.Join(e.end(ctx), e.clear(ctx)); err != nil {
		return err
	}
	var next clock.Micros
	err := r.DB.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, selectNextEnd, j.Organization, h.From, h.From+clock.Hour, clearAfter).Scan(&next)
	})
	if err != nil || next == 0 {
		return err
	}
	return job.Later(max(next.Sub(clock.Now(r.Clock)), expireEvery))
}

// expiryRun is one run of the job.
type expiryRun struct {
	*Receiver
	job  *job.Job
	from clock.Micros
}

// page returns the ids of sessions of the hour whose end was at or before a time.
func (e *expiryRun) page(ctx context.Context, tx db.Tx, statement string, until clock.Micros) ([]string, error) {
	return db.Values[string](ctx, tx, statement, e.job.Organization, e.from, e.from+clock.Hour, until, expirePage)
}

// remove deletes the bytes of sessions.
func (e *expiryRun) remove(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := e.Store.Delete(ctx, Staged(e.job.Organization, name)); err != nil {
			return err
		}
	}
	return nil
}

// end marks expired sessions as ended, so that no document can be made from them, and then
// deletes their bytes. If the deletion fails, it removes the marks. If the process dies, the
// second deletion removes the bytes.
func (e *expiryRun) end(ctx context.Context) error {
	for {
		var names []string
		set := func(ended bool) func(tx db.Tx) error {
			return func(tx db.Tx) (err error) {
				if ended {
					names, err = e.page(ctx, tx, selectOver, clock.Now(e.Clock))
				}
				for _, name := range names {
					tx.Queue(setEnded, e.job.Organization, name, ended)
				}
				return err
			}
		}
		if err := e.job.Update(ctx, set(true)); err != nil || len(names) == 0 {
			return err
		}
		if err := e.remove(ctx, names); err != nil {
			return errors.Join(err, e.job.Update(ctx, set(false)))
		}
	}
}

// clear deletes the rows of ended sessions and bytes that arrived late.
func (e *expiryRun) clear(ctx context.Context) error {
	for {
		var names []string
		err := e.DB.Read(ctx, func(tx db.Tx) (err error) {
			names, err = e.page(ctx, tx, selectCleared, clock.Now(e.Clock)-clearAfter)
			return err
		})
		if err != nil || len(names) == 0 {
			return err
		}
		if err := e.remove(ctx, names); err != nil {
			return err
		}
		err = e.job.Update(ctx, func(tx db.Tx) error {
			for _, name := range names {
				tx.Queue(deleteEnded, e.job.Organization, name)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}
