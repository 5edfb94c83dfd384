package api_test

import (
	"testing"

	"kartei/access"
	"kartei/api"
	"kartei/integration/key"
	"kartei/people/account"
	"kartei/people/invitation"
	"kartei/people/organization"
	"kartei/test/apitest"
	"kartei/test/operator"
	"kartei/transfer/exports"
)

// TestActsInClosedOrganizations checks what works while an organization is closed or being deleted.
// People who may still read may export and set up a second factor. Records and settings cannot be
// changed.
func TestActsInClosedOrganizations(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		admin, member := o.User(access.Admin), o.User(access.Member)
		sessions := map[string]api.Credential{
			admin: api.Cookie(o.Session(admin), false), member: api.Cookie(o.Session(member), false),
		}
		for _, c := range []struct {
			state          access.State
			admins, member bool // whether admins and members may export
		}{{access.Open, true, true}, {access.Closed, true, true}, {access.Deleting, true, false}} {
			if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.ID, State: &c.state}); err != nil {
				t.Fatal(err)
			}
			for who, may := range map[string]bool{admin: c.admins, member: c.member} {
				got := ask(t, o, api.Web, sessions[who], "exports.person", exports.Input{ID: who})
				if (got.Fault == nil) != may {
					t.Errorf("%s: the export of %s: %d %s", c.state, who, got.Status, got.Body)
				}
				if got := ask(t, o, api.Web, sessions[who], "factors.totpBegin", struct{}{}); got.Fault != nil {
					t.Errorf("%s: a second factor of %s: %d %s", c.state, who, got.Status, got.Body)
				}
			}
			got := ask(t, o, api.Web, sessions[admin], "exports.organization", exports.Input{ID: o.ID})
			if (got.Fault == nil) != c.admins {
				t.Errorf("%s: the export of the organization: %d %s", c.state, got.Status, got.Body)
			}
			if got := ask(t, o, api.Web, sessions[admin], "keys.create", key.New{
				Principal:   admin,
				Environment: access.Test,
				Scopes:      []string{"contacts:read"},
			}); (got.Fault == nil) != (c.state == access.Open) {
				t.Errorf("%s: a new key: %d %s", c.state, got.Status, got.Body)
			}
		}
	})
}

// TestInvitedElsewhere checks that people of a closed organization can accept an invitation to
// another, open organization. Their browser still has the session of the closed organization. The
// same holds for an organization that is being deleted.
func TestInvitedElsewhere(t *testing.T) {
	each(t, func(t *testing.T, o *apitest.Office) {
		other, _ := o.Organization("Neue Kanzlei")
		for _, state := range []access.State{access.Open, access.Closed, access.Deleting} {
			email := freshEmail()
			v, _ := join(t, o, o.ID, email, access.Member)
			if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.ID, State: &state}); err != nil {
				t.Fatal(err)
			}
			made, err := operator.Run(t.Context(), o.Operator, invitation.Create,
				invitation.New{Organization: other, Email: email})
			if err != nil {
				t.Fatal(err)
			}
			var joined account.AcceptResult
			v.ask("invitations.accept", account.Acceptance{Token: made.Token, Name: "Ida"}, &joined, 200)
			if joined.Status != "joined" || joined.OrganizationID != other {
				t.Errorf("%s: %+v", state, joined)
			}
			open := access.Open
			if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.ID, State: &open}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
