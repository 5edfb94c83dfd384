package api

import (
	"context"
	"slices"
	"strings"

	"kartei/app"
	"kartei/kit/fault"
	"kartei/limit"
)

// searchCost is what a search adds to the row's cost (contract, 'Cost per operation').
const searchCost = 5

// limits charges the call, before it does anything.
func limits(a *API, ctx context.Context, c *call) error {
	if !c.duties.Limits {
		return nil
	}
	var err error
	c.charged = c.charge()
	if c.charged.Delete && a.limiter.Metered() {
		// A delete too many may pause its key and make the assumption stale. Its own
		// answer is 429 all the same, so the caller is confirmed before.
		if err := a.confirm(ctx, c, nil); err != nil {
			return err
		}
	}
	c.decision, err = a.limiter.Take(ctx, c.charged)
	if err != nil {
		return err
	}
	if len(c.decision.Violated) == 0 {
		c.paid = true
		return nil
	}
	code := fault.RateLimited
	if c.decision.Quota {
		code = fault.QuotaExhausted
	}
	return &fault.Fault{
		Code: code, RetryAfter: c.decision.RetryAfter, Detail: limited(&c.decision, c.begun),
		Extra: map[string]any{"violated-policies": c.decision.Violated},
	}
}

// settle ends a call that was charged: it runs no more, and what it returned
// is counted. Of a call that was refused nothing was taken.
func (a *API) settle(c *call) { a.limiter.Done(c.charged, &c.decision, c.returned) }

func (c *call) charge() limit.Charge {
	points := c.op.Cost
	if c.searches() {
		points += searchCost
	}
	return limit.Charge{
		Organization: c.actor.Org(), Principal: c.actor.PrincipalID(), Key: c.actor.Credential().ID,
		// What a batch changes its parts are charged for.
		Points: points, Write: c.op.Writes() && c.op.Cost > 0, Nested: c.of != nil, Delete: c.op.Deletes(), Reads: c.discloses(),
		Into: c.statuses[:0], At: c.begun,
	}
}

// discloses reports whether the answer holds records that the caller may not
// know yet, which the limit on data outflow counts. Changes count as well: a
// change of nothing answers with any record whose id is known.
func (c *call) discloses() bool {
	return c.op.Discloses() && (!c.op.Writes() || c.actor.May(c.op.ReadScope()))
}

// Discloses reports whether the operation answers with records that were there
// before: lists, reads, search and the content of documents, and the changes
// that show the record.
func (o *Operation) Discloses() bool {
	return o.Run.counted && o.ofRecords() && (!o.Writes() || o.ShowsRecord())
}

// ofRecords reports whether the operation is of a family of records.
func (o *Operation) ofRecords() bool {
	return slices.ContainsFunc(Families, func(f app.Family) bool { return f.Plural == o.Family })
}

// searches reports whether the call has a parameter q, however its name is
// encoded. It is charged for before the query is looked at closely.
func (c *call) searches() bool {
	for part := range strings.SplitSeq(c.Query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if name == "q" || name == "%71" {
			return true
		}
	}
	return false
}
