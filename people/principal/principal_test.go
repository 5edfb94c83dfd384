package principal_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/key"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/dbtest"
	"kartei/test/operator"

	"github.com/google/go-cmp/cmp"
)

var ctx = context.Background()

func TestLists(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := operator.NewOffice(t, d)
		must(o.Operator.CreateOrganization(ctx, organization.New{Name: "Zweite"}))
		var names []string
		var page op.Page
		for page.Limit = 3; ; {
			list := must(o.Operator.ListOrganizations(ctx, page))
			for _, org := range list.Data {
				names = append(names, org.Name)
				page.After = org.ID
			}
			if !list.HasMore {
				break
			}
		}
		want := []string{"Kanzlei Morgenstern", "Kanzlei Morgenstern (Sandbox)", "Zweite", "Zweite (Sandbox)"}
		slices.Sort(names)
		if diff := cmp.Diff(want, names); diff != "" {
			t.Error(diff)
		}
		for _, limit := range []int{-1, 1001} {
			if _, err := o.Operator.ListKeys(ctx, key.FindInput{Page: op.Page{Limit: limit}}); !fault.Is(err,
				fault.ValidationFailed) {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
		if list := must(o.Operator.ListServiceAccounts(ctx, op.Page{})); list.Data == nil || len(list.Data) != 0 {
			t.Errorf("no service accounts: %#v", list.Data)
		}
	})
}

func TestPrincipals(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := operator.NewOffice(t, d)
		user := must(o.Operator.CreateUser(ctx, principal.New{
			Organization: o.Org.SandboxID, Name: "Ida Nuß", Email: "Ida.Nuss@Morgenstern.example",
			Rights: access.Rights{"tasks": access.ReadRight},
		}))
		if user.Role != access.Member || user.OrganizationID != o.Org.ID || user.Type != access.UserPrincipal ||
			!id.Valid(id.User, user.ID) {
			t.Errorf("user: %+v", user)
		}
		robot := must(o.Operator.CreateServiceAccount(ctx, principal.New{
			Organization: o.Org.ID, Name: "Abgleich", Role: access.Viewer,
		}))
		if robot.Email != "" || robot.Type != access.ServiceAccountPrincipal || !id.Valid(id.ServiceAccount, robot.ID) {
			t.Errorf("service account: %+v", robot)
		}
		users := must(o.Operator.ListUsers(ctx, op.Page{Organization: o.Org.SandboxID}))
		if diff := cmp.Diff([]string{o.Admin.ID, user.ID}, ids(users.Data)); diff != "" {
			t.Error(diff)
		}
		if robots := must(o.Operator.ListServiceAccounts(ctx,
			op.Page{Organization: o.Org.ID})); len(robots.Data) != 1 || robots.Data[0].ID != robot.ID {
			t.Errorf("service accounts: %+v", robots)
		}
		nowhere := op.Page{Organization: id.New(id.Organization)}
		_, noUsers := o.Operator.ListUsers(ctx, nowhere)
		_, noAccounts := o.Operator.ListServiceAccounts(ctx, nowhere)
		_, noKeys := o.Operator.ListKeys(ctx, key.FindInput{Page: nowhere})
		for _, err := range []error{noUsers, noAccounts, noKeys} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("a list of an organization that does not exist: %v", err)
			}
		}

		changed := must(o.Operator.SetUser(ctx, principal.Change{
			ID: user.ID, Name: new("Ida Nuss"), Role: new(access.Admin), Rights: access.Rights{"contacts": access.NoRight},
			Disabled: new(true),
		}))
		got := must(o.Operator.GetPrincipal(ctx, op.ByID{ID: user.ID}))
		wantRights := access.Rights{"tasks": access.ReadRight, "contacts": access.NoRight}
		if got.Name != "Ida Nuss" || got.Role != access.Admin || !got.Disabled || got.Email != user.Email ||
			!cmp.Equal(got.Rights, wantRights) {
			t.Errorf("after set: %+v, answered %+v", got, changed)
		}
		// the user's own address, in another case
		must(o.Operator.SetUser(ctx, principal.Change{ID: user.ID, Email: new("ida.nuss@morgenstern.example")}))

		refusals := []struct {
			name string
			err  error
			want []string
		}{
			{
				"email of another",
				second(o.Operator.CreateUser(ctx, principal.New{
					Organization: o.Org.ID, Name: "X", Email: "JOHANNA@morgenstern.example",
				})),
				[]string{"email DUPLICATE"},
			},
			{
				"set to that of another",
				second(o.Operator.SetUser(ctx, principal.Change{ID: user.ID, Email: new("johanna@morgenstern.example")})),
				[]string{"email DUPLICATE"},
			},
			{
				"everything missing",
				second(o.Operator.CreateUser(ctx, principal.New{})),
				[]string{"organizationId REQUIRED", "name REQUIRED", "email REQUIRED"},
			},
			{"everything wrong", second(o.Operator.CreateUser(ctx, principal.New{
				Organization: "org_x", Name: "a\nb", Email: "not an address", Role: "boss",
				Rights: access.Rights{"invoices": access.ReadRight, "tasks": "all"},
			})), []string{
				"organizationId NOT_FOUND", "name INVALID_FORMAT", "email INVALID_FORMAT", "role NOT_IN_ENUM",
				"rights UNKNOWN_FIELD", "rights.tasks NOT_IN_ENUM",
			}},
			{
				"email too long",
				second(o.Operator.SetUser(ctx, principal.Change{ID: user.ID, Email: new(strings.Repeat("a", 250) + "@b.de")})),
				[]string{"email TOO_LONG"},
			},
			{
				"email taken away",
				second(o.Operator.SetUser(ctx, principal.Change{ID: user.ID, Email: new("")})),
				[]string{"email REQUIRED"},
			},
			{
				"service account with email",
				second(o.Operator.CreateServiceAccount(ctx, principal.New{
					Organization: o.Org.ID, Name: "X", Email: "x@y.example",
				})),
				[]string{"email FORBIDDEN_COMBINATION"},
			},
		}
		for _, r := range refusals {
			if diff := cmp.Diff(r.want, operator.Wrong(t, r.err)); diff != "" {
				t.Errorf("%s: %s", r.name, diff)
			}
		}
		for _, unknown := range []string{"", robot.ID, id.New(id.User), o.Org.ID} {
			if _, err := o.Operator.SetUser(ctx, principal.Change{ID: unknown}); !fault.Is(err, fault.NotFound) {
				t.Errorf("set user %q: %v", unknown, err)
			}
		}
		if _, err := o.Operator.SetServiceAccount(ctx, principal.Change{ID: user.ID}); !fault.Is(err, fault.NotFound) {
			t.Errorf("a user was set as a service account: %v", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func ids(ps []access.PrincipalInfo) []string {
	var list []string
	for _, p := range ps {
		list = append(list, p.ID)
	}
	return list
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
