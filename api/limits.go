package api

import (
	"context"
	"slices"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/integration/limit"
	"kartei/kit/fault"
)

// searchCost is the additional cost of a search in points (contract, 'Cost per operation').
const searchCost = 5

// limitsResult holds the results of limits: the charge of a call, and the decision about it.
type limitsResult struct {
	charged  limit.Charge
	decision limit.Decision
	paid     bool
	returned int // number of records, known at the end of the call
	statuses [8]limit.Status
}

// limits charges the call before it runs. It fails if a limit is reached.
func limits(a *API, ctx context.Context, c *call) error {
	if !c.duties.Limits {
		return nil
	}
	var err error
	c.charged = c.charge()
	if c.charged.Delete && a.limiter.Metered() {
		// The limiter may pause the key because of this delete. Then the cached caller becomes
		// stale, and the call would get another error than 429. So the caller is confirmed first.
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

// settle ends a charged call. The call no longer counts as running, and the records in its response
// are counted. It does nothing for a refused call, which has no charge.
func (a *API) settle(c *call) { a.limiter.Done(c.charged, &c.decision, c.returned) }

func (c *call) charge() limit.Charge {
	points := c.op.Cost
	if c.searches() {
		points += searchCost
	}
	charge := chargeTo(c.actor)
	// The changes of a batch are charged to its parts. An operation that only keeps a note does not
	// count as a change. So people can still save a record after they opened many.
	charge.Points, charge.Write, charge.Nested = points, c.op.Run.changes, c.of != nil
	charge.Delete, charge.Reads = c.op.Run.deletes, c.discloses()
	charge.Into, charge.At = c.statuses[:0], c.begun
	return charge
}

// chargeTo returns an empty charge to the accounts of an actor.
func chargeTo(a *access.Actor) limit.Charge {
	c := limit.Charge{Organization: a.Org(), Principal: a.PrincipalID(), Key: a.Credential().ID}
	if a.Credential().Duties.Person {
		c.Session, c.Key = true, limit.Sessions(c.Principal)
	}
	return c
}

// discloses reports whether the response has records that may be new to the caller. The limit
// outflow counts such records. Changes count as well, because a change without an effect returns
// any record whose id is known.
func (c *call) discloses() bool {
	return c.op.Run.discloses && (!c.op.Run.writes || c.actor.May(c.op.ReadScope()))
}

// Discloses reports whether the operation returns existing records. Such operations are lists,
// reads, searches, the content of documents, and changes that return the record.
func (o *Operation) Discloses() bool {
	return o.Counted() && (!o.Published() || o.ofRecords() && (!o.Writes() || o.ShowsRecord()))
}

// ofRecords reports whether the operation belongs to a family of records.
func (o *Operation) ofRecords() bool {
	return slices.ContainsFunc(Families, func(f op.Family) bool { return f.Plural == o.Family })
}

// searches reports whether the call has a parameter q, whose name may be percent-encoded. The call
// is charged before its query is decoded.
func (c *call) searches() bool {
	for part := range strings.SplitSeq(c.Query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if name == "q" || name == "%71" {
			return true
		}
	}
	return false
}
