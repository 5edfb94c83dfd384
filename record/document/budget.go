package document

import (
	"context"
	"time"

	"kartei/extract"
	"kartei/kit/clock"
	"kartei/record/operation"
	"kartei/store/blob"
	"kartei/store/db"
	"kartei/store/job"
)

const (
	// slice is the length of the periods in which the spent time is counted. Each slice is a row
	// of reading_time. It counts until an hour after its end, so no hour exceeds the budget.
	slice  = 5 * time.Minute
	window = time.Hour + slice
	// longestWait is the maximum time that a document waits for the budget. Then the document is
	// created without its text. So an office that sends too many files still has its documents on
	// the same day.
	longestWait = 6 * time.Hour
)

// overdrawn is the reason in the log if a text was not read within longestWait.
const overdrawn extract.Reason = "budget"

// reservation is the processor time that an attempt reserves in the budget of the organization.
type reservation struct {
	at       clock.Micros  // the slice, or 0 without a reservation
	reserved time.Duration // the maximum time for reading the file
	took     time.Duration
	skipped  bool // the document waited for longestWait
}

// Spent returns the processor time that this process has spent on reading texts.
func (m *Maker) Spent() time.Duration { return time.Duration(m.spent.Load()) }

// Waits returns the number of times that a document had to wait for the budget of its
// organization.
func (m *Maker) Waits() int64 { return m.waits.Load() }

// room returns the processor time that reading the file may take. It returns zero if the text is
// not to be read. If the budget is used up, it returns job.Later before any other work. The spent
// time is in the database, so it includes all replicas and survives restarts. The transactions of
// an organization's jobs do not overlap (see job.Update). So no two of them reserve the same
// time.
func (w *work) room(ctx context.Context, tx db.Tx) (need time.Duration, err error) {
	need = w.Extractor.Allowance(w.Fields.ContentType, w.Fields.Size)
	if w.Budget == 0 || need == 0 {
		return 0, nil
	}
	now := clock.Now(w.Clock)
	wait, err := w.wait(ctx, tx, now, need)
	if err != nil || wait == 0 {
		return need, err
	}
	left := w.job.CreatedAt.Add(longestWait).Sub(now)
	if left <= 0 {
		w.reservation.skipped = true
		return 0, nil
	}
	w.waits.Add(1)
	w.logWait(now, now.Add(wait))
	return 0, job.Later(min(wait, left))
}

// wait returns the time until the budget has room for need. It returns zero if it has room now.
func (w *work) wait(ctx context.Context, tx db.Tx, now clock.Micros, need time.Duration) (time.Duration, error) {
	rows, err := tx.Query(ctx, `select at, spent from reading_time where organization = $1 and at > $2 order by at`,
		w.job.Organization, now.Add(-window))
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	type expense struct {
		at    clock.Micros
		spent time.Duration
	}
	var list []expense
	total := need
	for rows.Next() {
		var s expense
		var micros int64
		if err := rows.Scan(&s.at, &micros); err != nil {
			return 0, err
		}
		s.spent = time.Duration(micros) * time.Microsecond
		total += s.spent
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	wait := time.Duration(0)
	for _, s := range list {
		if total <= w.Budget {
			break
		}
		total -= s.spent
		wait = s.at.Add(window).Sub(now)
	}
	return wait, nil
}

// logWait logs that the documents of an organization wait until a time. It does not log again
// before that time.
func (w *work) logWait(now, until clock.Micros) {
	if last, known := w.loggedUntil.Load(w.job.Organization); known && last.(clock.Micros) > now {
		return
	}
	w.loggedUntil.Store(w.job.Organization, until)
	w.Logger.Warn("documents wait: their organization has used up its reading time for this hour", "organization",
		w.job.Organization, "budget", w.Budget.String())
}

// reserve reserves the maximum time for reading the file, and stores the progress of the
// operation. If the process dies, the whole reservation counts as spent.
func (w *work) reserve(ctx context.Context, percent int64) error {
	return w.job.Update(ctx, func(tx db.Tx) error {
		w.reservation = reservation{}
		need, err := w.room(ctx, tx)
		if err != nil {
			return err
		}
		now := clock.Now(w.Clock)
		operation.Progress(tx, w.job.Organization, w.operation.ID, now, percent)
		if need == 0 {
			return nil
		}
		at := now - now%clock.Micros(slice.Microseconds())
		w.reservation.at, w.reservation.reserved = at, need
		tx.Queue(`delete from reading_time where organization = $1 and at <= $2`, w.job.Organization, now.Add(-window))
		tx.Queue(`insert into reading_time (organization, at, spent) values ($1, $2, $3)
			on conflict (organization, at) do update set spent = reading_time.spent + excluded.spent`, w.job.Organization,
			at, need.Microseconds())
		return nil
	})
}

// releaseBudget queues the return of the unused part of a reservation.
func (w *work) releaseBudget(tx db.Tx) {
	if r := w.reservation; r.at > 0 {
		tx.Queue(`update reading_time set spent = spent + $3 where organization = $1 and at = $2`, w.job.Organization,
			r.at, (r.took - r.reserved).Microseconds())
	}
}

// text reads the text of the file.
func (w *work) text(ctx context.Context, file blob.Reader) (extract.Text, error) {
	if w.reservation.skipped {
		return extract.Text{Reason: overdrawn}, nil
	}
	limit := w.Extractor.Allowance(w.Fields.ContentType, w.Fields.Size)
	text, took, err := w.Extractor.Within(ctx, limit, w.job.Organization, file, w.Fields.ContentType)
	w.reservation.took = took
	w.spent.Add(int64(took))
	if err == nil || ctx.Err() != nil || w.reservation.at == 0 {
		return text, err
	}
	// The failure is not caused by the file, so the job is retried. The retry reserves time
	// again.
	if again := w.job.Update(ctx, func(tx db.Tx) error { w.releaseBudget(tx); return nil }); again == nil {
		w.reservation.at = 0
	}
	return text, err
}
