package dispatch

import (
	"context"

	"kartei/access"
	"kartei/integration/webhook"
	"kartei/kit/clock"
	"kartei/store/db"
)

// Figures are the metrics of the deliveries in the whole database.
type Figures struct {
	// Waiting is the number of pending and running deliveries. Oldest is the creation time of the
	// oldest of them, and zero if there is none.
	Waiting int64
	Oldest  clock.Micros
	// Behind is the number of endpoints with events after their cursor. It does not count disabled
	// endpoints and endpoints of organizations whose API is off. First is the tick of the earliest
	// such event, and zero if there is none.
	Behind int64
	First  clock.Micros
	// Endpoints maps each status to the number of endpoints with it.
	Endpoints map[webhook.Status]int64
}

// These queries are for the operator's metrics and read all organizations.
const (
	countDeliveries = `select count(*), coalesce(min(created_at), 0) from webhook_deliveries`
	countByStatus   = `select status, count(*) from webhook_endpoints group by status`
	countBehind     = `select count(*), coalesce(min(first), 0) from (select (select v.tick from events as v
			where v.organization = e.organization and v.tick > e.cursor order by v.tick limit 1) as first
		from webhook_endpoints as e join clocks as c on c.organization = e.organization join organizations as o on o.number = e.organization
		where e.status <> 'disabled' and e.cursor < c.tick and ` + access.GateOpen + `) as b where first is not null`
)

// Measure returns the figures of the database.
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
