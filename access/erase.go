package access

import (
	"context"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/store/db"
)

// Erasable is an organization that is due for erasure, with its sandbox.
type Erasable struct {
	Number int64
	ID     string
	// Sandbox is the number of the organization's sandbox.
	Sandbox int64
	// ErasedAt is the time at which the erasure was completed, or zero.
	ErasedAt clock.Micros
}

// remains is the time after an erasure in which leftover rows are still deleted. A running call
// may take seconds, and a replica writes its counts within minutes.
const remains = 48 * clock.Hour

// Erasables returns the organizations that are due for erasure, and those that were erased
// recently. It sets the date of the erasure for organizations without one.
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

// Due returns an organization that is due for erasure. It fails with NOT_FOUND for any other
// organization.
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

// Erased marks an organization as erased, and erases the accounts that no person has any more.
// Only the numbers, ids and times of the organization and its sandbox remain.
func (d *Directory) Erased(ctx context.Context, number int64) error {
	return d.act(ctx, func(tx db.Tx) error {
		if _, err := tx.Exec(ctx, setErased, number, d.now()); err != nil {
			return err
		}
		return EraseAccounts(ctx, tx)
	})
}

// EraseAccounts erases the accounts without a person, with all rows that belong to them. An
// account is created together with its first person. So it has a person until its last person is
// erased.
func EraseAccounts(ctx context.Context, tx db.Tx) error {
	_, err := tx.Exec(ctx, eraseAccounts)
	return err
}
