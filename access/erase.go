package access

import (
	"context"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
)

// Erasable is an organization due for erasure, with its sandbox.
type Erasable struct {
	Number int64
	ID     string
	// Sandbox is the number of its sandbox.
	Sandbox int64
	// ErasedAt is the time at which the erasure was complete, or zero.
	ErasedAt clock.Micros
}

// remains is the time after an erasure in which leftovers are still removed. A
// running call lasts seconds, and the counts of a replica are written within
// minutes.
const remains = 48 * clock.Hour

// Erasables returns the organizations that are due, and those that were erased
// recently. It sets a date for those without one.
func (d *Directory) Erasables(ctx context.Context) (list []Erasable, err error) {
	now := d.now()
	err = d.db.Write(ctx, func(tx db.Tx) error {
		if _, err := tx.Exec(ctx, dateErasable, now.Add(d.options.Retention)); err != nil {
			return err
		}
		var err error
		list, err = db.List(ctx, tx, func(row db.Row) (e Erasable, err error) {
			err = row.Scan(&e.Number, &e.ID, &e.ErasedAt)
			return e, err
		}, selectErasable, now, now-remains)
		return err
	})
	if err != nil {
		return list, err
	}
	for i := range list {
		if err := d.sandboxOf(ctx, &list[i]); err != nil {
			return list, err
		}
	}
	return list, nil
}

func (d *Directory) sandboxOf(ctx context.Context, e *Erasable) error {
	return d.db.Read(ctx, func(tx db.Tx) error { return tx.QueryRow(ctx, selectSandboxNumber, e.Number).Scan(&e.Sandbox) })
}

// Due returns an organization that is due. One that is not is NOT_FOUND.
func (d *Directory) Due(ctx context.Context, id string) (e Erasable, err error) {
	err = d.db.Read(ctx, func(tx db.Tx) error {
		o, err := OrganizationIn(ctx, tx, id)
		if err == nil && (o.State != Deleting || o.EraseAt == nil || *o.EraseAt > d.now()) {
			err = fault.Unknown("There is no organization due for erasure with this id.")
		}
		e = Erasable{Number: o.Number, ID: o.ID}
		return err
	})
	if err != nil {
		return e, err
	}
	err = d.sandboxOf(ctx, &e)
	return e, err
}

// Erased records that only the numbers, ids and times of an organization and
// its sandbox remain.
func (d *Directory) Erased(ctx context.Context, number int64) error {
	return d.act(ctx, func(tx db.Tx) error {
		if _, err := tx.Exec(ctx, setErased, number, d.now()); err != nil {
			return err
		}
		return EraseAccounts(ctx, tx)
	})
}

// EraseAccounts erases the accounts that are nobody's any more, with all that
// belongs to them. An account is made with its first person, so it has one until
// the last is erased.
func EraseAccounts(ctx context.Context, tx db.Tx) error {
	_, err := tx.Exec(ctx, eraseAccounts)
	return err
}
