package settings_test

import (
	"testing"

	"kartei/integration/key"
	"kartei/kit/fault"
	"kartei/people/settings"
	"kartei/test/dbtest"
)

// The name of an organization, person, service account or key cannot imitate
// another name, or be invisible.
func TestNamesShowWhatTheyAre(t *testing.T) {
	o := newOffice(t, dbtest.SQLite(t))
	for _, name := range []string{"\u202eEvil", "\u200b", "Anna\u2028Berg", "\u2067Berg\u2069", "\ue000"} {
		_, user := o.operator.CreateUser(ctx, settings.NewPrincipal{Organization: o.org.ID, Name: name, Email: "x@example.com"})
		_, account := o.operator.CreateServiceAccount(ctx, settings.NewPrincipal{Organization: o.org.ID, Name: name})
		_, organization := o.operator.CreateOrganization(ctx, settings.NewOrganization{Name: name})
		_, renamed := o.operator.SetUser(ctx, settings.PrincipalChange{ID: o.admin.ID, Name: &name})
		_, key := o.operator.CreateKey(ctx, key.New{
			Organization: o.org.SandboxID, Principal: o.admin.ID, Environment: "test", Name: name, Scopes: []string{"contacts:read"},
		})
		for act, err := range map[string]error{"user create": user, "service-account create": account, "org create": organization, "user set": renamed, "key create": key} {
			if f := fault.From(err); err == nil || len(f.Fields) != 1 || f.Fields[0].Name != "name" || f.Fields[0].Code != fault.InvalidFormat {
				t.Errorf("%s %q: %v", act, name, err)
			}
		}
	}
	if _, err := o.operator.CreateUser(ctx, settings.NewPrincipal{Organization: o.org.ID, Name: "נועה כהן", Email: "y@example.com"}); err != nil {
		t.Error(err)
	}
}

// An address is the one that emails are sent to. A comment would otherwise make
// many addresses of one mailbox, each with a person and invitations of its own.
func TestAddressesAreThoseOfEmails(t *testing.T) {
	o := newOffice(t, dbtest.SQLite(t))
	for _, email := range []string{"ida@example.com(2)", "(2)ida@example.com", "ida@[127.0.0.1]", "ida\u00a0@example.com", "i:da@example.com", "ida\\@example.com", "ida..neu@example.com"} {
		_, invited := o.invite(settings.NewInvitation{Email: email})
		_, made := o.operator.CreateUser(ctx, settings.NewPrincipal{Organization: o.org.ID, Name: "Ida", Email: email})
		_, changed := o.operator.SetUser(ctx, settings.PrincipalChange{ID: o.admin.ID, Email: &email})
		for act, err := range map[string]error{"invite": invited, "create": made, "set": changed} {
			if f := fault.From(err); err == nil || len(f.Fields) != 1 || f.Fields[0].Name != "email" || f.Fields[0].Code != fault.InvalidFormat {
				t.Errorf("%s %q: %v", act, email, err)
			}
		}
	}
	for _, email := range []string{"ida.o'neill+kanzlei@example.com", "jörg@müller.example", "ida_neu@sub.example.com"} {
		if made := must(o.invite(settings.NewInvitation{Email: email})); made.Email != email {
			t.Errorf("%q", made.Email)
		}
	}
}
