package api

import (
	"context"

	"kartei/fault"
)

// blocked refuses the families that no credential may call.
func blocked(_ *API, _ context.Context, c *call) error {
	if c.family != "" {
		return fault.New(fault.RiskFamilyBlocked)
	}
	return nil
}
