package bulk

import (
	"context"
	"fmt"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/people/gains"
	"kartei/people/notify"
	"kartei/record"
	"kartei/store/db"
)

// givesAway reports whether an act, or its undoing, lets somebody see records who did not.
func (r *row) givesAway() bool {
	return r.content.Kind == Owner || r.content.Kind == Visibility && (r.Value == string(record.Organization)) != r.Undo
}

// give asks for a recent sign-in, and tells the admins, if an admin begins an act that may give
// private records of others away (see record.giveAway). The list is not read yet, so all private
// records of others count, unless the list has the admin's own records only. Others may change
// the owner and the visibility of their own records alone.
func (r *row) give(ctx context.Context, c *op.Call) error {
	own := c.Actor.PrincipalID()
	if !r.givesAway() || !c.Actor.SeesAll() || !r.Undo && r.Filters["ownerId"] == own {
		return nil
	}
	others, err := record.PrivateOfOthers(ctx, c.Tx, familyOf(r.Family).Family, r.organization, own)
	if err != nil || !others {
		return err
	}
	return c.Gives(ctx, op.Gain{
		Word: op.ListGiven, ID: r.id, Organization: r.organization, Principal: own, Admins: true,
		To: r.receiver(),
	})
}

// receiver returns who owns the records after the act, empty if that does not change or if
// each record goes back to its former owner.
func (r *row) receiver() string {
	if r.content.Kind != Owner || r.Undo {
		return ""
	}
	return r.Value
}

const (
	// countOwners counts the records that got another owner, by the former one.
	countOwners = `select before, count(*) from bulk_lines where organization = $1 and act_id = $2 and state = 'changed' group by before`
	// countTaken counts the records that an undoing took from the owner of the act.
	countTaken = `select cast($3 as text), count(*) from bulk_lines where organization = $1 and act_id = $2 and state = 'restored' having count(*) > 0`
	// countShown counts the records that were private before the act, by their owner.
	countShown = `select r.owner_id, count(*) from bulk_lines l join %s r on r.organization = l.organization and r.id = l.record_id
		where l.organization = $1 and l.act_id = $2 and l.state = 'changed' and l.before = 'private' group by r.owner_id`
	// countShownAgain counts the records that an undoing shows to all.
	countShownAgain = `select r.owner_id, count(*) from bulk_lines l join %s r on r.organization = l.organization and r.id = l.record_id
		where l.organization = $1 and l.act_id = $2 and l.state = 'restored' group by r.owner_id`
)

// tellOwners tells the former owners what an act has given away when it ends or stops.
func (r *row) tellOwners(ctx context.Context, tx db.Tx, s *op.Services, now clock.Micros) error {
	if !r.givesAway() {
		return nil
	}
	statement, args := countOwners, []any{r.organization, r.id}
	switch {
	case r.content.Kind == Owner && r.Undo:
		statement, args = countTaken, append(args, r.Value)
	case r.content.Kind == Visibility && r.Undo:
		statement = fmt.Sprintf(countShownAgain, r.Family)
	case r.content.Kind == Visibility:
		statement = fmt.Sprintf(countShown, r.Family)
	}
	owners := map[string]int64{}
	_, err := db.List(ctx, tx, func(from db.Row) (none struct{}, err error) {
		var owner string
		var n int64
		err = from.Scan(&owner, &n)
		owners[owner] = n
		return none, err
	}, statement, args...)
	if err != nil {
		return err
	}
	return gains.TellOwners(ctx, tx, notify.Service.Of(s),
		gains.Giveaway{
			ID: r.id, Organization: r.organization, By: r.By, Kind: r.Delegation.Kind, To: r.receiver(),
			Owners: owners,
		}, now)
}
