package api

import (
	"context"

	"kartei/access"
)

// gate asks the credential's organization whether its API may be used: the
// module, the declaration of secrecy, the level, and whether it is open.
func gate(_ *API, _ context.Context, c *call) error {
	err := c.actor.Gate()
	if err != nil {
		c.refusal = access.RefusalOf(err)
	}
	return err
}
