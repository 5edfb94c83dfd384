package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"kartei/kit/clock"
)

// Event is an event of the feed.
type Event struct {
	ID        string       `json:"id"`
	Type      string       `json:"type"`
	CreatedAt clock.Micros `json:"createdAt"`
	RequestID *string      `json:"requestId"` // nil if a job made the change
	Data      struct {
		Object   string   `json:"object"`
		ID       string   `json:"id"`
		Revision *int64   `json:"revision"` // nil if the record was deleted or has no revisions
		Changed  []string `json:"changed"`
	} `json:"data"`
	// Body is the JSON of the event, as in GET /events/{id} and in a webhook.
	Body []byte `json:"-"`
}

// UnmarshalJSON decodes an event and keeps its JSON in Body.
func (e *Event) UnmarshalJSON(b []byte) error {
	type fields Event
	if err := json.Unmarshal(b, (*fields)(e)); err != nil {
		return err
	}
	for _, s := range []*string{&e.ID, &e.Type, e.RequestID, &e.Data.Object, &e.Data.ID} {
		if s != nil {
			*s = plain(*s)
		}
	}
	for i, name := range e.Data.Changed {
		e.Data.Changed[i] = plain(name)
	}
	var body bytes.Buffer
	if err := json.Compact(&body, b); err != nil {
		return err
	}
	e.Body = body.Bytes()
	return nil
}

// Place is a position in the feed.
type Place struct {
	// Since is the createdAt of the last handled event. It is valid for 30 days, the age of the
	// oldest event in the feed.
	Since clock.Micros `json:"since"`
	// Cursor is the cursor of the page with the next event. It is valid for 24 hours, and only
	// together with From, the createdSince of its request.
	Cursor string       `json:"cursor,omitempty"`
	From   clock.Micros `json:"from,omitempty"`
}

type feedPage struct {
	Data       []Event `json:"data"`
	HasMore    bool    `json:"hasMore"`
	NextCursor string  `json:"nextCursor"`
}

// Idle is the time between two reads of a feed without new events. These reads use 60 of the 300
// points that a key has in a minute.
const Idle = time.Second

// Newest returns the position after the newest event.
func (c *Client) Newest(ctx context.Context) (Place, error) {
	a, err := c.call(ctx, http.MethodGet, "/events?limit=1", nil)
	if err != nil {
		return Place{}, err
	}
	var page feedPage
	if err := a.into(&page); err != nil {
		return Place{}, err
	}
	switch {
	case len(page.Data) > 0:
		return Place{Since: page.Data[0].CreatedAt}, nil
	case !page.HasMore: // the feed is empty, so its beginning is its end
		return Place{}, nil
	}
	// The key cannot read the latest events. The time of the response is exact to a second, so some
	// events may be repeated, but none is missed.
	now, err := http.ParseTime(a.header.Get("Date"))
	if err != nil {
		return Place{}, errors.New("the answer has no valid header Date")
	}
	return Place{Since: clock.FromTime(now)}, nil
}

// Follow calls handle for each event after p, the oldest first, and waits for more until ctx ends.
// After handle returns nil, it calls save with the position after the event. If a program starts
// again at a saved position, at most one event is repeated.
//
// Follow returns the first error of handle or save, the error of ctx, or a permanent refusal.
func (c *Client) Follow(
	ctx context.Context, p Place, handle func(context.Context, Event) error, save func(Place) error,
) error {
	for {
		if p.Cursor == "" {
			p.From = p.Since
		}
		page, err := c.feedPage(ctx, p)
		if refused := new(Refusal); errors.As(err, &refused) && refused.Code == "CURSOR_MISMATCH" && p.Cursor != "" {
			p.Cursor = "" // expired, or of another version: continue by time
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range page.Data {
			if e.CreatedAt <= p.Since {
				continue
			}
			if err := handle(ctx, e); err != nil {
				return err
			}
			p.Since = e.CreatedAt
			if err := save(p); err != nil {
				return err
			}
		}
		if p.Cursor != page.NextCursor {
			p.Cursor = page.NextCursor
			if err := save(p); err != nil {
				return err
			}
		}
		if page.HasMore {
			continue
		}
		if err := c.rest(ctx, max(Idle, c.pace)); err != nil {
			return err
		}
	}
}

func (c *Client) feedPage(ctx context.Context, p Place) (*feedPage, error) {
	query := url.Values{"sort": {"createdAt"}, "limit": {"100"}}
	if p.Cursor != "" {
		query.Set("cursor", p.Cursor)
	}
	if p.From != 0 {
		query.Set("createdSince", p.From.String())
	}
	page := new(feedPage)
	return page, c.Call(ctx, http.MethodGet, "/events?"+query.Encode(), nil, page)
}
