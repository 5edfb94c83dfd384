package access

import (
	"context"

	"kartei/kit/clock"
	"kartei/store/db"
)

// Changed declares that a transaction changes rights, so that every replica empties its cache. It
// must be the first statement. It locks a row, so such changes are serialized and none of them
// reads an uncommitted one. The caller must call Forget after the transaction, even if the
// outcome of the commit is unknown.
func Changed(ctx context.Context, tx db.Tx) error {
	tx.Notify(Topic, "")
	_, err := tx.Exec(ctx, updateGeneration)
	return err
}

// act runs f in a transaction that changes rights.
func (d *Directory) act(ctx context.Context, f func(db.Tx) error) error {
	defer d.Forget()
	return d.db.Write(ctx, func(tx db.Tx) error {
		if err := Changed(ctx, tx); err != nil {
			return err
		}
		return f(tx)
	})
}

func (d *Directory) now() clock.Micros { return clock.Now(d.clock) }

func pick(yes bool, word, other string) string {
	if yes {
		return word
	}
	return other
}
