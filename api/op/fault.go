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

// NotAllowed returns the refusal of a caller whom an operation does not allow (Who.Allows).
func NotAllowed() error {
	return &fault.Fault{Code: fault.Forbidden, Reason: string(access.NoScope), Detail: notAllowed}
}

var notAllowed = i18n.Text("You do not have the right to do this. An admin of your organization can help.")

// notStored is the detail if the database can be read and not written.
var notStored = i18n.Text("Nothing can be stored at the moment. Nothing was changed; reading is still possible. Please try again a little later.")

// Explain maps the errors of the database to faults. A busy one is 429
// OVERLOADED. One that is unreachable or full is 503 INSTANCE_PENDING. If the
// outcome of a commit is unknown, the client repeats the call; its
// Idempotency-Key or If-Match prevents a second change.
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
