package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/store/db"
	"kartei/store/setting"
)

const (
	// tryEvery is the interval of the test writes while the database refuses writes.
	tryEvery = 10 * time.Second
	// trySetting is the name of the setting that a test write stores.
	trySetting = "last-try"
)

// tryWrites makes a test write every tryEvery while the database refuses writes, until ctx ends.
// Without the test and without calls, the alarm would continue after writes succeed again.
func (i *Instance) tryWrites(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.clock.After(tryEvery):
		}
		if i.DB.Writes().Refused() == nil {
			continue
		}
		// db.Writes reports the result.
		_ = i.DB.Write(ctx, func(tx db.Tx) error {
			return setting.Put(ctx, tx, trySetting, i.clock.Now().UTC().Format(time.RFC3339))
		})
	}
}

// Explain returns a function that adds details for the operator to an error of the database: which
// disk is full, or which server does not answer. It does not change the error of a commit with an
// unknown outcome. refused returns the reason why the database refuses writes now, or nil.
func Explain(refused func() error) func(error) error {
	return func(err error) error {
		f, is := errors.AsType[*fault.Fault](err)
		if !errors.Is(err, db.ErrUnavailable) || errors.Is(err, db.ErrUnknownOutcome) ||
			is && f.Code != fault.InstancePending {
			return err
		}
		var reason error
		if errors.Is(err, db.ErrRefused) {
			reason = refused()
		}
		switch {
		case !is && reason != nil:
			return fmt.Errorf("%w: %w", err, reason)
		case !is:
			return err
		case reason != nil:
			return pending("Nothing was stored: %s.", reason, err)
		}
		return pending("The database is not available: %s.", f.Cause, err)
	}
}

// pending returns a fault with the code InstancePending. said is its text, in which reason is
// inserted.
func pending(said i18n.Text, reason, cause error) error {
	return &fault.Fault{Code: fault.InstancePending, Cause: cause, Detail: i18n.Format(said, reason)}
}
