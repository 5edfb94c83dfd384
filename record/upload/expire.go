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

// ExpireKind is the kind of job that ends the sessions of an organization that
// expire within the same hour. One job for each session would be a million rows
// at a million uploads a day.
const ExpireKind = "uploads.expire"

const (
	// clearAfter is the pause between the end of a session and the search for bytes that
	// arrived after it. It is the time that 168 MiB take at the slowest accepted
	// rate, see package rest.
	clearAfter = 3 * clock.Hour
	// expireEvery is the shortest time between two runs of the job.
	expireEvery = time.Minute
	// expirePage is how many sessions one transaction ends.
	expirePage = 100
)

const (
	// selectOver finds expired sessions, except those whose bytes a running
	// operation still needs.
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

// hour is the hour in which sessions end. Sessions live for a day, so none is
// added to an hour that has begun.
type hour struct {
	From clock.Micros `json:"from"`
}

// expiry is the input of the job that ends sessions of an hour.
func expiry(at clock.Micros) job.Spec {
	h := hour{at - at%clock.Hour}
	return job.Spec{Kind: ExpireKind, Key: strconv.FormatInt(int64(h.From), 10), Payload: h, Due: at}
}

// Expire ends expired sessions, and deletes bytes without a document. A client
// that began to send before the end may send bytes after it. A bucket checks
// the time only at the beginning, and a process may die before it deletes a
// late file. So bytes are deleted once more three hours later, together with
// the sessions.
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

// page reads some sessions of the hour that ended before a time.
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

// end ends sessions, so no document can be made of them, and then deletes their
// bytes. If ending fails, the sessions stay. If the process dies, the second
// deletion removes the bytes.
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

// clear deletes ended sessions and their late bytes.
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
