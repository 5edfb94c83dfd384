package instance

import (
	"context"

	"kartei/access"
	"kartei/door/admin/socket"
	"kartei/people/settings"
)

// Operator administers a running instance from within its process. It makes the
// same calls as the command line.
type Operator struct{ caller socket.Caller }

// Operator returns the Operator of the instance.
func (i *Instance) Operator() Operator { return Operator{i.door()} }

func call[Out any](ctx context.Context, o Operator, name string, in any) (out Out, err error) {
	err = o.caller.Call(ctx, name, in, &out)
	return out, err
}

// ListOrganizations calls organizations.list.
func (o Operator) ListOrganizations(ctx context.Context, in access.Page) (access.List[access.OrganizationInfo], error) {
	return call[access.List[access.OrganizationInfo]](ctx, o, "organizations.list", in)
}

// CreateOrganization calls organizations.create.
func (o Operator) CreateOrganization(ctx context.Context, in settings.NewOrganization) (access.OrganizationInfo, error) {
	return call[access.OrganizationInfo](ctx, o, "organizations.create", in)
}

// ListUsers calls people.list.
func (o Operator) ListUsers(ctx context.Context, in access.Page) (access.List[access.PrincipalInfo], error) {
	return call[access.List[access.PrincipalInfo]](ctx, o, "people.list", in)
}

// CreateUser calls people.create.
func (o Operator) CreateUser(ctx context.Context, in settings.NewPrincipal) (access.PrincipalInfo, error) {
	return call[access.PrincipalInfo](ctx, o, "people.create", in)
}

// CreateKey calls keys.create.
func (o Operator) CreateKey(ctx context.Context, in settings.NewKey) (settings.CreatedKey, error) {
	return call[settings.CreatedKey](ctx, o, "keys.create", in)
}
