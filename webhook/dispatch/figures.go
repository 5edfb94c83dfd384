package dispatch

import (
	"context"

	"kartei/access"
	"kartei/kit/clock"
	"kartei/store/db"
	"kartei/webhook"
)

// Figures are how deliveries stand in the whole data base.
type Figures struct {
	// Waiting is how many deliveries wait or are under way, Oldest when the first
	// of them was made; zero where there is none.
	Waiting int64
	Oldest  clock.Micros
	// Behind is how many endpoints that are not disabled, and do not rest, have changes
	// in the log that they have not come to, First the tick of the first of these.
	Behind int64
	First  clock.Micros
	// Endpoints are how many there are, by status.
	Endpoints map[webhook.Status]int64
}

// The operator's questions, over all organizations.
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
