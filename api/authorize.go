package api

import (
	"context"

	"kartei/fault"
)

// authorize asks for the row's scope. Which records the actor sees is decided
// in the queries.
func authorize(_ *API, _ context.Context, c *call) error {
	if !c.actor.May(c.op.Scope) {
		return fault.New(fault.Forbidden)
	}
	return nil
}
