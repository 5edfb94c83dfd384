package sqlite

import (
	"errors"

	"kartei/store/db"
	"kartei/store/db/internal/engine"
	"kartei/store/db/sqlite/driver"
)

// MapError maps an error of the driver to an error of package db, and wraps it. It returns nil for
// nil, and an unknown error unchanged. Errors of DB and its transactions are already mapped.
// Callers with connections of Inspect need MapError.
func MapError(err error) error {
	var lite *driver.Error
	switch {
	case errors.Is(err, driver.ErrText):
		return engine.Wrap(db.ErrText, err)
	case !errors.As(err, &lite):
		return err
	}
	switch lite.Code {
	case driver.ConstraintUnique, driver.ConstraintKey, driver.ConstraintRowID:
		return engine.Wrap(db.ErrDuplicate, err)
	}
	switch lite.Primary() {
	case driver.Busy, driver.Locked, driver.Interrupt:
		return engine.Wrap(db.ErrBusy, err)
	case driver.Full, driver.ReadOnly: // a problem of the disk, not of the statement
		return engine.Wrap(db.ErrRefused, err)
	case driver.IOError, driver.CannotOpen:
		if lite.Writing() {
			return engine.Wrap(db.ErrRefused, err)
		}
		return engine.Wrap(db.ErrUnavailable, err)
	}
	return err
}
