package record

import (
	"reflect"

	"kartei/app"
	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/search"
)

// Envelope is what every record carries besides its own fields.
type Envelope struct {
	Object    string       `json:"object" doc:"Art des Datensatzes"`
	ID        string       `json:"id" doc:"Kennung, undurchsichtig, mit Präfix der Art"`
	Revision  int64        `json:"revision" min:"1" doc:"Revision, ab 1; der ETag ist r und diese Zahl in Anführungszeichen" example:"3"`
	CreatedAt clock.Micros `json:"createdAt" doc:"Zeitpunkt der Anlage" example:"2026-11-01T09:30:00.000000Z"`
	UpdatedAt clock.Micros `json:"updatedAt" doc:"Zeitpunkt der letzten Änderung; je Organisation streng steigend" example:"2026-11-02T14:05:12.345678Z"`
}

// Visibility says who may see a record.
type Visibility string

// The visibilities. A private record is seen by its owner and by the
// organization's admins.
const (
	Organization Visibility = "organization"
	Private      Visibility = "private"
)

// Sharing holds the writable members that all families have in common.
type Sharing struct {
	Tags       []string   `json:"tags" maxItems:"20" min:"1" max:"50" doc:"Schlagwörter, höchstens 20" example:"[\"Mandant\",\"Erbrecht\"]"`
	ExternalID *string    `json:"externalId" max:"200" doc:"Kennung im eigenen System, je Organisation und Art eindeutig" example:"crm-4711"`
	OwnerID    string     `json:"ownerId" prefix:"usr_,svc_" doc:"Wem der Datensatz gehört; ohne Angabe dem, der ihn anlegt; ändern dürfen es der Eigentümer und Administratoren. Kennungen von Personen und Dienstkonten nennt der Betreiber, die eigene GET /me" example:"usr_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Visibility Visibility `json:"visibility" enum:"organization,private" named:"Visibility" default:"organization" doc:"organization: alle der Organisation; private: nur der Eigentümer und Administratoren, die es auch ändern dürfen; wer sonst genannt ist, sieht den Datensatz nicht" example:"organization"`
}

// Address is a postal address.
type Address struct {
	Street     *string `json:"street" max:"200" doc:"Straße und Hausnummer" example:"Lindenstraße 7"`
	PostalCode *string `json:"postalCode" max:"20" doc:"Postleitzahl" example:"50667"`
	City       *string `json:"city" max:"200" doc:"Ort" example:"Köln"`
	Region     *string `json:"region" max:"200" doc:"Land, Kanton oder Region" example:"Nordrhein-Westfalen"`
	Country    *string `json:"country" enum:"iso3166" doc:"Staat, ISO 3166-1 alpha-2" example:"DE"`
}

// OrNil returns nil for an address in which nothing is set.
func (a *Address) OrNil() *Address {
	if a == nil || *a == (Address{}) {
		return nil
	}
	return a
}

// Fields is what a family's struct of writable members can do.
type Fields interface {
	app.Ruled
	// Normalize completes the fields, whose texts are trimmed already.
	Normalize()
	// Shared returns the members that all families have in common.
	Shared() *Sharing
	// Words returns what the record is found by.
	Words() *search.Document
}

// Marker stands in sync for a record that was deleted, or that the actor sees
// no more.
type Marker struct {
	Object    string       `json:"object" doc:"Art des gelöschten Datensatzes"`
	ID        string       `json:"id" doc:"Kennung des Datensatzes, der gelöscht wurde oder nicht mehr sichtbar ist"`
	Deleted   bool         `json:"deleted" doc:"Immer true" example:"true"`
	DeletedAt clock.Micros `json:"deletedAt" doc:"Zeitpunkt, seit dem er fehlt; zählt beim Abgleich wie updatedAt" example:"2026-11-03T08:00:00.000000Z"`
}

// ListInput holds the parameters of every record list.
type ListInput struct {
	Limit          int          `query:"limit" min:"1" max:"100" default:"25" doc:"Wie viele Datensätze eine Seite höchstens hat" example:"25"`
	Cursor         string       `query:"cursor" min:"1" max:"4096" doc:"nextCursor der vorigen Seite; gilt 24 Stunden und nur für dieselbe Liste" example:"AX3k9bQ"`
	UpdatedSince   clock.Micros `query:"updatedSince" doc:"Nur Datensätze, die sich nach diesem Zeitpunkt geändert haben; auch eine Löschung ist eine Änderung" example:"2026-11-01T00:00:00Z"`
	IncludeDeleted bool         `query:"includeDeleted" doc:"true liefert auch Löschmarken, für gelöschte Datensätze und für solche, die Sie nicht mehr sehen; nur zusammen mit updatedSince" example:"true"`
	Q              string       `query:"q" min:"1" max:"200" doc:"Volltextsuche, nach Relevanz geordnet; nicht zusammen mit updatedSince, sort oder includeDeleted; kostet 5 Punkte mehr" example:"Müller"`
	Sort           string       `query:"sort" enum:"-updatedAt,updatedAt" default:"-updatedAt" doc:"Reihenfolge: jüngste oder älteste Änderung zuerst" example:"-updatedAt"`
}

// CountInput holds the parameters of every record count.
type CountInput struct {
	UpdatedSince clock.Micros `query:"updatedSince" doc:"Nur Datensätze, die sich nach diesem Zeitpunkt geändert haben" example:"2026-11-01T00:00:00Z"`
	Q            string       `query:"q" min:"1" max:"200" doc:"Volltextsuche; nicht zusammen mit updatedSince; kostet 5 Punkte mehr" example:"Müller"`
}

// Check refuses parameters that do not go together.
func (in *ListInput) Check(given func(parameter string) bool) []fault.Field {
	var wrong []fault.Field
	if given("q") {
		for _, name := range []string{"updatedSince", "sort", "includeDeleted"} {
			if given(name) {
				wrong = append(wrong, fault.Field{Name: name, Code: fault.ForbiddenCombination, Text: &notWithQ})
			}
		}
	}
	if in.IncludeDeleted && !given("updatedSince") {
		wrong = append(wrong, fault.Field{Name: "includeDeleted", Code: fault.ForbiddenCombination, Text: &onlyWithSince})
	}
	return wrong
}

// Check refuses parameters that do not go together.
func (in *CountInput) Check(given func(parameter string) bool) []fault.Field {
	if given("q") && given("updatedSince") {
		return []fault.Field{{Name: "updatedSince", Code: fault.ForbiddenCombination, Text: &notWithQ}}
	}
	return nil
}

var (
	notWithQ = fault.Text{
		DE: "Nicht zusammen mit q erlaubt.",
		EN: "Not allowed together with q.",
	}
	onlyWithSince = fault.Text{
		DE: "Nur zusammen mit updatedSince erlaubt.",
		EN: "Only allowed together with updatedSince.",
	}
)

// Count is the answer of every record count.
type Count struct {
	Count  int64 `json:"count" min:"0" max:"10000" doc:"Anzahl der sichtbaren Datensätze, höchstens 10 000" example:"128"`
	Capped bool  `json:"capped" doc:"true: es sind mindestens so viele" example:"false"`
}

// Answer is one record as the client gets it. T is its type for the reader of
// the API; the bytes come from the data base as they are.
type Answer[T any] struct {
	json     []byte
	revision int64
}

// Created is the answer to a call that made a record.
type Created[T any] struct {
	Answer[T]
	location string
}

// Page is one page of a list of T and, in sync, of deletion markers.
type Page[T any] struct {
	json    []byte
	records int
}

// The methods by which the OpenAPI draft learns what an answer holds.

// Type returns T.
func (Answer[T]) Type() reflect.Type { return reflect.TypeFor[T]() }

// ItemType returns T.
func (Page[T]) ItemType() reflect.Type { return reflect.TypeFor[T]() }
