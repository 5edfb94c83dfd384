package instance

import (
	"context"

	"kartei/access"
	"kartei/api/op"
	"kartei/door/admin"
	"kartei/door/admin/socket"
	"kartei/integration/key"
	"kartei/people/organization"
	"kartei/people/principal"
)

// Operator administers a running instance from the same process. It makes the same calls as the
// command line.
type Operator struct{ caller socket.Caller }

// Operator returns the Operator of the instance.
func (i *Instance) Operator() Operator { return Operator{i.door()} }

// ListOrganizations calls organization.List.
func (o Operator) ListOrganizations(ctx context.Context, in op.Page) (op.Entries[access.OrganizationInfo], error) {
	return admin.Call(ctx, o.caller, organization.List, in)
}

// CreateOrganization calls organization.Create.
func (o Operator) CreateOrganization(ctx context.Context, in organization.New) (access.OrganizationInfo, error) {
	return admin.Call(ctx, o.caller, organization.Create, in)
}

// ListUsers calls principal.ListUsers.
func (o Operator) ListUsers(ctx context.Context, in op.Page) (op.Entries[access.PrincipalInfo], error) {
	return admin.Call(ctx, o.caller, principal.ListUsers, in)
}

// CreateUser calls principal.CreateUser.
func (o Operator) CreateUser(ctx context.Context, in principal.New) (access.PrincipalInfo, error) {
	return admin.Call(ctx, o.caller, principal.CreateUser, in)
}

// CreateKey calls key.Create.
func (o Operator) CreateKey(ctx context.Context, in key.New) (key.WithSecret, error) {
	return admin.Call(ctx, o.caller, key.Create, in)
}
