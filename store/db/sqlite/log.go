package sqlite

import (
	"context"
	"errors"
	"time"

	"kartei/store/db"
	"kartei/store/db/sqlite/driver"
)

const (
	// checkpointPages is the growth of the write-ahead log, in pages of 4 KiB, that triggers a
	// checkpoint. A page that was written several times is copied once. The index of the log finds
	// 4,000 pages in one step.
	checkpointPages = 4000
	// restartPages is the size of the log at which the writer pauses until the log can be written
	// from its beginning. Otherwise the log would grow without limit under constant writes.
	restartPages = 4 * checkpointPages

	// emptyAfter is the time from the first change in the log to its truncation. Erased data
	// remains in the log, and in the file until the log is copied. If readers block the truncation,
	// it is tried again after at most emptyRetry. A read that blocks for longestRead is
	// interrupted, as PostgreSQL ends a long statement.
	//
	// New readers do not use the log once all of it is copied. So the log is empty 50 seconds after
	// a change: emptyAfter, twice longestRead, and two retries in between. A backup is not
	// interrupted, because it contains the same data as the log.
	emptyAfter  = 15 * time.Second
	emptyRetry  = 5 * time.Second
	longestRead = 10 * time.Second
	// emptyWait is the maximum time that the writer waits for the last readers of the log. Each
	// attempt delays writes by at most this time.
	emptyWait = 50 * time.Millisecond
	// emptyLate is the time after which a failing truncation is reported to the operator.
	emptyLate = time.Minute
)

// emptyLog copies the log to the file and truncates it, if w.reclaim is set.
//
// On a full disk the log may occupy all free space. This checkpoint comes before the write, because
// the write would use the first free megabyte for the log. The checkpoint uses that megabyte and
// frees up to 64. If not even that is free, emptyLog removes the reserve for it. If a long read
// blocks the truncation, most of the log is still copied, and the log starts over after the read.
func (w *writer) emptyLog() {
	if !w.reclaim.Load() {
		return
	}
	_, _, err := w.conn.Checkpoint(driver.Truncate)
	if isFull(err) && w.reserve.give() {
		_, _, err = w.conn.Checkpoint(driver.Truncate)
		w.reserve.keep()
	}
	w.reclaim.Store(isFull(err))
	if !isFull(err) {
		w.checkpointed.Store(0)
	}
}

// countLog passes the number of pages that a commit added to the log to w.logged. After a
// checkpoint the log starts over. Then all of its pages are new.
func (w *writer) countLog() {
	pages := w.conn.LogPages()
	added := pages - w.counted
	if added <= 0 {
		added = pages
	}
	w.counted = pages
	w.logged(added)
}

// watchLog requests a checkpoint if the log has grown by checkpointPages.
func (w *writer) watchLog() {
	pages := int64(w.conn.LogPages())
	done := w.checkpointed.Load()
	if pages < done {
		// The log was started over.
		w.checkpointed.Store(0)
		done = 0
	}
	if pages-done < checkpointPages {
		return
	}
	select {
	case w.checkpointNow <- struct{}{}:
	default:
	}
}

// noteChange schedules the truncation of the log after a change.
func (w *writer) noteChange() {
	if !w.full.Load() && w.full.CompareAndSwap(false, true) {
		w.changed <- struct{}{} // never blocks: full is cleared after the element was received
	}
}

// checkpointLoop copies the write-ahead log to the file concurrently with the writer. SQLite's
// automatic checkpoint would make one commit in some hundred wait for two more fsyncs and the
// copying. The loop also truncates the log some time after a change, so that it contains no erased
// data.
func (w *writer) checkpointLoop() {
	defer w.checkpointDone.Done()
	var due <-chan time.Time
	var e truncation
	for {
		select {
		case <-w.stop:
			return
		case <-w.checkpointNow:
			if log, err := w.copyLog(); err == nil && log >= restartPages {
				w.restartLog()
			}
		case <-w.changed:
			e = truncation{since: w.clock.Now()}
			due = w.clock.After(emptyAfter)
		case <-due:
			due = nil
			if err := w.tryEmpty(); err != nil {
				due = w.clock.After(e.again(w, err))
			}
		}
	}
}

// truncation is the state of a scheduled truncation of the log.
type truncation struct {
	since time.Time // time of the first change
	wait  time.Duration
	told  bool
}

// again returns the pause before the next attempt to truncate the log. It logs the cause once after
// emptyLate.
func (e *truncation) again(w *writer, err error) time.Duration {
	if late := w.clock.Now().Sub(e.since); late >= emptyLate && !e.told && !errors.Is(err, db.ErrClosed) {
		e.told = true
		switch {
		case w.reclaim.Load(), isFull(err):
			w.log.Warn("the write-ahead log cannot be emptied and may contain erased data, because the disk is full",
				"since", late.String())
		case errors.Is(err, errLogInUse):
			w.log.Warn("the write-ahead log cannot be emptied and may contain erased data, because a backup or another program reads the database", "since", late.String())
		default:
			w.log.Warn("the write-ahead log cannot be emptied and may contain erased data", "since", late.String(), "error", err)
		}
	}
	e.wait = min(max(2*e.wait, time.Second), emptyRetry)
	return e.wait
}

// errLogInUse is the error of an attempt to truncate a log that a connection reads.
var errLogInUse = errors.New("db: the write-ahead log is in use")

// copyLog copies as much of the log as possible without waiting, and returns the number of pages in
// the log. It does not log an error, because the log is copied again later. Writes reports a full
// or broken disk.
func (w *writer) copyLog() (log int, err error) {
	log, done, err := w.checkpoints.Checkpoint(driver.Passive)
	if err != nil {
		return log, err
	}
	w.checkpointed.Store(int64(done))
	return log, nil
}

// tryEmpty copies the log to the file and truncates it. Most of the log is copied while the writer
// continues. The writer then pauses until the rest is copied, and waits up to emptyWait for
// connections that still read the log. If one of them does not finish, the error is errLogInUse.
func (w *writer) tryEmpty() error {
	log, err := w.copyLog()
	switch {
	case err != nil && !isBusy(err):
		return err
	case err != nil || int64(log) > w.checkpointed.Load():
		w.interruptLong()
		return errLogInUse
	}
	err = w.doAlone(context.Background(), func() error {
		w.conn.BusyTimeout(emptyWait)
		defer w.conn.BusyTimeout(busyTimeout)
		_, _, err := w.conn.Checkpoint(driver.Truncate)
		if err != nil {
			return err
		}
		w.checkpointed.Store(0)
		w.full.Store(false)
		return nil
	})
	switch {
	case err == nil:
		w.empties.Add(1)
		w.reserve.keep()
	case isBusy(err):
		w.interruptLong()
		return errLogInUse
	}
	return err
}

// isBusy reports whether SQLite waited too long for another connection.
func isBusy(err error) bool {
	var lite *driver.Error
	return errors.As(err, &lite) && lite.Primary() == driver.Busy
}

// restartLog pauses the writer until the rest of the log is copied and its last readers have
// finished.
func (w *writer) restartLog() {
	err := w.doAlone(context.Background(), func() error {
		_, _, err := w.conn.Checkpoint(driver.Restart)
		select {
		case <-w.checkpointNow: // this checkpoint fulfils an earlier request
		default:
		}
		return err
	})
	switch {
	case err == nil:
		w.restarts.Add(1)
	case !errors.Is(err, db.ErrClosed):
		w.log.Warn("the write-ahead log keeps growing", "error", err)
	}
}
