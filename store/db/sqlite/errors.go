package sqlite

import (
	"errors"

	"kartei/store/db"
	"kartei/store/db/internal/engine"
	"kartei/store/db/sqlite/driver"
)

// MapError maps an error of the driver to the errors of package db, and wraps it.
// It returns nil for nil, and an unknown error unchanged. Errors of DB and its
// transactions are already mapped; the function is for connections of Inspect.
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
	case driver.Full, driver.ReadOnly: // the disk, not the statement
		return engine.Wrap(db.ErrRefused, err)
	case driver.IOError, driver.CannotOpen:
		if lite.Writing() {
			return engine.Wrap(db.ErrRefused, err)
		}
		return engine.Wrap(db.ErrUnavailable, err)
	}
	return err
}
