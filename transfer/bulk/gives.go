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

// givesAway reports whether an act, or its undo, may show records to people who did not see them
// before.
func (r *row) givesAway() bool {
	return r.content.Kind == Owner || r.content.Kind == Visibility && (r.Value == string(record.Organization)) != r.Undo
}

// give requires a recent sign-in and notifies the admins if an admin begins an act that may give
// away private records of others (see record.giveAway). The list is not yet read. So any private
// record of others in the family counts, unless the list has only the admin's own records. People
// who are not admins can change only the owner and the visibility of their own records.
func (r *row) give(ctx context.Context, c *op.Call) error {
	own := c.Actor.PrincipalID()
	if !r.givesAway() || !c.Actor.SeesAll() || !r.Undo && r.Filters["ownerId"] == own {
		return nil
	}
	others, err := privateOfOthers(ctx, c.Tx, familyOf(r.Family).Family, r.organization, own)
	if err != nil || !others {
		return err
	}
	return c.Gives(ctx, op.Gain{
		Word: op.ListGiven, ID: r.id, Organization: r.organization, Principal: own, Admins: true,
		To: r.receiver(),
	})
}

// receiver returns the id of the new owner of all records. It is empty if the owner does not
// change, or if each record returns to its former owner.
func (r *row) receiver() string {
	if r.content.Kind != Owner || r.Undo {
		return ""
	}
	return r.Value
}

const (
	// countOwners counts the records that got another owner, by their former owner.
	countOwners = `select before, count(*) from bulk_lines where organization = $1 and act_id = $2 and state = 'changed' group by before`
	// countTaken counts the records that an undo took from the new owner.
	countTaken = `select cast($3 as text), count(*) from bulk_lines where organization = $1 and act_id = $2 and state = 'restored' having count(*) > 0`
	// countShown counts the records that were private before the act, by their owner.
	countShown = `select r.owner_id, count(*) from bulk_lines l join %s r on r.organization = l.organization and r.id = l.record_id
		where l.organization = $1 and l.act_id = $2 and l.state = 'changed' and l.before = 'private' group by r.owner_id`
	// countShownAgain counts the records that an undo shows to all, by their owner.
	countShownAgain = `select r.owner_id, count(*) from bulk_lines l join %s r on r.organization = l.organization and r.id = l.record_id
		where l.organization = $1 and l.act_id = $2 and l.state = 'restored' group by r.owner_id`
)

// tellOwners notifies the former owners of the records that an act has given away. It is called
// when the act ends or stops.
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

// privateOfOthers reports whether the organization has private records of a family that belong to
// other principals.
func privateOfOthers(ctx context.Context, tx db.Tx, f op.Family, organization int64, principal string) (bool, error) {
	var n int64
	err := tx.QueryRow(ctx, `select count(*) from (select 1 from `+f.Plural+
		` where organization = $1 and deleted = false and audience > '' and audience <> $2 limit 1) others`,
		organization, principal).Scan(&n)
	return n > 0, err
}
