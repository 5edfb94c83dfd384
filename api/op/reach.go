package op

import (
	"context"

	"kartei/access"
	"kartei/kit/fault"
	"kartei/kit/input"
)

// IsOperator reports whether the operator of the instance is calling.
func (c *Call) IsOperator() bool { return c.Actor.Credential().Kind == access.Operator }

// Administers reports whether the caller may act for other people of the organization: an admin or
// the operator.
func (c *Call) Administers() bool { return c.IsOperator() || c.Actor.SeesAll() }

// Owns reports whether the caller may administer the objects of a principal. Callers may administer
// their own objects. Admins and the operator may administer all objects.
func (c *Call) Owns(principal string) bool {
	return c.Administers() || principal == c.Actor.PrincipalID()
}

// FindOrganization returns the organization with this id. The operator may use any id, and must not
// leave it out. Other callers may use the ids of their organization, which is the default, and of
// its sandbox. Any other id is NOT_FOUND.
func (c *Call) FindOrganization(ctx context.Context, name string) (access.OrganizationInfo, error) {
	if name == "" {
		if c.IsOperator() {
			return access.OrganizationInfo{}, fault.Invalid(fault.Field{Name: "organizationId", Code: fault.Required})
		}
		name = c.Actor.Organization().ID
	}
	o, err := access.OrganizationIn(ctx, c.Tx, name)
	if err != nil {
		return o, err
	}
	if !c.Reaches(o.Number, o.Live) {
		return access.OrganizationInfo{}, fault.Unknown("There is no organization with this id.")
	}
	return o, err
}

// Reaches reports whether the caller may call about the organization with this number. The operator
// may for all organizations, and other callers for their organization and its sandbox. live is the
// number of the organization that has the people of this one. Owns says which objects there belong
// to the caller.
func (c *Call) Reaches(number, live int64) bool {
	return c.IsOperator() || number == c.Actor.Org() || live == c.Actor.Org()
}

// Within returns the id of the organization to which a list is restricted. It is empty if the
// operator names no organization, and the list then has all organizations.
func (c *Call) Within(ctx context.Context, name string) (string, error) {
	if name == "" && c.IsOperator() {
		return "", nil
	}
	o, err := c.FindOrganization(ctx, name)
	return o.ID, err
}

// OrganizationField is FindOrganization for an input with several members. An unknown organization
// is added to f as an error of the member organizationId.
func (c *Call) OrganizationField(ctx context.Context, f *input.Faults, name string) (access.OrganizationInfo, error) {
	o, err := c.FindOrganization(ctx, name)
	switch {
	case fault.Is(err, fault.ValidationFailed):
		f.Add("organizationId", fault.Required, nil)
		return o, nil
	case fault.Is(err, fault.NotFound):
		f.Say("organizationId", fault.FieldNotFound, "There is no such organization.")
		return access.OrganizationInfo{}, nil
	}
	return o, err
}
