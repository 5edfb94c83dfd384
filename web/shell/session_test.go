package shell

import (
	"testing"

	"kartei/api/op"
	"kartei/instance/jobs"
	"kartei/integration/key"
	"kartei/people/account"
	"kartei/people/auditlog"
	"kartei/people/principal"
	"kartei/record/contact"
)

// TestMayOpen checks who may open pages whose operations are in the public API, and other pages.
func TestMayOpen(t *testing.T) {
	clerk := &Session{Scopes: []string{"contacts:read"}}
	admin := &Session{Scopes: []string{"contacts:read", "contacts:write"}, Administers: true}
	for _, c := range []struct {
		uses                  op.List
		reach                 reach
		nobody, clerk, admins bool
	}{
		{nil, reachOpen, true, true, true},
		{op.List{account.SignInByPassword, principal.ListUsers}, reachOpen, true, true, true},
		{nil, reachPrivate, true, true, true},
		{op.List{contact.Get, principal.ListUsers}, reachInside, false, true, true},
		{op.List{contact.Update, contact.Get}, reachInside, false, false, true},
		{op.List{key.List}, reachPrivate, true, true, true},
		{op.List{account.GetSession}, reachPrivate, true, true, true},
		{op.List{principal.ListUsers, principal.ResolveNames}, reachPrivate, false, false, true},
		{op.List{auditlog.List}, reachPrivate, false, false, true},
		{op.List{jobs.List}, reachPrivate, false, false, true}, // only operators may call this operation
	} {
		p := &Page{Uses: c.uses, reach: c.reach}
		if nobody, clerk, admins := (&Session{}).mayOpen(p), clerk.mayOpen(p), admin.mayOpen(p); nobody != c.nobody || clerk != c.clerk || admins != c.admins {
			t.Errorf("%v opens for nobody %t, a clerk %t, an admin %t; want %t, %t, %t", c.uses.IDs(), nobody, clerk, admins, c.nobody, c.clerk, c.admins)
		}
	}
}
