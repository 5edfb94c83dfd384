package webhook

import (
	"cmp"
	"context"
	"slices"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/store/db"
)

// EventInput identifies an event.
type EventInput struct {
	Organization string `json:"organizationId,omitempty"`
	ID           string `json:"id"`
}

// EventDeliveries are the deliveries of one event.
type EventDeliveries struct {
	Data []EventDelivery `json:"data"`
}

// EventDelivery is the delivery of an event to one endpoint.
type EventDelivery struct {
	EndpointID  string `json:"endpointId"`
	Name        string `json:"name"`
	PrincipalID string `json:"principalId"`
	// Status is the present status of the endpoint. A disabled endpoint receives no events.
	Status Status `json:"status"`
	// DueAt is the time of the next attempt. It is null if no attempt follows.
	DueAt clock.Micros `json:"dueAt"`
	// Attempts are the attempts of the last 30 days, the newest first.
	Attempts []Attempt `json:"attempts"`
}

// maxAttempts is the maximum number of attempts that are read for an event. A series has ten
// attempts, and each resend begins another series.
const maxAttempts = 1000

const (
	// Both queries begin with the endpoints of the organization. They look up each pair of endpoint
	// and event in an index. SQLite does not reorder a cross join.
	findTried = `select e.id, e.name, e.principal, e.status, a.id, a.event_id, a.event_type, a.attempt, a.status, a.response_status, a.response_ms,
			a.error_code, a.attempted_at, a.next_attempt_at
		from (select organization, id, name, principal, status from webhook_endpoints where organization = $1`
	andTried = `) as e cross join webhook_attempts as a where a.organization = e.organization and a.endpoint = e.id and a.event_id = ? limit ?`

	findPending = `select e.id, e.name, e.principal, e.status, d.due_at from (select organization, id, name, principal, status from webhook_endpoints where organization = $1`
	andPending  = `) as e cross join webhook_deliveries as d where d.organization = e.organization and d.endpoint = e.id and d.event_id = ? limit ?`
)

// DeliveriesOf is the operation that returns the deliveries of an event. It covers the endpoints
// that the caller administers, the oldest endpoint first. For an event that the caller may not see,
// it returns an empty list, as for an event that no endpoint received.
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

// tried returns the query for attempts at the event.
func (in *EventInput) tried(c *op.Call, organization int64) db.Statement {
	q := db.Statement{Query: findTried, Args: []any{organization}}
	restrict(&q, c)
	q.Add(andTried, in.ID, maxAttempts)
	return q
}

// pending returns the query for pending and running deliveries of the event.
func (in *EventInput) pending(c *op.Call, organization int64) db.Statement {
	q := db.Statement{Query: findPending, Args: []any{organization}}
	restrict(&q, c)
	q.Add(andPending, in.ID, maxAttempts)
	return q
}

// add adds single attempts to the deliveries of their endpoints.
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
