package record

import (
	"context"
	"fmt"
	"slices"

	"kartei/access"
	"kartei/app"
	"kartei/kit/fault"
	"kartei/store/db"
)

// mayShare refuses a change of owner or visibility, unless the actor is the owner or
// an admin. Others may change the content of a shared record only.
func mayShare(c *app.Call, before, after *Sharing) error {
	if c.Actor.SeesAll() || before.OwnerID == c.Actor.PrincipalID() ||
		before.OwnerID == after.OwnerID && before.Visibility == after.Visibility {
		return nil
	}
	return &fault.Fault{Code: fault.Forbidden, Detail: &ownersOnly}
}

var ownersOnly = fault.Text{
	DE: "ownerId und visibility ändern nur der Eigentümer des Datensatzes und Administratoren.",
	EN: "Only the record's owner and admins may change ownerId and visibility.",
}

// The statements on visibility losses: the principals who saw a record and no
// longer see it.
const (
	loseSight = `insert into visibility_losses (organization, record_id, principal, family, tick)
		select cast($1 as bigint), cast($2 as text), value, cast($3 as text), cast($4 as bigint) from %s`
	regainSight    = `delete from visibility_losses where organization = $1 and record_id = $2 and principal = $3`
	allRegainSight = `delete from visibility_losses where organization = $1 and record_id = $2`
)

// trackVisibilityLoss stores which principals lose sight of a record by a
// change, and deletes the rows of those who regain it. A principal has a row if
// it once saw the record as a member or as the owner, and does not see it now.
// So sync returns one marker for the record, with the tick of the loss, and
// nothing of later changes. Admins have rows too, for the time after they were
// admins. See docs/decisions/0011-who-loses-sight.md.
func (k *Collection[T, F, P]) trackVisibilityLoss(ctx context.Context, c *app.Call, before, after *row) error {
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
