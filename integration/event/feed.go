package event

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/store/db"
)

// FeedInput selects events of the feed for people, the newest first.
type FeedInput struct {
	// ID selects one event. Empty means all events.
	ID string `json:"id,omitempty"`
	// Object is the kind of record, for example contact. Empty means all kinds.
	Object string `json:"object,omitempty"`
	// Since and Until are the bounds of the events' times. Both are exclusive, and zero means no
	// bound.
	Since clock.Micros `json:"since,omitempty"`
	Until clock.Micros `json:"until,omitempty"`
	// Limit is the maximum number of events, from 1 to 100. Zero means 50.
	Limit int `json:"limit,omitempty"`
}

// Feed is a page of the feed.
type Feed struct {
	Data []FeedEvent `json:"data"`
	// Next is the value of Until for the next page, and null after the last page. A page may have
	// fewer events than the limit, or none.
	Next clock.Micros `json:"next"`
}

// FeedEvent is an event with data from the history of its record.
type FeedEvent struct {
	Event
	// Principal is the id of the principal that made the change. It is empty if the principal is
	// not known any more.
	Principal string `json:"principalId"`
	// Call is the id of the call that made the change, or that began the job which made it. It is
	// empty if that is not known any more.
	Call string `json:"call"`
	// Members are the names of the changed members. The list is empty for a creation.
	Members []string `json:"members"`
}

// maxScans is the maximum number of queries for one page. Each query scans 1,000 events, and a
// filter may match only a few of them.
const maxScans = 10

// Read is the operation that returns a page of the feed for people. The events are those that List
// would return.
var Read = op.New("events.feed", op.Read, readFeed, op.By(op.Member))

func readFeed(ctx context.Context, c *op.Call, in FeedInput) (Feed, error) {
	limit := cmp.Or(in.Limit, 50)
	if limit < 1 || limit > 100 {
		return Feed{}, fault.Invalid(fault.Field{Name: "limit", Code: fault.OutOfRange, Limit: fault.Range{Min: 1, Max: 100}})
	}
	out := Feed{Data: []FeedEvent{}}
	after, before := max(in.Since, c.Now-Retention), in.Until
	if before == 0 {
		before = clock.Micros(math.MaxInt64)
	}
	if in.ID != "" {
		if !id.Valid(id.Event, in.ID) {
			return out, nil
		}
		after, before = max(after, TickOf(in.ID)-1), min(before, TickOf(in.ID)+1)
		found, err := db.List(ctx, c.Tx, scanTold,
			toldQuery(c, `select * from events where organization = $1 and tick > $3 and tick < $4 and id = $6`),
			c.Actor.Org(), c.Actor.PrincipalID(), after, before, 1, in.ID)
		out.Data = append(out.Data, found...)
		return out, err
	}
	query := toldQuery(c, fmt.Sprintf(`select * from events where organization = $1 and tick > $3 and tick < $4 order by tick desc limit %d`, scanned))
	for range maxScans {
		wanted := limit - len(out.Data)
		found, err := db.List(ctx, c.Tx, scanTold, query, c.Actor.Org(), c.Actor.PrincipalID(), after, before, wanted+1,
			in.Object)
		if err != nil {
			return out, err
		}
		if len(found) > wanted {
			out.Data = append(out.Data, found[:wanted]...)
			out.Next = out.Data[len(out.Data)-1].CreatedAt
			return out, nil
		}
		out.Data = append(out.Data, found...)
		bounds, err := db.List(ctx, c.Tx, func(row db.Row) (t clock.Micros, err error) { return t, row.Scan(&t) },
			boundQuery(false), c.Actor.Org(), after, before, scanned-1)
		if err != nil || len(bounds) == 0 {
			return out, err
		}
		before, out.Next = bounds[0], bounds[0]
	}
	return out, nil
}

// toldQuery returns a query for the visible events among the events that the query some selects. $6
// is a kind of record or the id of an event, and selects these events.
func toldQuery(c *op.Call, some string) string {
	by, request := []string{
		`when 'operation' then (select o.principal from operations as o where o.organization = $1 and o.id = e.record_id)`,
	},
		[]string{
			`when 'operation' then (select o.request from operations as o where o.organization = $1 and o.id = e.record_id)`,
		}
	for _, f := range c.Services.Families {
		created := `when '` + f.Object + `' then (select n.%s from ` + f.Plural +
			` as n where n.organization = $1 and n.id = e.record_id and n.created_at = e.tick)`
		by, request = append(by, fmt.Sprintf(created, "created_by")), append(request, fmt.Sprintf(created, "created_request"))
	}
	return fmt.Sprintf(`select %s, coalesce(h.principal, case e.object %s end, ''), coalesce(h.request_id, case e.object %s end, ''), coalesce(h.members, '')
		from (%s) as e left join record_changes as h on h.organization = $1 and h.record_id = e.record_id and h.changed_at = e.tick
		where ($6 in ('', e.object, e.id)) and %s order by e.tick desc limit $5`,
		Columns, strings.Join(by, " "), strings.Join(request, " "), some, Visible(c.Actor, c.Services.Families))
}

func scanTold(row db.Row) (e FeedEvent, err error) {
	var members string
	e.Event, err = Scan(row, &e.Principal, &e.Call, &members)
	e.Members = strings.Fields(members)
	return e, err
}
