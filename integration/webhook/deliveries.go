package webhook

import (
	"cmp"
	"context"
	"slices"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/store/db"
)

// EventInput names an event.
type EventInput struct {
	Organization string `json:"organizationId,omitempty"`
	ID           string `json:"id"`
}

// EventDeliveries say where an event went.
type EventDeliveries struct {
	Data []EventDelivery `json:"data"`
}

// EventDelivery is an event at one endpoint.
type EventDelivery struct {
	EndpointID  string `json:"endpointId"`
	Name        string `json:"name"`
	PrincipalID string `json:"principalId"`
	// Status is the endpoint's status. A disabled endpoint gets nothing.
	Status Status `json:"status"`
	// DueAt is when the next attempt is made, null if none follows.
	DueAt clock.Micros `json:"dueAt"`
	// Attempts are the attempts of 30 days, the newest first.
	Attempts []Attempt `json:"attempts"`
}

// maxAttempts bounds the attempts of an event at all endpoints. A series has ten, and
// each resend begins another one.
const maxAttempts = 1000

const (
	// Both begin with the endpoints of the organization, and look each one up in the
	// index of an endpoint and an event. SQLite keeps the order of a cross join.
	findTried = `select e.id, e.name, e.principal, e.status, a.id, a.event_id, a.event_type, a.attempt, a.status, a.response_status, a.response_ms,
			a.error_code, a.attempted_at, a.next_attempt_at
		from (select organization, id, name, principal, status from webhook_endpoints where organization = $1`
	andTried = `) as e cross join webhook_attempts as a where a.organization = e.organization and a.endpoint = e.id and a.event_id = ? limit ?`

	findPending = `select e.id, e.name, e.principal, e.status, d.due_at from (select organization, id, name, principal, status from webhook_endpoints where organization = $1`
	andPending  = `) as e cross join webhook_deliveries as d where d.organization = e.organization and d.endpoint = e.id and d.event_id = ? limit ?`
)

// DeliveriesOf returns the deliveries of an event at the endpoints that the caller
// administers, the oldest endpoint first. Of an event that the caller may not see it
// says no more than that none of these endpoints got it.
var DeliveriesOf = op.New("events.deliveries", op.Read, deliveriesOf, op.By(op.Self|op.Operator))

func deliveriesOf(ctx context.Context, c *op.Call, in EventInput) (out EventDeliveries, err error) {
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return out, err
	}
	q := in.pending(c, o.Number)
	out.Data, err = db.List(ctx, c.Tx, func(row db.Row) (d EventDelivery, err error) {
		d.Attempts = []Attempt{}
		return d, row.Scan(&d.EndpointID, &d.Name, &d.PrincipalID, &d.Status, &d.DueAt)
	}, q.Query, q.Args...)
	if err != nil {
		return out, err
	}
	q = in.tried(c, o.Number)
	tried, err := db.List(ctx, c.Tx, func(row db.Row) (d EventDelivery, err error) {
		var a Attempt
		err = row.Scan(&d.EndpointID, &d.Name, &d.PrincipalID, &d.Status, &a.ID, &a.EventID, &a.EventType, &a.Attempt,
			&a.Status, &a.ResponseStatus, &a.ResponseTimeMs, &a.ErrorCode, &a.AttemptedAt, &a.NextAttemptAt)
		d.Attempts = []Attempt{a}
		return d, err
	}, q.Query, q.Args...)
	out.add(tried)
	return out, err
}

// tried returns the query for attempts.
func (in *EventInput) tried(c *op.Call, organization int64) db.Statement {
	q := db.Statement{Query: findTried, Args: []any{organization}}
	restrict(&q, c)
	q.Add(andTried, in.ID, maxAttempts)
	return q
}

// pending returns the query for deliveries that wait or run.
func (in *EventInput) pending(c *op.Call, organization int64) db.Statement {
	q := db.Statement{Query: findPending, Args: []any{organization}}
	restrict(&q, c)
	q.Add(andPending, in.ID, maxAttempts)
	return q
}

// add puts single attempts to their endpoints.
func (out *EventDeliveries) add(tried []EventDelivery) {
	at := map[string]int{}
	for i, d := range out.Data {
		at[d.EndpointID] = i
	}
	for _, d := range tried {
		i, known := at[d.EndpointID]
		if !known {
			at[d.EndpointID] = len(out.Data)
			out.Data = append(out.Data, d)
			continue
		}
		out.Data[i].Attempts = append(out.Data[i].Attempts, d.Attempts...)
	}
	for _, d := range out.Data {
		slices.SortFunc(d.Attempts, func(a, b Attempt) int { return cmp.Compare(b.ID, a.ID) })
	}
	slices.SortFunc(out.Data, func(a, b EventDelivery) int { return cmp.Compare(a.EndpointID, b.EndpointID) })
}
