// Package event owns the change log of an organization: Append inside a transaction, and the feed that clients read for 30 days.
package event

import (
	"context"

	"kartei/app"
	"kartei/clock"
)

// Event is one change, without any content: whoever wants to know what
// changed reads the record, and sees it only as far as its rights go.
type Event struct {
	Object    string       `json:"object" enum:"event" doc:"Immer event" example:"event"`
	ID        string       `json:"id" doc:"Kennung des Ereignisses" example:"evt_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Type      string       `json:"type" doc:"Ereignisart; neue kommen hinzu" example:"contact.created"`
	CreatedAt clock.Micros `json:"createdAt" doc:"Zeitpunkt der Änderung, ihr Tick" example:"2026-11-01T09:30:00.000000Z"`
	Data      Subject      `json:"data" doc:"Worum es geht"`
}

// Subject is what an event is about.
type Subject struct {
	Object string `json:"object" doc:"Art des Datensatzes" example:"contact"`
	ID     string `json:"id" doc:"Kennung des Datensatzes" example:"con_01jb2z5k3xf0q8r9s7t6v5w4y3"`
}

// ListInput holds the parameters of events.list.
type ListInput struct {
	Limit        int          `query:"limit" min:"1" max:"100" default:"25" doc:"Wie viele Ereignisse eine Seite höchstens hat" example:"25"`
	Cursor       string       `query:"cursor" min:"1" max:"4096" doc:"nextCursor der vorigen Seite; gilt 24 Stunden und nur für dieselbe Liste" example:"AX3k9bQ"`
	CreatedSince clock.Micros `query:"createdSince" doc:"Nur Ereignisse nach diesem Zeitpunkt" example:"2026-11-01T00:00:00Z"`
	Sort         string       `query:"sort" enum:"-createdAt,createdAt" default:"-createdAt" doc:"Reihenfolge: jüngstes oder ältestes Ereignis zuerst" example:"createdAt"`
}

// Page is one page of the feed.
type Page struct {
	Data       []Event `json:"data"`
	HasMore    bool    `json:"hasMore"`
	NextCursor *string `json:"nextCursor"`
}

// List returns a page of the feed.
func List(ctx context.Context, c *app.Call, in ListInput) (Page, error)

// Get returns one event, or NOT_FOUND where there is none that the caller may know of.
func Get(ctx context.Context, c *app.Call, in app.ByID) (Event, error)
