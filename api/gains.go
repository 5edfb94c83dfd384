package api

import (
	"context"
	"fmt"

	"kartei/access"
	"kartei/api/op"
	"kartei/people/gains"
)

// GivesAccess reports whether a call of the row may make, widen, restore or hand out access.
func (o *Operation) GivesAccess() bool { return o.Run.gives }

// giving says that a row of the contract gives access, with the word of its line in the audit
// log. The credential of a program is the proof, so no sign-in is asked for.
func (h handler) giving(audit string) handler {
	h.gives, h.audit = true, audit
	return h
}

// Give is the one place where access is given (op.Giver). The row must have the column. A
// person has signed in recently, also for a row of the contract; callers of rows for anyone bring
// a proof in the input. Those whom it concerns are told.
func (c *call) Give(ctx context.Context, of *op.Call, g op.Gain) error {
	if !c.op.GivesAccess() {
		return fmt.Errorf("api: %s gives access (%s), and its row does not say so", c.op.ID, g.Word)
	}
	person := c.actor.Credential().Kind == access.Session
	if c.console != nil && !c.console.Who.Has(byAnyone) || c.console == nil && person {
		if err := c.actor.Recent(c.now); err != nil {
			return err
		}
	}
	return gains.Tell(ctx, of, g)
}
