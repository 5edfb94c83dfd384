package webhook

import (
	"context"
	"errors"

	"kartei/kit/clock"
	"kartei/kit/masterkey"
	"kartei/store/db"
)

const (
	// resealPiece is how many endpoints are read in one go.
	resealPiece = 500
	listAll     = `select ` + columns + ` from webhook_endpoints where organization = $1 and id > $2 order by id limit $3`
	// setSealed fails where it was rotated since it was read.
	setSealed = `update webhook_endpoints set secret = $5, previous_secret = $6 where organization = $1 and id = $2 and secret = $3 and previous_secret = $4`
)

// Reseal seals anew what is under an earlier master key, and returns of how
// many endpoints that was, and an error for each endpoint whose secret no key
// opens: it stays as it is, and the others are sealed. Secrets that sign no more
// are forgotten. It may be interrupted at any time: the next run goes on where
// this one ended.
func Reseal(ctx context.Context, d db.DB, v masterkey.Vault, now clock.Micros) (changed int, unreadable []error, err error) {
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
	err = d.Read(ctx, func(tx db.Tx) error {
		list = nil
		rows, err := tx.Query(ctx, listAll, organization, after, resealPiece)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			r, err := scan(rows)
			if err != nil {
				return err
			}
			list = append(list, r)
		}
		return rows.Err()
	})
	return list, err
}

// reseal seals the secrets of one endpoint anew, and reports whether that was
// needed. What is rotated since it was read is read again.
func (r *Row) reseal(ctx context.Context, d db.DB, v masterkey.Vault, now clock.Micros) (did bool, err error) {
	if secret, previous, err := r.sealAnew(v, now); err != nil || secret == r.secret && previous == r.previous {
		return false, err
	}
	return true, d.WriteIn(ctx, r.Organization, func(tx db.Tx) error {
		read, err := Find(ctx, tx, r.Organization, r.ID)
		if err != nil {
			if errors.Is(err, db.ErrNoRows) { // it was deleted
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

// sealAnew returns the endpoint's secrets under the first key, empty where there is none.
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
