package passkey

import (
	"context"
	"encoding/json"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/people/signin"
	"kartei/store/db"
)

// Proof is a passkey that was checked.
type Proof struct {
	// Account is its account.
	Account string
	kept    *signin.CeremonyData
	made    signin.StoredPasskey
}

// Check checks the answer of the browser to a question. session is the one in which the person
// confirms a sign-in, and empty at a sign-in. Every refusal is the same. Passkeys cannot be
// guessed, so nobody's failures slow down anybody else: only a network's failures count.
func Check(ctx context.Context, c *op.Call, session, ticket string, response json.RawMessage) (used Proof, err error) {
	if err := CheckInstance(c); err != nil {
		return used, err
	}
	used.Account = signin.Holder(response)
	var from signin.Origin
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		from, err = signin.FindOrigin(ctx, tx, c.Now, used.Account, c.Device, c.Address)
		return err
	})
	if err != nil {
		return used, err
	}
	from.Proof = session
	if err = signin.Throttled(signin.Service.In(c).Attempt(ctx, c.Now, from.NetworkLimits()...)); err != nil {
		return used, err
	}
	if used.kept, err = signin.Service.In(c).OpenCeremony(c.Now, signin.Ceremony, ticket); err != nil {
		return used, signin.Unknown(err)
	}
	owner := signin.Owner{Account: used.Account}
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		owner.Stored, err = db.Values[string](ctx, tx, selectStored, used.Account)
		return err
	})
	if err != nil {
		return used, err
	}
	if used.made, err = signin.Service.In(c).Passkeys.Used(&owner, used.kept, response); err != nil {
		return used, &fault.Fault{Code: fault.Unauthenticated, Reason: string(access.WrongSecret), Detail: wrongPasskey}
	}
	return used, nil
}

var wrongPasskey = i18n.Text("This passkey does not sign in.")

// Take ends the ceremony, and stores the counter of the passkey.
func (u *Proof) Take(ctx context.Context, c *op.Call) error {
	if err := signin.UseCeremony(ctx, c.Tx, c.Now, signin.Ceremony, u.kept); err != nil {
		return signin.Unknown(err)
	}
	n, err := c.Tx.Exec(ctx, updatePasskey, u.Account, u.made.ID, u.made.Stored, c.Now)
	if err != nil {
		return err
	}
	if n == 0 { // it was removed meanwhile
		return &fault.Fault{Code: fault.Unauthenticated, Reason: string(access.Unknown), Detail: wrongPasskey}
	}
	return nil
}

// CheckAccount refuses a passkey of another account.
func (u *Proof) CheckAccount(account string) error {
	if u.Account != account {
		return &fault.Fault{Code: fault.Forbidden, Reason: string(access.Unknown), Detail: wrongPasskey}
	}
	return nil
}
