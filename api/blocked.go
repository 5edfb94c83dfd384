package api

import (
	"context"

	"kartei/kit/fault"
)

// blocked refuses the families that no credential may call.
func blocked(_ *API, _ context.Context, c *call) error {
	if c.family != "" {
		f := fault.New(fault.RiskFamilyBlocked)
		if c.family == "users" {
			f.Detail = &noUsers
		}
		return f
	}
	return nil
}

var noUsers = fault.Text{
	DE: "Benutzerkonten sind über die API grundsätzlich nicht zugänglich. Kennungen von Personen nennt der Betreiber (kartei user list); die eigene steht in GET /v1/me.",
	EN: "User accounts are never available through the API. Whoever runs the instance knows the ids of people (kartei user list); one's own is in GET /v1/me.",
}
