package merge

import (
	"context"
	"fmt"

	"kartei/kit/masterkey"
	"kartei/store/db"
)

const (
	selectSealed = `select ` + columns + ` from merges where organization = $1 and copies <> '' and id > $2
		order by id limit $3`
	// updateCopies leaves copies erased that were erased meanwhile.
	updateCopies = `update merges set copies = $3 where organization = $1 and id = $2 and copies = $4`
	// resealPiece is the number of merges whose copies one transaction encrypts.
	resealPiece = 50
)

// Reseal encrypts the copies of all merges with the current master key, and returns the number of
// changed ones. unreadable has an error for each merge that cannot be decrypted. Reseal may be
// interrupted at any time.
func Reseal(ctx context.Context, d db.DB, v masterkey.Vault) (changed int, unreadable []error, err error) {
	var organizations []int64
	err = d.Read(ctx, func(tx db.Tx) (err error) {
		organizations, err = db.Organizations(ctx, tx)
		return err
	})
	for _, organization := range organizations {
		for after, more := "", true; more && err == nil; {
			var list []*row
			var n int
			var wrong []error
			err = d.Write(ctx, func(tx db.Tx) (err error) {
				if list, err = db.List(ctx, tx, scan, selectSealed, organization, after, resealPiece); err == nil {
					n, wrong = resealSome(tx, list, v)
				}
				return err
			})
			changed, unreadable = changed+n, append(unreadable, wrong...)
			if more = len(list) == resealPiece; more {
				after = list[len(list)-1].id
			}
		}
	}
	return changed, unreadable, err
}

// resealSome encrypts the copies of some merges.
func resealSome(tx db.Tx, list []*row, v masterkey.Vault) (changed int, unreadable []error) {
	for _, r := range list {
		text, first, err := v.Open(r.sealed, r.place())
		switch {
		case err != nil:
			unreadable = append(unreadable, fmt.Errorf("the merge %s: %w", r.id, err))
		case !first:
			changed++
			tx.Queue(updateCopies, r.organization, r.id, v.Seal(text, r.place()), r.sealed)
		}
	}
	return changed, unreadable
}
