// Package event owns the change log of an organization, and the feed that clients read for 30 days.
package event

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"kartei/api/op"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/store/db"
)

// Event is a change without its content. A client reads the record with its own rights to get the
// content.
type Event struct {
	Object    string       `json:"object" enum:"event" example:"event"`
	ID        string       `json:"id" example:"evt_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Type      string       `json:"type" example:"contact.updated"`
	CreatedAt clock.Micros `json:"createdAt" example:"2026-11-01T09:30:00.000000Z"`
	// RequestID is the Request-Id of the call that made the change. It is null if a job made it.
	RequestID *string `json:"requestId" example:"req_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Data      Subject `json:"data"`
	// Trace is the trace of the change, which deliveries continue. Responses never contain it.
	Trace string `json:"-"`
}

// Subject identifies the record of an event.
type Subject struct {
	Object string `json:"object" example:"contact"`
	ID     string `json:"id" example:"con_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	// Revision is the revision of the record after the change. It is null if the record was
	// deleted, and if it has no revisions.
	Revision *int64 `json:"revision" min:"1" example:"3"`
	// Changed has the names of the members that the change of a record changed, in the order of
	// the record. It is empty if the record was created or deleted.
	Changed []string `json:"changed" min:"1" max:"64" example:"[\"email\",\"address\"]"`
}

// ListInput has the parameters of events.list.
type ListInput struct {
	Limit        int          `query:"limit" min:"1" max:"100" default:"25" example:"25"`
	Cursor       string       `query:"cursor" min:"1" max:"4096" example:"AX3k9bQ"`
	CreatedSince clock.Micros `query:"createdSince" example:"2026-11-01T00:00:00Z"`
	Sort         string       `query:"sort" enum:"-createdAt,createdAt" default:"-createdAt" example:"createdAt"`
}

// Page is a page of the feed.
type Page struct {
	Data       []Event `json:"data"`
	HasMore    bool    `json:"hasMore" example:"false"`
	NextCursor *string `json:"nextCursor" example:"AX3k9bQ"`
}

// Topic is the topic of notifications to subscribers after the commit of a change
// (db.Tx.NotifyLocal). The message is the number of the organization.
const Topic = "events"

// Retention is the time for which clients can read an event.
const Retention = 30 * clock.Day

// scanned is the maximum number of events that one call scans. Without this bound, a page could
// cost as much as the whole feed, because events of invisible records are skipped.
const scanned = 1000

// Append writes an event to the change log at the commit, and returns the event with its new ID
// and its RequestID. CreatedAt must be the tick of the change (db.Tx.Tick). The log is also the
// outbox for deliveries and other reactions to a change.
//
// While the organization's module is off, Append writes nothing and the ID is empty (contract,
// 'Authentication', point 6).
func Append(c *op.Call, e Event) Event {
	if !c.Actor.Emits() {
		return e
	}
	e.ID = id.Exact(id.Event, e.CreatedAt.Time())
	if !c.Background && c.RequestID != "" {
		e.RequestID = &c.RequestID
	}
	c.Tx.Queue(`insert into events (organization, tick, id, type, object, record_id, revision, changed, request_id, trace)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		c.Actor.Org(), e.CreatedAt, e.ID, e.Type, e.Data.Object, e.Data.ID, e.Data.Revision, strings.Join(e.Data.Changed, " "), e.RequestID,
		c.Span.Stored())
	c.Tx.NotifyLocal(Topic, strconv.FormatInt(c.Actor.Org(), 10))
	return e
}

// List is the operation that returns a page of the feed. A page may have fewer events than its
// limit, or none, even if hasMore is true. The next page then continues after the scanned events.
var List = op.New("events.list", op.Read, list, op.Costs(1), op.InBatch)

func list(ctx context.Context, c *op.Call, in ListInput) (Page, error) {
	scope := fmt.Sprintf("%d|%s|events|%s|%d|%s", c.Actor.Org(), c.Actor.PrincipalID(), in.Sort, in.CreatedSince,
		c.Version)
	var from clock.Micros
	if in.Cursor != "" {
		if err := c.Services.Cursors.Open(scope, in.Cursor, c.Now, &from); err != nil {
			return Page{}, fault.New(fault.CursorMismatch)
		}
	}
	ascending := in.Sort == "createdAt"
	events, last, more, err := read(ctx, c, in, from, ascending)
	if err != nil {
		return Page{}, err
	}
	page := Page{Data: events, HasMore: more}
	if more || ascending {
		cursor, err := c.Services.Cursors.Seal(scope, c.Now, last)
		if err != nil {
			return Page{}, err
		}
		page.NextCursor = &cursor
	}
	return page, nil
}

// read returns up to in.Limit events after the tick from. last is the tick at which the next page
// continues. more says that there may be a next page.
func read(
	ctx context.Context, c *op.Call, in ListInput, from clock.Micros, ascending bool,
) (events []Event, last clock.Micros, more bool, err error) {
	after, before := max(in.CreatedSince, c.Now-Retention), clock.Micros(math.MaxInt64)
	switch {
	case ascending:
		after = max(after, from)
		last = after
	case from != 0:
		before = from
	}
	rows, err := c.Tx.Query(ctx, listQuery(c, ascending), c.Actor.Org(), c.Actor.PrincipalID(), after, before, in.Limit+1)
	if err != nil {
		return nil, 0, false, err
	}
	defer rows.Close()
	for rows.Next() {
		e, err := Scan(rows)
		if err != nil {
			return nil, 0, false, err
		}
		if len(events) == in.Limit {
			return events, last, true, nil
		}
		events, last = append(events, e), e.CreatedAt
	}
	if err := rows.Err(); err != nil {
		return nil, 0, false, err
	}
	rows.Close()
	// There are fewer events than the limit. Either the feed ends here, or the scan has stopped at
	// its bound.
	end := clock.Micros(0)
	err = c.Tx.QueryRow(ctx, boundQuery(ascending), c.Actor.Org(), after, before, scanned-1).Scan(&end)
	if errors.Is(err, db.ErrNoRows) {
		return events, last, false, nil
	}
	return events, end, true, err
}

// TickOf returns the tick of the event with a valid ID, which encodes the tick. So the change log
// needs no index of IDs.
func TickOf(name string) clock.Micros { return clock.FromTime(id.ExactTime(name)) }

// Get is the operation that runs Find.
var Get = op.New("events.get", op.Get, Find, op.Costs(1), op.InBatch)

// Find returns one event. It fails with NOT_FOUND if the caller may not read the event. For an
// unknown event, the query checks a contact that does not exist. So the response takes as long as
// for a hidden event.
func Find(ctx context.Context, c *op.Call, in op.ByID) (Event, error) {
	if !id.Valid(id.Event, in.ID) {
		return Event{}, fault.New(fault.NotFound)
	}
	e, err := Scan(c.Tx.QueryRow(ctx, `select `+Columns+` from (
		select tick, id, type, object, record_id, revision, changed, request_id, trace from events
		where organization = $1 and tick = $5 and id = $3 and tick > $4
		union all select 0, '', '', 'contact', $3, null, '', null, null limit 1) as e where `+Visible(c.Actor, c.Services.Families),
		c.Actor.Org(), c.Actor.PrincipalID(), in.ID, c.Now-Retention, TickOf(in.ID)))
	if errors.Is(err, db.ErrNoRows) {
		return Event{}, fault.New(fault.NotFound)
	}
	return e, err
}
