package sample

import (
	"context"

	"kartei/kit/clock"
	"kartei/people/account"
	"kartei/people/signin"
	"kartei/store/db"
)

// SignIn gives an account with a password to each person of the staff who has no account. If anew
// is set, all of the staff get this password.
func (o *Office) SignIn(ctx context.Context, d db.DB, c clock.Clock, password string, anew bool) error {
	missing := func(tx db.Tx) (list []int, err error) {
		for i, user := range o.Users {
			has, err := db.Values[string](ctx, tx,
				`select account_id from principals where id = $1 and account_id is not null`, user)
			if err != nil {
				return nil, err
			}
			if len(has) == 0 || anew {
				list = append(list, i)
			}
		}
		return list, nil
	}
	var list []int
	err := d.Read(ctx, func(tx db.Tx) (err error) {
		list, err = missing(tx)
		return err
	})
	if err != nil || len(list) == 0 {
		return err
	}
	hash, err := signin.NewHasher().Hash(ctx, password)
	if err != nil {
		return err
	}
	return d.Write(ctx, func(tx db.Tx) error {
		for _, i := range list {
			if err := account.Provide(ctx, tx, clock.Now(c), o.Users[i], staff[i].Email, hash); err != nil {
				return err
			}
		}
		return nil
	})
}
