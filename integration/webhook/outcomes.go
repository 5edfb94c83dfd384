package webhook

import (
	"context"
	"fmt"
	"slices"

	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/store/db"
)

// MaxOutcomes is the maximum number of ids in OutcomesInput.
const MaxOutcomes = 100

// OutcomesInput selects events by their ids.
type OutcomesInput struct {
	Organization string   `json:"organizationId,omitempty"`
	IDs          []string `json:"ids"`
}

// Outcomes are the outcomes of several events.
type Outcomes struct {
	Data []Outcome `json:"data"`
}

// Outcome has the numbers of endpoints by the state of one event. Succeeded counts the endpoints at
// which the last attempt succeeded. Failed counts the endpoints at which the last attempt failed
// and no attempt follows. Due counts the endpoints at which another attempt follows.
type Outcome struct {
	EventID   string `json:"eventId"`
	Succeeded int    `json:"succeeded"`
	Failed    int    `json:"failed"`
	Due       int    `json:"due"`
}

const (
	// The query begins with at most 256 endpoints. It looks up each pair of endpoint and event in
	// an index, like findTried.
	outcomeEndpoints = `with e as (select organization, id from webhook_endpoints where organization = $1`
	countOutcomes    = ` order by id limit 256) select event, outcome, count(*) from (
		select d.event_id as event, 'due' as outcome
			from e cross join webhook_deliveries as d where d.organization = e.organization and d.endpoint = e.id and d.event_id %[1]s
		union all
		select a.event_id, a.status
			from e cross join webhook_attempts as a where a.organization = e.organization and a.endpoint = e.id and a.event_id %[1]s
			and a.id = (select max(id) from webhook_attempts where organization = a.organization and endpoint = a.endpoint and event_id = a.event_id)
			and not exists (select 1 from webhook_deliveries where organization = a.organization and endpoint = a.endpoint and event_id = a.event_id)
		) as o group by event, outcome`
)

// OutcomesOf is the operation that returns the outcomes of events at the endpoints that the caller
// administers. It leaves out events that none of these endpoints received.
var OutcomesOf = op.New("events.outcomes", op.Read, outcomesOf, op.By(op.Self))

func outcomesOf(ctx context.Context, c *op.Call, in OutcomesInput) (Outcomes, error) {
	out := Outcomes{Data: []Outcome{}}
	if len(in.IDs) == 0 || len(in.IDs) > MaxOutcomes {
		return out, fault.BadRequest(fault.Field{
			Name:  "ids",
			Code:  fault.InvalidFormat,
			Limit: i18n.Format("1 to %d ids", MaxOutcomes),
		})
	}
	o, err := c.FindOrganization(ctx, in.Organization)
	if err != nil {
		return out, err
	}
	q := in.counts(c, o.Number)
	rows, err := c.Tx.Query(ctx, q.Query, q.Args...)
	if err != nil {
		return out, err
	}
	defer rows.Close()
	for rows.Next() {
		var event, outcome string
		var n int
		if err := rows.Scan(&event, &outcome, &n); err != nil {
			return out, err
		}
		out.count(event, outcome, n)
	}
	return out, rows.Err()
}

// counts returns the query for the numbers of endpoints by event and outcome.
func (in *OutcomesInput) counts(c *op.Call, organization int64) db.Statement {
	q := db.Statement{Query: outcomeEndpoints, Args: []any{organization, db.Texts(in.IDs)}}
	restrict(&q, c)
	q.Add(fmt.Sprintf(countOutcomes, c.Tx.Dialect().In("$2")))
	return q
}

// count adds n endpoints with the same outcome to the counts of an event.
func (out *Outcomes) count(event, outcome string, n int) {
	i := slices.IndexFunc(out.Data, func(o Outcome) bool { return o.EventID == event })
	if i < 0 {
		i = len(out.Data)
		out.Data = append(out.Data, Outcome{EventID: event})
	}
	switch o := &out.Data[i]; outcome {
	case string(Succeeded):
		o.Succeeded += n
	case string(Failed):
		o.Failed += n
	default:
		o.Due += n
	}
}
