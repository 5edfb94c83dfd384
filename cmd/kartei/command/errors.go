package command

import (
	"errors"
	"fmt"
)

// Exit statuses for classes of errors. Statuses 1 and 2 mean the same for every command.
const (
	exitFailed      = 1
	ExitUsage       = 2
	ExitForbidden   = 3
	ExitClientError = 4
	ExitServerError = 5
	ExitLimit       = 6
	ExitNoAnswer    = 7
	ExitInterrupted = 130 // 128 plus the number of SIGINT, as in shells
)

// usageError is an error in the command line, with exit status 2.
type usageError struct{ error }

// Unwrap returns the wrapped error.
func (e usageError) Unwrap() error { return e.error }

// Usagef returns an error in the command line, formatted as by fmt.Errorf. Its exit status is 2.
func Usagef(format string, arguments ...any) error {
	return usageError{fmt.Errorf(format, arguments...)}
}

// NothingToSet returns the error of a command that changes a record, if no flag with a change was
// given.
func NothingToSet(flags string) error {
	return Usagef("nothing to change: give %s", flags)
}

// statusError is an error with its own exit status.
type statusError struct {
	error
	status int
}

// Unwrap returns the wrapped error.
func (e statusError) Unwrap() error { return e.error }

// ErrInterrupted is the error of a call that was interrupted by a signal.
var ErrInterrupted error = statusError{errors.New("interrupted"), ExitInterrupted}
