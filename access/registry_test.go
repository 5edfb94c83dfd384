package access_test

import (
	"testing"

	"kartei/access"
	"kartei/kit/id"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/store/db"
	"kartei/test/dbtest"
)

func TestPrincipalExists(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d db.DB) {
		o := newOffice(t, d)
		other := must(o.operator.CreateOrganization(ctx, organization.New{Name: "Andere"}))
		stranger := must(o.operator.CreateUser(ctx, principal.New{
			Organization: other.ID, Name: "Fremd", Email: "fremd@example.org",
		}))
		gone := must(o.operator.CreateServiceAccount(ctx, principal.New{Organization: o.org.ID, Name: "Ruhend"}))
		must(o.operator.SetServiceAccount(ctx, principal.Change{ID: gone.ID, Disabled: new(true)}))
		in := o.newKey()
		live := o.accepted(must(o.operator.CreateKey(ctx, in)).Key, loopback).Org()
		in.Environment = access.Test
		sandbox := o.accepted(must(o.operator.CreateKey(ctx, in)).Key, loopback).Org()
		if live == sandbox {
			t.Fatal("one number for an organization and its sandbox")
		}
		err := d.Read(ctx, func(tx db.Tx) error {
			for _, number := range []int64{live, sandbox} {
				for principal, want := range map[string]bool{
					o.admin.ID: true, gone.ID: true, stranger.ID: false, id.New(id.User): false, "": false,
				} {
					if got, err := access.PrincipalExists(ctx, tx, number, principal); err != nil || got != want {
						t.Errorf("organization %d, principal %q: %t %v", number, principal, got, err)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
