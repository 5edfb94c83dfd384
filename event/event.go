// Package event owns the change log of an organization, and the feed that clients read for 30 days.
package event

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"kartei/app"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/id"
	"kartei/store/db"
)

// Event is one change, without any content: whoever wants to know what
// changed reads the record, and sees it only as far as its rights go.
type Event struct {
	Object    string       `json:"object" enum:"event" example:"event"`
	ID        string       `json:"id" example:"evt_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Type      string       `json:"type" example:"contact.created"`
	CreatedAt clock.Micros `json:"createdAt" example:"2026-11-01T09:30:00.000000Z"`
	Data      Subject      `json:"data"`
	// Trace is that of the change, for its deliveries; it is sent to nobody.
	Trace string `json:"-"`
}

// Subject is what an event is about.
type Subject struct {
	Object string `json:"object" example:"contact"`
	ID     string `json:"id" example:"con_01jb2z5k3xf0q8r9s7t6v5w4y3"`
}

// ListInput holds the parameters of events.list.
type ListInput struct {
	Limit        int          `query:"limit" min:"1" max:"100" default:"25" example:"25"`
	Cursor       string       `query:"cursor" min:"1" max:"4096" example:"AX3k9bQ"`
	CreatedSince clock.Micros `query:"createdSince" example:"2026-11-01T00:00:00Z"`
	Sort         string       `query:"sort" enum:"-createdAt,createdAt" default:"-createdAt" example:"createdAt"`
}

// Page is one page of the feed.
type Page struct {
	Data       []Event `json:"data"`
	HasMore    bool    `json:"hasMore" example:"false"`
	NextCursor *string `json:"nextCursor" example:"AX3k9bQ"`
}

// Topic is what is told after a change was committed (see db.Tx.NotifyLocal), with the
// number of its organization as word.
const Topic = "events"

// Retention is how long an event is served.
const Retention = 30 * clock.Day

// scanned is how many events one call looks at. Events of records that the
// caller does not see are passed over, so without a bound a page could cost
// as much as the whole feed.
const scanned = 1000

// Append writes an event into the change log at commit, and returns its ID,
// which is given here. Its CreatedAt must be the tick of the change (db.Tick). The log is also the
// outbox: whatever follows from a change is made from it later. While the
// organization's module is off, nothing is written (contract,
// 'Authentication', point 6), and the ID is empty.
func Append(c *app.Call, e Event) string {
	if !c.Actor.Emits() {
		return ""
	}
	name := id.New(id.Event)
	c.Tx.Queue(`insert into events (organization, tick, id, type, object, record_id, trace) values ($1, $2, $3, $4, $5, $6, $7)`,
		c.Actor.Org(), e.CreatedAt, name, e.Type, e.Data.Object, e.Data.ID, c.Span.Stored())
	c.Tx.NotifyLocal(Topic, strconv.FormatInt(c.Actor.Org(), 10))
	return name
}

// List returns a page of the feed. It may hold fewer events than its limit,
// even none, although hasMore is true: the next page goes on behind the
// events that were looked at.
func List(ctx context.Context, c *app.Call, in ListInput) (Page, error) {
	scope := fmt.Sprintf("%d|%s|events|%s|%d|%s", c.Actor.Org(), c.Actor.PrincipalID(), in.Sort, in.CreatedSince, c.Version)
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

// read returns up to in.Limit events behind from, the tick behind which the
// next page goes on, and whether there is one.
func read(ctx context.Context, c *app.Call, in ListInput, from clock.Micros, ascending bool) (events []Event, last clock.Micros, more bool, err error) {
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
		e, err := scan(rows)
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
	// Fewer than asked for: either the feed ends here, or the bound was met.
	end := clock.Micros(0)
	err = c.Tx.QueryRow(ctx, boundQuery(ascending), c.Actor.Org(), after, before, scanned-1).Scan(&end)
	if errors.Is(err, db.ErrNoRows) {
		return events, last, false, nil
	}
	return events, end, true, err
}

// Get returns one event, or NOT_FOUND where there is none that the caller may
// know of. Where there is no event at all, the record of one that never was is
// looked for: an event that is hidden takes as long.
func Get(ctx context.Context, c *app.Call, in app.ByID) (Event, error) {
	if !id.Valid(id.Event, in.ID) {
		return Event{}, fault.New(fault.NotFound)
	}
	e, err := scan(c.Tx.QueryRow(ctx, `select `+columns+` from (
		select tick, id, type, object, record_id from events where organization = $1 and id = $3 and tick > $4
		union all select 0, '', '', 'contact', $3 limit 1) as e where `+Visible(c.Actor, c.Services.Families), c.Actor.Org(), c.Actor.PrincipalID(), in.ID, c.Now-Retention))
	if errors.Is(err, db.ErrNoRows) {
		return Event{}, fault.New(fault.NotFound)
	}
	return e, err
}
