package main

import (
	"errors"
	"fmt"
)

// Exit statuses by the class of an error. Statuses 1 and 2 mean the same for
// every command.
const (
	exitUsage       = 2
	exitForbidden   = 3
	exitClientError = 4
	exitServerError = 5
	exitLimit       = 6
	exitNoAnswer    = 7
	exitInterrupted = 130 // 128 and the number of SIGINT, as in shells
)

// usageError is an error in the command line. The exit status is 2.
type usageError struct{ error }

// Unwrap returns the error.
func (e usageError) Unwrap() error { return e.error }

// usagef returns an error in the command line, formatted as by fmt.Errorf. The exit status
// is 2.
func usagef(format string, arguments ...any) error {
	return usageError{fmt.Errorf(format, arguments...)}
}

func nothingToSet(flags string) error {
	return usagef("nothing to change: give %s", flags)
}

// statusError is an error with an exit status of its own.
type statusError struct {
	error
	status int
}

// Unwrap returns the error.
func (e statusError) Unwrap() error { return e.error }

// errInterrupted is the error of a call that an interrupt ended.
var errInterrupted error = statusError{errors.New("interrupted"), exitInterrupted}
