package webhook

import (
	"kartei/app"
	"kartei/clock"
)

// Status says whether an endpoint gets its events.
type Status string

// The statuses (contract, 'States and transitions').
const (
	Active   Status = "active"
	Failing  Status = "failing"
	Disabled Status = "disabled"
)

// Reason says why an endpoint is disabled.
type Reason string

// The reasons. An endpoint that is not disabled has none.
const (
	Gone      Reason = "gone"       // the receiver answered 410
	NoSuccess Reason = "no_success" // 72 hours of failed attempts
)

// Members are what the owner of an endpoint sets.
type Members struct {
	Name       string   `json:"name" required:"true" min:"1" max:"200" doc:"Name, unter dem Sie den Endpunkt wiederfinden" example:"CRM"`
	URL        string   `json:"url" required:"true" min:"1" max:"2048" doc:"Adresse des Empfängers: https, Port 443, ohne Zugangsdaten und Fragment; ein DNS-Name oder eine öffentliche IP-Adresse" example:"https://crm.example.com/hooks/kartei"`
	EventTypes []string `json:"eventTypes" required:"true" minItems:"1" maxItems:"50" enum:"events" doc:"Ereignisarten, die der Endpunkt bekommt; webhook.test kommt auf Abruf, ohne hier zu stehen" example:"[\"contact.created\",\"contact.updated\"]"`
}

// Endpoint is an endpoint as the API gives it. It belongs to the principal that
// made it: for all others, admins too, it does not exist.
type Endpoint struct {
	Object string `json:"object" enum:"webhook_endpoint" doc:"Immer webhook_endpoint" example:"webhook_endpoint"`
	ID     string `json:"id" doc:"Kennung des Endpunkts" example:"whe_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	Members
	Status         Status  `json:"status" enum:"active,failing,disabled" doc:"active: Ereignisse werden zugestellt; failing: seit 24 Stunden gelingt keine Zustellung; disabled: abgeschaltet, in der Weboberfläche wieder einzuschalten" example:"active"`
	DisabledReason *Reason `json:"disabledReason" enum:"gone,no_success" doc:"Warum der Endpunkt abgeschaltet ist: gone (der Empfänger antwortete 410) oder no_success (72 Stunden ohne Erfolg); null, solange er es nicht ist" example:"null"`
	// The times are nil where there was none.
	LastSuccessAt            *clock.Micros `json:"lastSuccessAt" doc:"Letzte gelungene Zustellung" example:"2026-11-02T14:05:12.345678Z"`
	LastFailureAt            *clock.Micros `json:"lastFailureAt" doc:"Letzter gescheiterter Versuch" example:"null"`
	PreviousSecretValidUntil *clock.Micros `json:"previousSecretValidUntil" doc:"Bis wann nach einem Wechsel auch das vorige Geheimnis unterschreibt; null, wenn nur das aktuelle gilt" example:"null"`
	Revision                 int64         `json:"revision" min:"1" doc:"Revision, ab 1; der ETag ist r und diese Zahl in Anführungszeichen. Die Zeiten der Zustellungen ändern sie nicht" example:"1"`
	CreatedAt                clock.Micros  `json:"createdAt" doc:"Zeitpunkt der Anlage" example:"2026-11-01T09:30:00.000000Z"`
	UpdatedAt                clock.Micros  `json:"updatedAt" doc:"Zeitpunkt der letzten neuen Revision" example:"2026-11-01T09:30:00.000000Z"`
}

// EntityTag returns that of the revision.
func (e Endpoint) EntityTag() string { return app.Tag(e.Revision) }

// Records returns 1.
func (Endpoint) Records() int { return 1 }

// row is an endpoint as the data base keeps it.
type row struct {
	Endpoint
	organization int64
	principal    string
	// secret and previous are sealed; previous is empty where there is none.
	secret, previous string
	// previousUntil is when previous ends; zero where there is none.
	previousUntil clock.Micros
	// cursor is the tick behind which events are yet to be made deliveries of.
	cursor clock.Micros
	// dueAt is when the first of its deliveries is due; zero where there is none.
	dueAt clock.Micros
	// failedSince is the first failed attempt since the last success, zero where
	// there was none; failures is how many there were.
	failedSince clock.Micros
	failures    int64
}
