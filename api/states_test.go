package api_test

import (
	"cmp"
	"net/netip"
	"slices"
	"testing"
	"time"

	"kartei/access"
	"kartei/api"
	"kartei/people/organization"
	"kartei/test/apitest"
	"kartei/test/dbtest"
)

// stateRow has the facts about an operation from which the state of an organization decides.
type stateRow struct {
	id, method, path string
	doors            []api.Door
	// changes says that a call changes data that others may see. It is false for exports.
	changes bool
	// always and setup are properties of unpublished operations.
	always, setup bool
}

// stateRows returns all published and unpublished operations.
func stateRows() (list []stateRow) {
	for op := range rows() {
		list = append(list, stateRow{
			id:      op.ID,
			method:  op.Method,
			path:    somePath(op),
			doors:   []api.Door{api.REST, api.Web},
			changes: op.Changes(),
		})
	}
	for i := range api.Unpublished {
		r := &api.Unpublished[i]
		list = append(list, stateRow{id: r.ID, doors: r.Doors, changes: r.Changes() &&
			!r.Reads, always: r.Always, setup: r.Setup})
	}
	return list
}

// call calls the operation with an input that most operations refuse, but only after the check of
// the state.
func (r *stateRow) call(t *testing.T, o *apitest.Office, door api.Door, as api.Credential) *api.Response {
	t.Helper()
	if r.path == "" {
		return ask(t, o, door, as, r.id, struct{}{})
	}
	return o.API.Do(t.Context(), &api.Request{
		Method: r.method, Path: r.path, Door: door, Credential: as, Address: netip.MustParseAddr("192.0.2.7"),
	}, nil)
}

// stateCaller is a caller of each operation.
type stateCaller struct {
	name string
	// person says that a person calls with a session. anyone says that the caller belongs to no
	// organization.
	person, admin, anyone bool
	// as returns a new credential, because some operations end the credential.
	as func() api.Credential
}

// refusal returns the reason for which a call of the operation must be refused, or "" if it must be
// accepted. state is the state of the organization. lacking says that a second factor is required
// and the caller has none.
func (r *stateRow) refusal(c *stateCaller, state access.State, lacking bool) access.Reason {
	switch {
	case c.anyone, c.person && r.always:
		return ""
	case c.person && lacking && !r.setup:
		return access.NoSecondFactor
	case state == access.Open, c.person && !r.changes && (state == access.Closed || c.admin):
		return ""
	}
	return access.OrganizationClosed
}

// TestWalkStates calls every operation, through each api.Door that it has, in an organization with
// a restriction. The organization is closed or being deleted, or requires a second factor that its
// people lack. It checks that only the properties of the operation decide whether the call is
// accepted.
func TestWalkStates(t *testing.T) {
	o := apitest.New(t, dbtest.SQLite(t), apitest.Replicas(1))
	admin, member := o.User(access.Admin), o.User(access.Member)
	signedIn := func(person string) func() api.Credential {
		return func() api.Credential { return cookieOf(o, person) }
	}
	key := api.Bearer(o.Key(admin))
	callers := []stateCaller{
		{name: "admin", person: true, admin: true, as: signedIn(admin)},
		{name: "member", person: true, as: signedIn(member)},
		{name: "key", as: func() api.Credential { return key }},
		{name: "operator", anyone: true, as: api.Local},
		{name: "nobody", anyone: true, as: func() api.Credential { return api.Credential{} }},
	}
	requireFactor(t, o, "required")
	for _, lacking := range []bool{false, true} {
		if lacking {
			o.Clock.Advance(8 * 24 * time.Hour)
		}
		for _, state := range []access.State{access.Open, access.Closed, access.Deleting} {
			if _, err := o.Operator.SetOrganization(t.Context(), organization.Change{ID: o.ID, State: &state}); err != nil {
				t.Fatal(err)
			}
			for _, r := range stateRows() {
				for _, c := range callers {
					for _, door := range r.doors {
						got := r.call(t, o, door, c.as())
						reason := access.Reason("")
						if got.Fault != nil && slices.Contains([]access.Reason{access.OrganizationClosed, access.NoSecondFactor},
							access.Reason(got.Fault.Reason)) {
							reason = access.Reason(got.Fault.Reason)
						}
						if want := r.refusal(&c, state, lacking); reason != want || got.Status >= 500 {
							t.Errorf("%s by %s as %s, organization %s, factor lacking %t: %d %s, want %s", r.id, door, c.name, state,
								lacking, got.Status, cmp.Or(reason, "let through"), cmp.Or(want, "let through"))
						}
					}
				}
			}
		}
	}
}
