package record

import (
	"context"
	"fmt"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/store/db"
)

// mayShare returns a fault if the change affects the owner or the visibility, and the actor is
// neither the owner nor an admin. Other actors may change only the content of a shared record.
func mayShare(c *op.Call, before, after *CommonFields) error {
	if c.Actor.SeesAll() || before.OwnerID == c.Actor.PrincipalID() ||
		before.OwnerID == after.OwnerID && before.Visibility == after.Visibility {
		return nil
	}
	return &fault.Fault{Code: fault.Forbidden, Detail: ownersOnly}
}

var ownersOnly = i18n.Text("Only the record's owner and admins may change ownerId and visibility.")

// giveAway requires a recent sign-in if an admin gives another person's private record to another
// owner or shows it to all. It also notifies the people concerned. Without it, an unattended
// session of an admin could give all private records to an accomplice. Owners may give away their
// own records without a check. Shared records are no secret. API keys and grants are limited by
// their scopes instead.
func giveAway(ctx context.Context, c *op.Call, id string, before, after *CommonFields) error {
	if c.Giver == nil || c.Actor.Credential().Kind != access.Session ||
		before.Visibility != Private || before.OwnerID == c.Actor.PrincipalID() ||
		before.OwnerID == after.OwnerID && before.Visibility == after.Visibility {
		return nil
	}
	to := after.OwnerID
	if to == before.OwnerID {
		to = ""
	}
	c.Audit.About(c.Actor.Org(), id)
	c.Audit.Changed("ownerId", before.OwnerID, after.OwnerID)
	c.Audit.Changed("visibility", string(before.Visibility), string(after.Visibility))
	return c.Gives(ctx, op.Gain{
		Word: op.RecordsGiven, ID: id, Organization: c.Actor.Org(), Principal: before.OwnerID, Admins: true,
		To: to,
	})
}

// These statements write the visibility losses. A loss is a principal who saw a record and does
// not see it now.
const (
	loseSight = `insert into visibility_losses (organization, record_id, principal, family, tick)
		select cast($1 as bigint), cast($2 as text), value, cast($3 as text), cast($4 as bigint) from %s`
	regainSight    = `delete from visibility_losses where organization = $1 and record_id = $2 and principal = $3`
	allRegainSight = `delete from visibility_losses where organization = $1 and record_id = $2`
)

// trackVisibilityLoss stores which principals lose sight of a record by a change. It deletes the
// rows of principals who regain sight of it. A principal has a row if they once saw the record as
// a member or as the owner, and do not see it now. So sync returns one marker for the record,
// with the tick of the loss, and does not return later changes. Admins have rows too, in case
// they lose their role. See docs/decisions/0011-who-loses-sight.md.
func (k *Collection[T, F, P]) trackVisibilityLoss(ctx context.Context, c *op.Call, before, after *row) error {
	if before.audience == after.audience {
		return nil
	}
	if after.audience == "" {
		c.Tx.Queue(allRegainSight, c.Actor.Org(), after.id)
		return nil
	}
	losers := []string{before.audience}
	if before.audience == "" {
		all, err := access.PrincipalIDs(ctx, c.Tx, c.Actor.Org())
		if err != nil {
			return err
		}
		losers = slices.DeleteFunc(all, func(p string) bool { return p == after.audience })
	} else {
		c.Tx.Queue(regainSight, c.Actor.Org(), after.id, after.audience)
	}
	c.Tx.Queue(fmt.Sprintf(loseSight, fmt.Sprintf(c.Tx.Dialect().TextList, "$5")),
		c.Actor.Org(), after.id, k.Plural, after.updated, db.Texts(losers))
	return nil
}
