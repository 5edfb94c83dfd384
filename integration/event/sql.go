package event

import (
	"fmt"
	"strings"

	"kartei/access"
	"kartei/api/op"
)

// Columns are the columns of an event with the alias e, as Scan reads them.
const Columns = `e.tick, e.id, e.type, e.object, e.record_id, e.revision, e.changed, e.request_id, coalesce(e.trace, '')`

// DeliveryColumns are the same columns of a delivery, as Scan reads them.
const DeliveryColumns = `tick, event_id, type, object, record_id, revision, changed, request_id, coalesce(trace, '')`

// Scan reads Columns into an event, and the columns that follow into more.
func Scan(s interface{ Scan(...any) error }, more ...any) (Event, error) {
	e := Event{Object: "event"}
	var changed string
	err := s.Scan(append([]any{&e.CreatedAt, &e.ID, &e.Type, &e.Data.Object, &e.Data.ID, &e.Data.Revision, &changed,
		&e.RequestID, &e.Trace}, more...)...)
	e.Data.Changed = strings.Fields(changed)
	return e, err
}

// Visible returns an SQL condition for events with the alias e. $1 is the organization, and $2 is
// the principal id of the actor. The actor must have the right to read the family. It must see the
// record in its present state, or in its state before the deletion.
//
// An operation is visible to the principal that began it, and an endpoint to its owner. The
// condition uses the present rights, so a change of rights also applies to past events.
func Visible(a *access.Actor, kinds []op.Family) string {
	var families []string
	families = append(families, `when 'operation' then exists (select 1 from operations as o
		where o.organization = $1 and o.id = e.record_id and o.principal = $2)`,
		`when 'webhook_endpoint' then exists (select 1 from webhook_endpoints as w
		where w.organization = $1 and w.id = e.record_id and w.principal = $2)`)
	for _, f := range kinds {
		if !a.May(f.ReadScope()) {
			continue
		}
		families = append(families, `when '`+f.Object+`' then exists (select 1 from `+f.Plural+
			` as r where r.organization = $1 and r.id = e.record_id and `+op.Visible("r", a, "$2")+`)`)
	}
	return "case e.object " + strings.Join(families, " ") + " else false end"
}

// listQuery returns a query that scans the events between the ticks $3 and $4, and returns at most
// $5 visible ones.
func listQuery(c *op.Call, ascending bool) string {
	order := direction(ascending)
	return fmt.Sprintf(`select %s from (
		select * from events where organization = $1 and tick > $3 and tick < $4 order by tick %s limit %d) as e
		where %s order by e.tick %s limit $5`, Columns, order, scanned, Visible(c.Actor, c.Services.Families), order)
}

// boundQuery returns a query for the last tick that listQuery scans. The query returns no row if
// the scan does not stop at its bound.
func boundQuery(ascending bool) string {
	return fmt.Sprintf(`select tick from events where organization = $1 and tick > $2 and tick < $3
		order by tick %s limit 1 offset $4`, direction(ascending))
}

func direction(ascending bool) string {
	if ascending {
		return "asc"
	}
	return "desc"
}
