package instance

import (
	"context"

	"kartei/access"
	"kartei/door/admin"
	"kartei/door/admin/socket"
	"kartei/integration/key"
	"kartei/people/settings"
)

// Operator administers a running instance from within its process. It makes the
// same calls as the command line.
type Operator struct{ caller socket.Caller }

// Operator returns the Operator of the instance.
func (i *Instance) Operator() Operator { return Operator{i.door()} }

// ListOrganizations calls settings.ListOrganizations.
func (o Operator) ListOrganizations(ctx context.Context, in access.Page) (access.List[access.OrganizationInfo], error) {
	return admin.Call(ctx, o.caller, settings.ListOrganizations, in)
}

// CreateOrganization calls settings.CreateOrganization.
func (o Operator) CreateOrganization(ctx context.Context, in settings.NewOrganization) (access.OrganizationInfo, error) {
	return admin.Call(ctx, o.caller, settings.CreateOrganization, in)
}

// ListUsers calls settings.ListUsers.
func (o Operator) ListUsers(ctx context.Context, in access.Page) (access.List[access.PrincipalInfo], error) {
	return admin.Call(ctx, o.caller, settings.ListUsers, in)
}

// CreateUser calls settings.CreateUser.
func (o Operator) CreateUser(ctx context.Context, in settings.NewPrincipal) (access.PrincipalInfo, error) {
	return admin.Call(ctx, o.caller, settings.CreateUser, in)
}

// CreateKey calls key.Create.
func (o Operator) CreateKey(ctx context.Context, in key.New) (key.Created, error) {
	return admin.Call(ctx, o.caller, key.Create, in)
}
