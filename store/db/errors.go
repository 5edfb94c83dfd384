package db

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"kartei/store/db/sqlite/driver"
)

// ErrUnknownOutcome means that the connection broke during a commit: the change
// was stored as a whole or not at all. It is returned wrapped.
var ErrUnknownOutcome = errors.New("db: connection lost during commit, outcome unknown")

// ErrText is the error, wrapped, for an argument that is not UTF-8 or holds a
// NUL character. Neither engine accepts one.
var ErrText = errors.New("db: text is not UTF-8 or holds NUL")

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("db: closed")

// Panic carries a panic of a Write function from the writer's goroutine to the
// caller's, with the stack of its origin.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value of the panic if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// MapError maps an error of an engine to the errors of this package, and wraps
// it. It returns nil for nil, and an unknown error unchanged. No other code
// knows the engines' codes. Errors of DB and Tx are already mapped; the
// function is for connections of Server.Config.
func MapError(err error) error {
	var lite *driver.Error
	var pg *pgconn.PgError
	var network net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &lite):
		switch lite.Code {
		case driver.ConstraintUnique, driver.ConstraintKey, driver.ConstraintRowID:
			return wrap(ErrDuplicate, err)
		}
		switch lite.Primary() {
		case driver.Busy, driver.Locked, driver.Interrupt:
			return wrap(ErrBusy, err)
		case driver.Full, driver.ReadOnly: // the disk, not the statement
			return wrap(ErrRefused, err)
		case driver.IOError, driver.CannotOpen:
			if lite.Writing() {
				return wrap(ErrRefused, err)
			}
			return wrap(ErrUnavailable, err)
		}
		return err
	case errors.As(err, &pg):
		switch pg.Code {
		case "23505": // unique_violation
			return wrap(ErrDuplicate, err)
		case "40001", "40P01", // serialization_failure, deadlock_detected
			"22012": // division_by_zero: a wrong assumption (see pgTx.assumeTick)
			return wrap(ErrConflict, err)
		case "22021", "22P05": // character_not_in_repertoire, untranslatable_character
			return wrap(ErrText, err)
		case "55P03", "57014": // lock_not_available, query_canceled
			return wrap(ErrBusy, err)
		case "25006", "53100", "58030": // read_only_sql_transaction (see readOnly), disk_full, io_error
			return wrap(ErrRefused, err)
		case "25P03": // idle_in_transaction_session_timeout
			return wrap(ErrUnavailable, err)
		}
		switch pg.Code[:min(2, len(pg.Code))] {
		case "08", "53", "57", "58": // connection, resources (disk, memory, connections), shutdown, input and output
			return wrap(ErrUnavailable, err)
		}
		return err
	case errors.Is(err, driver.ErrText):
		return wrap(ErrText, err)
	case errors.Is(err, pgx.ErrNoRows):
		return ErrNoRows
	case errors.Is(err, context.Canceled):
		return err
	case isConnectionLoss(err):
		return wrap(ErrUnavailable, err)
	case errors.Is(err, context.DeadlineExceeded):
		return wrap(ErrBusy, err)
	case errors.As(err, &network):
		return wrap(ErrUnavailable, err)
	}
	return err
}

func wrap(kind, err error) error {
	if errors.Is(err, kind) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// Away reports whether an error at startup may pass without a change of the
// configuration. Examples are no server, a server that is starting or has no
// room, and a full disk.
func Away(err error) bool {
	var server *pgconn.PgError
	var lite *driver.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &server): // otherwise only the refused connection is known
		err = MapError(server)
	case errors.As(err, &lite):
		return lite.Primary() == driver.Full || lite.Primary() == driver.IOError || errors.Is(err, ErrBusy)
	case errors.As(err, &certificate):
		return false
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return true
	}
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrBusy) || errors.Is(err, ErrUnknownOutcome)
}

// isConnectionLoss recognizes the errors of pgx for lost connections.
func isConnectionLoss(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		strings.Contains(err.Error(), "unexpected EOF") || strings.Contains(err.Error(), "conn closed")
}
