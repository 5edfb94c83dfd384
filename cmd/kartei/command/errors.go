package command

import (
	"errors"
	"fmt"
)

// Exit statuses by the class of an error. Statuses 1 and 2 mean the same for
// every command.
const (
	exitFailed      = 1
	ExitUsage       = 2
	ExitForbidden   = 3
	ExitClientError = 4
	ExitServerError = 5
	ExitLimit       = 6
	ExitNoAnswer    = 7
	ExitInterrupted = 130 // 128 and the number of SIGINT, as in shells
)

// usageError is an error in the command line. The exit status is 2.
type usageError struct{ error }

// Unwrap returns the error.
func (e usageError) Unwrap() error { return e.error }

// Usagef returns an error in the command line, formatted as by fmt.Errorf. The exit status
// is 2.
func Usagef(format string, arguments ...any) error {
	return usageError{fmt.Errorf(format, arguments...)}
}

// NothingToSet returns the error of a command that changes something and got none of the
// flags for it.
func NothingToSet(flags string) error {
	return Usagef("nothing to change: give %s", flags)
}

// statusError is an error with an exit status of its own.
type statusError struct {
	error
	status int
}

// Unwrap returns the error.
func (e statusError) Unwrap() error { return e.error }

// ErrInterrupted is the error of a call that an interrupt ended.
var ErrInterrupted error = statusError{errors.New("interrupted"), ExitInterrupted}
