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
	// Account is the id of the passkey's account.
	Account string
	kept    *signin.CeremonyData
	made    signin.StoredPasskey
}

// Check checks the browser's response to Ask. session is the session in which the person confirms a
// sign-in. It is empty for a new sign-in. All failures have the same error. Failures count only for
// the caller's network, since passkeys cannot be guessed.
func Check(ctx context.Context, c *op.Call, session, ticket string, response json.RawMessage) (used Proof, err error) {
	if err := CheckInstance(c); err != nil {
		return used, err
	}
	used.Account = signin.Holder(response)
	var from signin.Origin
	err = c.Services.Read(ctx, func(tx db.Tx) (err error) {
		from, err = signin.FindOrigin(ctx, c, tx, used.Account, session)
		return err
	})
	if err != nil {
		return used, err
	}
	if err = signin.CountAttempt(ctx, c, from.NetworkLimits()...); err != nil {
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

// Take ends the ceremony of the passkey, and stores its new counter. It fails if the ticket was
// used or the passkey was removed.
func (u *Proof) Take(ctx context.Context, c *op.Call) error {
	if err := signin.UseCeremony(ctx, c.Tx, c.Now, signin.Ceremony, u.kept); err != nil {
		return signin.Unknown(err)
	}
	n, err := c.Tx.Exec(ctx, updatePasskey, u.Account, u.made.ID, u.made.Stored, c.Now)
	if err != nil {
		return err
	}
	if n == 0 { // the passkey was removed since the check
		return &fault.Fault{Code: fault.Unauthenticated, Reason: string(access.Unknown), Detail: wrongPasskey}
	}
	return nil
}

// CheckAccount returns an error if the passkey belongs to another account.
func (u *Proof) CheckAccount(account string) error {
	if u.Account != account {
		return &fault.Fault{Code: fault.Forbidden, Reason: string(access.Unknown), Detail: wrongPasskey}
	}
	return nil
}
