package dispatch

import (
	"context"

	"kartei/access"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/store/db"
)

// Figures describe the deliveries of the whole database.
type Figures struct {
	// Waiting is the number of deliveries pending or running. Oldest is when
	// the first of them was created, zero if there is none.
	Waiting int64
	Oldest  clock.Micros
	// Behind is the number of endpoints with events after their cursor.
	// Disabled endpoints and those behind a closed gate are not counted. First
	// is the tick of the first such event.
	Behind int64
	First  clock.Micros
	// Endpoints holds the number of endpoints by status.
	Endpoints map[webhook.Status]int64
}

// The queries of the operator, over all organizations.
const (
	countDeliveries = `select count(*), coalesce(min(created_at), 0) from webhook_deliveries`
	countByStatus   = `select status, count(*) from webhook_endpoints group by status`
	countBehind     = `select count(*), coalesce(min(first), 0) from (select (select v.tick from events as v
			where v.organization = e.organization and v.tick > e.cursor order by v.tick limit 1) as first
		from webhook_endpoints as e join clocks as c on c.organization = e.organization join organizations as o on o.number = e.organization
		where e.status <> 'disabled' and e.cursor < c.tick and ` + access.GateOpen + `) as b where first is not null`
)

// Measure reads the figures.
func Measure(ctx context.Context, d db.DB) (f Figures, err error) {
	err = d.Read(ctx, func(tx db.Tx) error {
		f = Figures{Endpoints: map[webhook.Status]int64{webhook.Active: 0, webhook.Failing: 0, webhook.Disabled: 0}}
		if err := tx.QueryRow(ctx, countDeliveries).Scan(&f.Waiting, &f.Oldest); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, countBehind).Scan(&f.Behind, &f.First); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, countByStatus)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var status webhook.Status
			var n int64
			if err := rows.Scan(&status, &n); err != nil {
				return err
			}
			f.Endpoints[status] = n
		}
		return rows.Err()
	})
	return f, err
}
