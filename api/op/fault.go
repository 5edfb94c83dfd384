package op

import (
	"context"
	"errors"
	"time"

	"kartei/access"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/store/db"
)

// NotAllowed returns the fault for a caller whom Who.Allows excludes.
func NotAllowed() error {
	return &fault.Fault{Code: fault.Forbidden, Reason: string(access.NoScope), Detail: notAllowed}
}

var notAllowed = i18n.Text("You do not have the right to do this. An admin of your organization can help.")

// notStored is the text for a database that can be read but not written.
var notStored = i18n.Text("Nothing can be stored at the moment. Nothing was changed; reading is still possible. Please try again a little later.")

// Explain returns the fault for an error of the database, and other errors unchanged. A busy
// database is 429 OVERLOADED. A database that is unreachable or full is 503 INSTANCE_PENDING. If it
// is not known whether a commit succeeded, the client repeats the call. Its Idempotency-Key or
// If-Match prevents a second change.
func Explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, db.ErrRefused):
		return &fault.Fault{Code: fault.InstancePending, Detail: notStored, RetryAfter: 5 * time.Second, Cause: err}
	case errors.Is(err, db.ErrUnavailable), errors.Is(err, db.ErrUnknownOutcome):
		return &fault.Fault{Code: fault.InstancePending, RetryAfter: 5 * time.Second, Cause: err}
	case errors.Is(err, db.ErrBusy), errors.Is(err, db.ErrConflict),
		errors.Is(err, context.Canceled): // the client has disconnected, so no one reads this
		return &fault.Fault{Code: fault.Overloaded, RetryAfter: time.Second, Cause: err}
	}
	return err
}
