// Package gains owns the notices of access that was given: who is told, and in which words.
package gains

import (
	"context"
	"slices"

	"kartei/access"
	"kartei/app"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/notify"
)

// AccessGiven is the kind of notice about access that somebody got.
const AccessGiven notify.Kind = "access_given"

// Facts are the facts of a notice about access.
type Facts struct {
	Word app.Gained `json:"word"`
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
	// Own says that the recipient gave it.
	Own bool         `json:"own,omitempty"`
	At  clock.Micros `json:"at"`
}

// Tell posts the notices of a gain: to its owner, or for a service account and a whole
// organization to the admins, and to the person who acts. If a stranger acts in a person's
// session, that is how the person learns of it.
func Tell(ctx context.Context, c *app.Call, g app.Gain) error {
	center := c.Services.Settings.Notices
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
		Word: g.Word, ID: g.ID, Organization: o.ID, Principal: g.Principal, By: by, Kind: string(credential.Kind), At: c.Now,
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
		if err := center.Post(ctx, c.Tx, o.Live, []string{user}, AccessGiven, f); err != nil {
			return err
		}
	}
	return nil
}
