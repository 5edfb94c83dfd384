package event

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/id"
	"kartei/store/db"
)

// CallEvent is an event that a call caused, with data from the history of its record.
type CallEvent struct {
	Event
	// Revision is the record's revision after the change. It is zero for an operation.
	Revision int64 `json:"revision"`
	// Members are the names of the changed members. The list is empty for a creation.
	Members []string `json:"members"`
}

// Call is a call whose events Cause returns.
type Call struct {
	RequestID string
	// At is the arrival time of the call, and Took is its duration.
	At   clock.Micros
	Took time.Duration
}

// The events of a call are found by the time of the call. There is no index by Request-Id, because
// each change would have to write it.
const (
	// early and late extend the time of the call, because the ticks of several replicas may be
	// ahead of the clock of one replica.
	early = 10 * time.Millisecond
	late  = time.Second
	// searched is the maximum number of events that are read. maxCaused is the maximum number of
	// events that are returned.
	searched  = 5000
	maxCaused = 100
)

// Cause returns the events that a call caused, the earliest first, at most 100. It returns only
// events that the caller may read. If the call began an operation, the events of the operation and
// its result are included.
func Cause(ctx context.Context, c *op.Call, of Call) ([]CallEvent, error) {
	caused, err := db.List(ctx, c.Tx, scanCaused, changedBy(c), c.Actor.Org(), c.Actor.PrincipalID(), of.RequestID,
		of.At.Add(-early), of.At.Add(of.Took+late))
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{operationsBy(c), madeBy(c)} {
		more, err := db.List(ctx, c.Tx, scanCaused, statement, c.Actor.Org(), c.Actor.PrincipalID(), of.RequestID,
			bound(of.At.Add(-early)), bound(of.At.Add(of.Took+late)))
		if err != nil {
			return nil, err
		}
		caused = append(caused, more...)
	}
	slices.SortFunc(caused, func(a, b CallEvent) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
	caused = slices.CompactFunc(caused, func(a, b CallEvent) bool { return a.ID == b.ID })
	return caused[:min(len(caused), maxCaused)], nil
}

// bound returns the smallest id of an operation that began at t.
func bound(t clock.Micros) string {
	first := id.At(id.Operation, t.Time())
	return first[:len(id.Operation)+timeLength]
}

// timeLength is the number of characters after the prefix of an id that encode the time.
const timeLength = 10

func scanCaused(row db.Row) (e CallEvent, err error) {
	var members string
	e.Event, err = Scan(row, &e.Revision, &members)
	e.Members = strings.Fields(members)
	return e, err
}

// changedBy returns the query for events by the history of their records. The row of a record
// itself has its creation.
func changedBy(c *op.Call) string {
	var created []string
	for _, f := range c.Services.Families {
		created = append(created, `when '`+f.Object+`' then exists (select 1 from `+f.Plural+` as n
			where n.organization = $1 and n.id = e.record_id and n.created_at = e.tick and n.created_request = $3)`)
	}
	return fmt.Sprintf(`select %s, coalesce(h.revision, 1), coalesce(h.members, '') from (
			select * from events where organization = $1 and tick >= $4 and tick <= $5 order by tick limit %d) as e
		left join record_changes as h on h.organization = $1 and h.record_id = e.record_id and h.changed_at = e.tick
		where (h.request_id = $3 or h.request_id is null and case e.object %s else false end) and %s
		order by e.tick limit %d`, Columns, searched, strings.Join(created, " "), Visible(c.Actor, c.Services.Families),
		maxCaused)
}

// operationsOf selects the operations that a call began. The id of an operation contains its time.
const operationsOf = `select * from operations where organization = $1 and id >= $4 and id < $5 and request = $3`

// operationsBy returns the query for events about the ends of operations.
func operationsBy(c *op.Call) string {
	return fmt.Sprintf(`select %s, 0, '' from (%s) as o
		join events as e on e.organization = $1 and e.tick >= o.finished_at and e.tick <= o.finished_at + %d and e.record_id = o.id
		where %s order by e.tick limit %d`, Columns, operationsOf, late.Microseconds(),
		Visible(c.Actor, c.Services.Families), maxCaused)
}

// madeBy returns the query for events about records that operations created.
func madeBy(c *op.Call) string {
	var made []string
	for _, f := range c.Services.Families {
		made = append(made, `select e.* from (`+operationsOf+`) as o
			join `+f.Plural+` as n on n.organization = $1 and n.id = o.result_id and o.result_object = '`+f.Object+`'
			join events as e on e.organization = $1 and e.tick = n.created_at and e.record_id = n.id`)
	}
	return fmt.Sprintf(`select %s, 1, '' from (%s) as e where %s order by e.tick limit %d`,
		Columns, strings.Join(made, " union all "), Visible(c.Actor, c.Services.Families), maxCaused)
}
