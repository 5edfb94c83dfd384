package api

import (
	"context"

	"kartei/kit/fault"
)

// organization compares the header Svc-Organization, where it is sent, with
// the organization that the credential is bound to.
func organization(_ *API, _ context.Context, c *call) error {
	for _, want := range c.Header["Svc-Organization"] {
		if want != c.actor.Organization().ID {
			return fault.New(fault.OrganizationMismatch)
		}
	}
	return nil
}
