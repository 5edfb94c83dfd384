package postgres

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"kartei/store/db"
	"kartei/store/db/internal/engine"
)

// MapError maps an error of pgx to an error of package db, and wraps it. It returns nil for nil,
// and an unknown error unchanged. Errors of DB and its transactions are already mapped. Callers
// with their own connections (DB.Config) need MapError.
func MapError(err error) error {
	var pg *pgconn.PgError
	var network net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pg):
		switch pg.Code {
		case "23505": // unique_violation
			return engine.Wrap(db.ErrDuplicate, err)
		case "40001", "40P01", // serialization_failure, deadlock_detected
			"22012": // division_by_zero: a wrong assumption (see transaction.assumeTick)
			return engine.Wrap(db.ErrConflict, err)
		case "22021", "22P05": // character_not_in_repertoire, untranslatable_character
			return engine.Wrap(db.ErrText, err)
		case "55P03", "57014": // lock_not_available, query_canceled
			return engine.Wrap(db.ErrBusy, err)
		case "25006", "53100", "58030": // read_only_sql_transaction (see readOnly), disk_full, io_error
			return engine.Wrap(db.ErrRefused, err)
		case "25P03": // idle_in_transaction_session_timeout
			return engine.Wrap(db.ErrUnavailable, err)
		}
		switch pg.Code[:min(2, len(pg.Code))] {
		case "08", "53", "57", "58": // connection, resources (disk, memory, connections), shutdown, I/O
			return engine.Wrap(db.ErrUnavailable, err)
		}
		return err
	case errors.Is(err, pgx.ErrNoRows):
		return db.ErrNoRows
	case errors.Is(err, context.Canceled):
		return err
	case isConnectionLoss(err):
		return engine.Wrap(db.ErrUnavailable, err)
	case errors.Is(err, context.DeadlineExceeded):
		return engine.Wrap(db.ErrBusy, err)
	case errors.As(err, &network):
		return engine.Wrap(db.ErrUnavailable, err)
	}
	return err
}

// isConnectionLoss reports whether an error of pgx means a lost connection.
func isConnectionLoss(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		strings.Contains(err.Error(), "unexpected EOF") || strings.Contains(err.Error(), "conn closed")
}
