package api

import (
	"context"

	"kartei/fault"
)

// authorize asks for the row's scope. Which records the actor sees is decided
// in the queries.
func authorize(_ *API, _ context.Context, c *call) error {
	if !c.actor.May(c.op.Scope) {
		return &fault.Fault{Code: fault.Forbidden, Detail: &fault.Text{
			DE: "Diesem Aufruf fehlt der Scope " + c.op.Scope + ".",
			EN: "This call lacks the scope " + c.op.Scope + ".",
		}}
	}
	return nil
}
