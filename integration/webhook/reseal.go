package webhook

import (
	"context"
	"errors"

	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/store/db"
)

const (
	// resealPiece is the maximum number of endpoints that one query reads.
	resealPiece = 500
	listAll     = `select ` + columns + ` from webhook_endpoints where organization = $1 and id > $2 order by id limit $3`
	// setSealed changes no row if the secret was rotated after it was read.
	setSealed = `update webhook_endpoints set secret = $5, previous_secret = $6 where organization = $1 and id = $2 and secret = $3 and previous_secret = $4`
)

// Reseal encrypts all secrets with the first master key and returns the number of endpoints that it
// changed. It does not change a secret that no key decrypts, and adds an error to unreadable. It
// erases previous secrets that no longer sign. If Reseal is interrupted, the next run continues the
// work.
func Reseal(
	ctx context.Context, d db.DB, v masterkey.Vault, now clock.Micros,
) (changed int, unreadable []error, err error) {
	var organizations []int64
	err = d.Read(ctx, func(tx db.Tx) (err error) {
		organizations, err = db.Organizations(ctx, tx)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	for _, organization := range organizations {
		for after := ""; ; {
			rows, err := piece(ctx, d, organization, after)
			if err != nil {
				return changed, unreadable, err
			}
			for i := range rows {
				did, err := rows[i].reseal(ctx, d, v, now)
				var locked *UnreadableSecret
				switch {
				case errors.As(err, &locked):
					unreadable = append(unreadable, locked)
				case err != nil:
					return changed, unreadable, err
				case did:
					changed++
				}
			}
			if len(rows) < resealPiece {
				break
			}
			after = rows[len(rows)-1].ID
		}
	}
	return changed, unreadable, nil
}

// piece reads the next endpoints of an organization.
func piece(ctx context.Context, d db.DB, organization int64, after string) (list []Row, err error) {
	err = d.Read(ctx, func(tx db.Tx) (err error) {
		list, err = db.List(ctx, tx, scan, listAll, organization, after, resealPiece)
		return err
	})
	return list, err
}

// reseal encrypts the secrets of one endpoint with the first key. It reports whether that was
// necessary. If the secrets were rotated after they were read, it reads them again.
func (r *Row) reseal(ctx context.Context, d db.DB, v masterkey.Vault, now clock.Micros) (did bool, err error) {
	if secret, previous, err := r.sealAnew(v, now); err != nil || secret == r.secret && previous == r.previous {
		return false, err
	}
	return true, d.WriteIn(ctx, r.Organization, func(tx db.Tx) error {
		read, err := Find(ctx, tx, r.Organization, r.ID)
		if err != nil {
			if errors.Is(err, db.ErrNoRows) { // the endpoint was deleted
				return nil
			}
			return err
		}
		secret, previous, err := read.sealAnew(v, now)
		if err != nil {
			return err
		}
		return one(tx.Exec(ctx, setSealed, r.Organization, r.ID, read.secret, read.previous, secret, previous))
	})
}

// sealAnew returns the endpoint's secrets encrypted with the first key. A secret that does not
// exist is empty.
func (r *Row) sealAnew(v masterkey.Vault, now clock.Micros) (secret, previous string, err error) {
	secret, previous = r.secret, r.previous
	if now >= r.previousUntil {
		previous = ""
	}
	for _, sealed := range []*string{&secret, &previous} {
		if *sealed == "" {
			continue
		}
		plain, first, err := v.Open(*sealed, sealingPlace(r.Organization, r.ID))
		if err != nil {
			return "", "", &UnreadableSecret{r.ID, err}
		}
		if !first {
			*sealed = v.Seal(plain, sealingPlace(r.Organization, r.ID))
		}
	}
	return secret, previous, nil
}
