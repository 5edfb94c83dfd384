package access

import (
	"slices"
	"testing"

	"kartei/kit/fault"

	"github.com/google/go-cmp/cmp"
)

// TestGate checks each cell of the contract's table ('Authentication', point 6). It also checks
// the declaration of secrecy and the state of the organization.
func TestGate(t *testing.T) {
	const pass = fault.Code("")
	for _, c := range []struct {
		module, secrecy bool
		level           Level
		state           State
		gate            fault.Code
		reads, writes   bool // whether the effective scopes allow reading and writing
	}{
		{false, true, Off, Open, fault.APIModuleDisabled, false, false},
		{false, true, Read, Open, fault.APIModuleDisabled, true, false},
		{false, true, On, Open, fault.APIModuleDisabled, true, true},
		{true, true, Off, Open, fault.Unauthenticated, false, false},
		{true, true, Read, Open, pass, true, false},
		{true, true, On, Open, pass, true, true},

		{true, false, Off, Open, fault.APIModuleDisabled, false, false},
		{true, false, On, Open, fault.APIModuleDisabled, true, true},
		{true, true, On, Closed, fault.Forbidden, true, true},
		{true, true, On, Deleting, fault.Forbidden, true, true},
		{true, true, Off, Closed, fault.Unauthenticated, false, false},
		{false, true, On, Closed, fault.APIModuleDisabled, true, true},
		{true, true, "", Open, fault.Unauthenticated, false, false},
		{true, true, On, "", fault.Forbidden, true, true},
	} {
		principal := Actor{
			organization: Organization{ModuleOn: c.module, SecrecyDeclared: c.secrecy, Level: c.level, State: c.state},
			role:         Member,
		}
		held := []string{"contacts:read", "contacts:write"}
		a := principal
		a.hold(Credential{Kind: Key, Duties: duties[Key]}, held)
		got := pass
		if err := a.Gate(true); err != nil {
			got = fault.From(err).Code
		}
		if got != c.gate {
			t.Errorf("module %t secrecy %t level %q state %q: gate says %q, want %q", c.module, c.secrecy, c.level, c.state,
				got, c.gate)
		}
		if slices.Contains(a.Scopes(), "contacts:read") != c.reads ||
			slices.Contains(a.Scopes(), "contacts:write") != c.writes {
			t.Errorf("level %q: scopes %v", c.level, a.Scopes())
		}
		person := principal
		person.hold(Credential{Kind: Session, Duties: duties[Session]}, held)
		if reads, writes := person.Gate(false) == nil, person.Gate(true) == nil; reads != (c.state == Open ||
			c.state == Closed) || writes != (c.state == Open) || slices.Contains(person.Scopes(), "contacts:write") != writes {
			t.Errorf("module %t secrecy %t level %q state %q: a person reads %t, writes %t, scopes %v", c.module, c.secrecy,
				c.level, c.state, reads, writes, person.Scopes())
		}
		if person.role = Admin; (person.Gate(false) == nil) != (c.state == Open || c.state == Closed ||
			c.state == Deleting) || (person.Gate(true) == nil) != (c.state == Open) {
			t.Errorf("state %q: an admin reads %v, writes %v", c.state, person.Gate(false), person.Gate(true))
		}
		free := principal
		free.hold(Credential{Kind: "badge"}, held)
		if err := free.Gate(true); (err == nil) != (c.state == Open) || len(free.Scopes()) != 2 {
			t.Errorf("module %t secrecy %t level %q state %q: a kind without the duty has scopes %v and %v", c.module,
				c.secrecy, c.level, c.state, free.Scopes(), err)
		}
	}
}

func TestNoScopesNoAccess(t *testing.T) {
	var nobody Actor
	if nobody.May("") || nobody.May("contacts:read") || nobody.SeesAll() || nobody.Gate(false) == nil {
		t.Error("the zero Actor may do something")
	}
}

// TestRightsNarrowScopes checks that the effective scopes are the scopes of the key that the
// principal's rights allow.
func TestRightsNarrowScopes(t *testing.T) {
	key := []string{"tasks:write", "contacts:read", "contacts:write", "documents:read"}
	for _, c := range []struct {
		role   Role
		rights Rights
		want   []string
	}{
		{Admin, nil, []string{"contacts:read", "contacts:write", "documents:read", "tasks:write"}},
		{Member, nil, []string{"contacts:read", "contacts:write", "documents:read", "tasks:write"}},
		{Viewer, nil, []string{"contacts:read", "documents:read"}},
		{Viewer, Rights{"contacts": WriteRight}, []string{"contacts:read", "documents:read"}},
		{Viewer, Rights{"contacts": NoRight}, []string{"documents:read"}},
		{Member, Rights{"contacts": ReadRight}, []string{"contacts:read", "documents:read", "tasks:write"}},
		{Member, Rights{"contacts": NoRight, "tasks": ReadRight}, []string{"documents:read"}},
		{Admin, Rights{"contacts": NoRight, "tasks": NoRight, "documents": NoRight}, []string{}},
		{Member, Rights{"contacts": "unheard of"}, []string{"documents:read", "tasks:write"}},
		{"unheard of", nil, []string{"contacts:read", "documents:read"}},
	} {
		if diff := cmp.Diff(c.want, effectiveScopes(key, &Actor{role: c.role, rights: c.rights})); diff != "" {
			t.Errorf("%s %v: %s", c.role, c.rights, diff)
		}
	}
}

func TestScopesAreThoseOfTheContract(t *testing.T) {
	want := []string{
		"companies:read", "companies:write", "contacts:read", "contacts:write", "documents:read", "documents:write",
		"tasks:read", "tasks:write", "webhook_endpoints:read", "webhook_endpoints:write",
	}
	if diff := cmp.Diff(want, AllScopes()); diff != "" {
		t.Error(diff)
	}
	if slices.ContainsFunc(ReadScopes(), Writes) || len(ReadScopes()) != 5 {
		t.Errorf("reading scopes: %v", ReadScopes())
	}
}
