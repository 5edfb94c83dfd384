package op

import (
	"context"

	"kartei/access"
	"kartei/kit/fault"
	"kartei/kit/input"
)

// IsOperator reports whether the operator of the instance is calling.
func (c *Call) IsOperator() bool { return c.Actor.Credential().Kind == access.Operator }

// Administers reports whether the caller may act for other people of the
// organization.
func (c *Call) Administers() bool { return c.IsOperator() || c.Actor.SeesAll() }

// Owns reports whether the caller may administer what belongs to a principal.
// Callers may administer their own; admins and the operator may administer
// everything.
func (c *Call) Owns(principal string) bool {
	return c.Administers() || principal == c.Actor.PrincipalID()
}

// FindOrganization returns the organization that an input names. The operator may
// name any. For other callers it is their own, which is the default, or its
// sandbox. Any other one is NOT_FOUND, as if it did not exist.
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

// Reaches reports whether the organization with a number is the caller's, or any for the
// operator. Whether a thing of it is the caller's says Owns. live is the number of the organization that holds its people.
func (c *Call) Reaches(number, live int64) bool {
	return c.IsOperator() || number == c.Actor.Org() || live == c.Actor.Org()
}

// Within returns the id of the organization that restricts a list. It is empty
// for an operator who names none, and the list then has all organizations.
func (c *Call) Within(ctx context.Context, name string) (string, error) {
	if name == "" && c.IsOperator() {
		return "", nil
	}
	o, err := c.FindOrganization(ctx, name)
	return o.ID, err
}

// OrganizationField is like FindOrganization, for an input with further members. An
// unknown organization is an error of its field.
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
