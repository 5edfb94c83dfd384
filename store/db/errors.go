package db

import (
	"errors"
	"fmt"
)

// ErrNoRows is the error of Row.Scan if the query returned no row.
var ErrNoRows = errors.New("db: no rows")

// ErrConflict means that another transaction changed a record during a Write. If the function of a
// Write returns it, DB.Write rolls back and calls the function again, at most a few times.
var ErrConflict = errors.New("db: changed by another writer")

// ErrDuplicate means that a statement violated a unique index. It is returned
// wrapped.
var ErrDuplicate = errors.New("db: duplicate")

// ErrBusy means that the engine cannot take the call now: the queue is full, or
// a lock or a statement timed out. Nothing was changed. It is returned wrapped.
var ErrBusy = errors.New("db: busy")

// ErrUnavailable means that the database cannot be reached, or has no room to
// store more. Nothing was changed. It is returned wrapped.
var ErrUnavailable = errors.New("db: unavailable")

// ErrRefused is the error, wrapped, of a Write to a database that accepts only reads. Its disk is
// full or broken, or it is read-only. ErrRefused wraps ErrUnavailable. DB.Writes reports the reason
// to the operator, so callers need not log it.
var ErrRefused = fmt.Errorf("%w for writes", ErrUnavailable)

// ErrStale means that the query of a Tx.Expect returned another number than expected.
var ErrStale = errors.New("db: an expected value has changed")

// ErrUnknownOutcome means that the connection broke during a commit: the change
// was stored as a whole or not at all. It is returned wrapped.
var ErrUnknownOutcome = errors.New("db: connection lost during commit, outcome unknown")

// ErrText is the error, wrapped, for an argument that is not UTF-8 or contains a NUL character.
// Neither engine accepts such a text.
var ErrText = errors.New("db: text is not UTF-8 or holds NUL")

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("db: closed")
