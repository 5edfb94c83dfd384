// Package gains owns the notices about new access: their recipients and their texts.
package gains

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/people/notify"
	"kartei/store/db"
)

// AccessGiven is the kind of notices about new or wider access.
const AccessGiven notify.Kind = "access_given"

// Facts are the facts of a notice about access.
type Facts struct {
	Word op.GainWord `json:"word"`
	// ID is the id of the key, endpoint or other object that gives the access. KidShort is the
	// short form of a key's kid.
	ID       string `json:"id"`
	KidShort string `json:"kidShort,omitempty"`
	// Organization is the organization in which the access works. Principal is the principal that
	// has the access. Empty means that all people of the organization have it.
	Organization string `json:"organizationId"`
	Principal    string `json:"principalId,omitempty"`
	// By is the id of the principal that gave the access. Kind and Short describe the principal's
	// credential. By is empty for the operator.
	By    string `json:"by,omitempty"`
	Kind  string `json:"kind"`
	Short string `json:"short,omitempty"`
	// To is the new owner of records that belonged to somebody else. Count is the number of the
	// records.
	To    string `json:"toId,omitempty"`
	Count int64  `json:"count,omitempty"`
	// Own says that the recipient of the notice gave the access.
	Own bool         `json:"own,omitempty"`
	At  clock.Micros `json:"at"`
}

// Tell posts the notices of a gain. They go to the owner of the access, and to the person who gave
// it. If the owner is a service account or the whole organization, they go to the admins. The
// person who gave it gets a notice in case a stranger has used their session.
func Tell(ctx context.Context, c *op.Call, g op.Gain) error {
	center := notify.Service.In(c)
	if center == nil || g.Told {
		return nil
	}
	name, err := access.OrganizationID(ctx, c.Tx, g.Organization)
	if err != nil {
		return err
	}
	o, err := access.OrganizationIn(ctx, c.Tx, name)
	if err != nil {
		return err
	}
	find := access.Owners
	if g.Admins || g.Principal == "" {
		find = access.Audience
	}
	_, users, err := find(ctx, c.Tx, g.Organization, g.Principal)
	if err != nil {
		return err
	}
	by, credential := c.Actor.PrincipalID(), c.Actor.Credential()
	if id.Valid(id.User, by) && !slices.Contains(users, by) {
		users = append(users, by)
	}
	f := Facts{
		Word: g.Word, ID: g.ID, Organization: o.ID, Principal: g.Principal, By: by, Kind: string(credential.Kind),
		At: c.Now, To: g.To,
	}
	if g.Word == op.RecordsGiven {
		f.Count = 1
	}
	if credential.Kind == access.Key {
		f.Short = credential.Short
	}
	if id.Valid(id.Key, g.ID) {
		label, err := access.LabelIn(ctx, c.Tx, g.ID)
		if err != nil {
			return err
		}
		f.KidShort = label.KidShort
	}
	for _, user := range users {
		f.Own = user == by
		if err := f.post(ctx, c.Tx, center, o.Live, user); err != nil {
			return err
		}
	}
	return nil
}

// post posts a notice. Several gifts of records by one person count as one act if they happen in
// quick succession. The time limit is the time for which a sign-in is recent. Then post amends the
// earlier notice.
func (f Facts) post(ctx context.Context, tx db.Tx, center *notify.Center, live int64, user string) error {
	if f.Word != op.RecordsGiven {
		return center.Post(ctx, tx, live, []string{user}, AccessGiven, f)
	}
	found, err := center.Amend(ctx, tx, live, user, AccessGiven, f.At.Add(-access.SignInFresh),
		func(facts []byte) (any, error) {
			var was Facts
			if err := json.Unmarshal(facts, &was); err != nil {
				return nil, err
			}
			if was.Word != f.Word || was.By != f.By || was.To != f.To || was.Organization != f.Organization ||
				id.Valid(id.BulkAct, was.ID) {
				return nil, nil
			}
			if was.Principal != f.Principal {
				was.Principal = "" // a notice for admins is then about several owners
			}
			was.ID, was.Count = "", was.Count+f.Count
			return was, nil
		})
	if err != nil || found {
		return err
	}
	return center.Post(ctx, tx, live, []string{user}, AccessGiven, f)
}

// Giveaway is an act on a list that gives away records of other people.
type Giveaway struct {
	ID           string
	Organization int64
	// By is the id of the principal that acts, and Kind is the kind of its credential. To is the
	// new owner. It is empty if the records became visible to all people.
	By, Kind, To string
	// Owners maps each former owner to the number of their records.
	Owners map[string]int64
}

// TellOwners posts notices to the former owners with the number of their records that an act has
// given away. It also updates the number in the notices that the admins got when the act began. If
// the act continues later, it leads to another notice.
func TellOwners(ctx context.Context, tx db.Tx, center *notify.Center, g Giveaway, now clock.Micros) error {
	delete(g.Owners, g.By)
	if center == nil || len(g.Owners) == 0 {
		return nil
	}
	name, err := access.OrganizationID(ctx, tx, g.Organization)
	if err != nil {
		return err
	}
	f := Facts{Word: op.RecordsGiven, ID: g.ID, Organization: name, By: g.By, Kind: g.Kind, To: g.To, At: now}
	all := int64(0)
	live, admins, err := access.Audience(ctx, tx, g.Organization, "")
	for _, owner := range slices.Sorted(maps.Keys(g.Owners)) {
		if err != nil {
			return err
		}
		all += g.Owners[owner]
		if f.Principal, f.Count = owner, g.Owners[owner]; id.Valid(id.User, owner) && !slices.Contains(admins, owner) {
			err = f.count(ctx, tx, center, live, owner, true)
		}
	}
	f.Principal, f.Count = "", all
	for _, admin := range admins {
		if err != nil {
			return err
		}
		f.Own = admin == g.By
		err = f.count(ctx, tx, center, live, admin, false)
	}
	return err
}

// count sets the number of records in the notice of an act. If no such notice exists and anew is
// true, count posts one.
func (f Facts) count(ctx context.Context, tx db.Tx, center *notify.Center, live int64, user string, anew bool) error {
	found, err := center.Amend(ctx, tx, live, user, AccessGiven, 0, func(facts []byte) (any, error) {
		var was Facts
		if err := json.Unmarshal(facts, &was); err != nil || was.ID != f.ID {
			return nil, err
		}
		was.Count = f.Count
		return was, nil
	})
	if err != nil || found || !anew {
		return err
	}
	return center.Post(ctx, tx, live, []string{user}, AccessGiven, f)
}
