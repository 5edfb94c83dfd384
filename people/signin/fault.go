package signin

import (
	"errors"
	"time"

	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/store/db"
)

// Throttled turns a wait into 429 RATE_LIMITED, and a full queue of passwords into 429 OVERLOADED.
// Other errors stay.
func Throttled(err error) error {
	if left := Waits(err); left > 0 {
		return &fault.Fault{Code: fault.RateLimited, RetryAfter: left, Detail: tooManyAttempts}
	}
	if errors.Is(err, ErrBusy) {
		return &fault.Fault{Code: fault.Overloaded, RetryAfter: time.Second, Cause: err}
	}
	return err
}

var tooManyAttempts = i18n.Text("Too many attempts. Please wait a moment. With a passkey, or by 'Forgot password', you can sign in at once.")

// Unknown turns db.ErrNoRows into the one 404 for tickets and links. Other errors stay.
func Unknown(err error) error {
	if errors.Is(err, db.ErrNoRows) {
		return &fault.Fault{Code: fault.NotFound, Detail: noTicket}
	}
	return err
}

var noTicket = i18n.Text("This has expired, or was completed already. Please start again.")
