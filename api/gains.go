package api

import (
	"context"
	"fmt"

	"kartei/access"
	"kartei/api/op"
	"kartei/people/gains"
)

// Give notifies the people who are concerned by a gain of access (op.Giver). It fails if the row of
// the operation lacks the option Gives. Operations of the contract fail if the caller is a person
// without a recent sign-in. Other operations fail for all callers without a recent sign-in. Callers
// of operations for anyone are not checked, because their input has a proof.
func (c *call) Give(ctx context.Context, of *op.Call, g op.Gain) error {
	if !c.op.Gives {
		return fmt.Errorf("api: %s gives access (%s), and its row does not say so", c.op.ID, g.Word)
	}
	person := c.actor.Credential().Kind == access.Session
	if c.op.Published() && person || !c.op.Published() && !c.op.Who.Open() {
		if err := c.actor.Recent(c.now); err != nil {
			return err
		}
	}
	return gains.Tell(ctx, of, g)
}
