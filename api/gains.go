package api

import (
	"context"
	"fmt"

	"kartei/access"
	"kartei/api/op"
	"kartei/people/gains"
)

// Give is the one place where access is given (op.Giver). The operation must have the column. A
// person has signed in recently, also for one of the contract. Callers of operations for anyone
// bring a proof in the input. The people concerned get a notice.
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
