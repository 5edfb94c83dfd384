package open

import (
	"crypto/tls"
	"errors"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"kartei/store/db"
	"kartei/store/db/postgres"
	"kartei/store/db/sqlite/driver"
)

// Away reports whether an error at startup is temporary: it can end without a change of the
// configuration. Examples are an unreachable or starting server, a server without free connections,
// and a full disk.
func Away(err error) bool {
	var server *pgconn.PgError
	var lite *driver.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &server): // without its code the error says only that a connection failed
		err = postgres.MapError(server)
	case errors.As(err, &lite):
		return lite.Primary() == driver.Full || lite.Primary() == driver.IOError || errors.Is(err, db.ErrBusy)
	case errors.As(err, &certificate):
		return false
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return true
	}
	return errors.Is(err, db.ErrUnavailable) || errors.Is(err, db.ErrBusy) || errors.Is(err, db.ErrUnknownOutcome)
}
