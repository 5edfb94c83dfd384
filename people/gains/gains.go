// Package gains owns the notices of access that was given: their readers and their words.
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

// AccessGiven is the kind of notice about access that somebody got.
const AccessGiven notify.Kind = "access_given"

// Facts are the facts of a notice about access.
type Facts struct {
	Word op.GainWord `json:"word"`
	// ID is what gives the access, KidShort the short form of a key.
	ID       string `json:"id"`
	KidShort string `json:"kidShort,omitempty"`
	// Organization is where the access works, Principal who has it. Without one, all of
	// the organization have it.
	Organization string `json:"organizationId"`
	Principal    string `json:"principalId,omitempty"`
	// By is who gave it, Kind and Short are their credential. By is empty for the operator.
	By    string `json:"by,omitempty"`
	Kind  string `json:"kind"`
	Short string `json:"short,omitempty"`
	// To is who owns the records now that somebody else had, and Count their number.
	To    string `json:"toId,omitempty"`
	Count int64  `json:"count,omitempty"`
	// Own says that the recipient gave it.
	Own bool         `json:"own,omitempty"`
	At  clock.Micros `json:"at"`
}

// Tell posts the notices of a gain: to its owner, or for a service account and a whole
// organization to the admins, and to the person who acts. If a stranger acts in a person's
// session, that is how the person learns of it.
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

// post posts a notice. Records that were given within the time in which a sign-in is recent
// count as one act, of which one notice tells.
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
				was.Principal = "" // the notice of the admins is about all owners
			}
			was.ID, was.Count = "", was.Count+f.Count
			return was, nil
		})
	if err != nil || found {
		return err
	}
	return center.Post(ctx, tx, live, []string{user}, AccessGiven, f)
}

// Giveaway is an act on a whole list that gives records of others away.
type Giveaway struct {
	ID           string
	Organization int64
	// By is who did it, Kind their credential. To is the new owner, empty if all see the
	// records now.
	By, Kind, To string
	// Owners counts the records by their former owner.
	Owners map[string]int64
}

// TellOwners tells the former owners how many records an act has given away, and counts them in
// the notices that the admins got at its beginning. An act that goes on later leads to another
// notice.
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
