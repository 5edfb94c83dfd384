package settings_test

import (
	"testing"

	"kartei/kit/fault"
	"kartei/settings"
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
		_, key := o.operator.CreateKey(ctx, settings.NewKey{
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
