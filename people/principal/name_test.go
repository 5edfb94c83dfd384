package principal_test

import (
	"testing"

	"kartei/integration/key"
	"kartei/kit/fault"
	"kartei/people/invitation"
	"kartei/people/organization"
	"kartei/people/principal"
	"kartei/test/dbtest"
	"kartei/test/operator"
)

// TestNamesShowWhatTheyAre checks that the name of an organization, a person, a service account or
// a key cannot imitate another name or be invisible.
func TestNamesShowWhatTheyAre(t *testing.T) {
	o := operator.NewOffice(t, dbtest.SQLite(t))
	for _, name := range []string{"\u202eEvil", "\u200b", "Anna\u2028Berg", "\u2067Berg\u2069", "\ue000"} {
		_, user := o.Operator.CreateUser(ctx, principal.New{Organization: o.Org.ID, Name: name, Email: "x@example.com"})
		_, account := o.Operator.CreateServiceAccount(ctx, principal.New{Organization: o.Org.ID, Name: name})
		_, organization := o.Operator.CreateOrganization(ctx, organization.New{Name: name})
		_, renamed := o.Operator.SetUser(ctx, principal.Change{ID: o.Admin.ID, Name: &name})
		_, key := o.Operator.CreateKey(ctx, key.New{
			Organization: o.Org.SandboxID, Principal: o.Admin.ID, Environment: "test", Name: name,
			Scopes: []string{"contacts:read"},
		})
		for act, err := range map[string]error{
			"user create": user, "service-account create": account, "org create": organization,
			"user set": renamed, "key create": key,
		} {
			if f := fault.From(err); err == nil || len(f.Fields) != 1 || f.Fields[0].Name != "name" ||
				f.Fields[0].Code != fault.InvalidFormat {
				t.Errorf("%s %q: %v", act, name, err)
			}
		}
	}
	if _, err := o.Operator.CreateUser(ctx, principal.New{
		Organization: o.Org.ID, Name: "נועה כהן", Email: "y@example.com",
	}); err != nil {
		t.Error(err)
	}
}

// TestAddressesAreThoseOfEmails checks that an email address with a comment or another unusual form
// is refused. Comments would give one mailbox many addresses, each with its own person and
// invitations.
func TestAddressesAreThoseOfEmails(t *testing.T) {
	o := operator.NewOffice(t, dbtest.SQLite(t))
	for _, email := range []string{
		"ida@example.com(2)", "(2)ida@example.com", "ida@[127.0.0.1]", "ida\u00a0@example.com",
		"i:da@example.com", "ida\\@example.com", "ida..neu@example.com",
	} {
		_, invited := operator.Run(ctx, o.Operator, invitation.Create, invitation.New{Organization: o.Org.ID, Email: email})
		_, made := o.Operator.CreateUser(ctx, principal.New{Organization: o.Org.ID, Name: "Ida", Email: email})
		_, changed := o.Operator.SetUser(ctx, principal.Change{ID: o.Admin.ID, Email: &email})
		for act, err := range map[string]error{"invite": invited, "create": made, "set": changed} {
			if f := fault.From(err); err == nil || len(f.Fields) != 1 || f.Fields[0].Name != "email" ||
				f.Fields[0].Code != fault.InvalidFormat {
				t.Errorf("%s %q: %v", act, email, err)
			}
		}
	}
	for _, email := range []string{"ida.o'neill+kanzlei@example.com", "jörg@müller.example", "ida_neu@sub.example.com"} {
		if made := must(operator.Run(ctx, o.Operator, invitation.Create,
			invitation.New{Organization: o.Org.ID, Email: email})); made.Email != email {
			t.Errorf("%q", made.Email)
		}
	}
}
