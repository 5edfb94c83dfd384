package webhook

import (
	"context"

	"kartei/api/op"
	"kartei/kit/clock"
)

// LogAge is the time for which attempts are kept (contract, 'Other constants').
const LogAge = 30 * clock.Day

// Result is the result of an attempt.
type Result string

// The results of attempts.
const (
	Succeeded Result = "succeeded"
	Failed    Result = "failed"
)

// Code says why an attempt failed.
type Code string

// The codes in the delivery log. NoError means success.
const (
	NoError        Code = ""
	Timeout        Code = "TIMEOUT"
	NameError      Code = "DNS"
	ConnectError   Code = "CONNECT"
	TLSError       Code = "TLS"
	BlockedAddress Code = "BLOCKED_ADDRESS"
	HTTPStatus     Code = "HTTP_STATUS"
	ProtocolError  Code = "PROTOCOL"
)

// Delivery is an attempt in the delivery log. The log keeps the status of the receiver's response,
// and nothing else of the response.
type Delivery struct {
	Object         string        `json:"object" enum:"webhook_delivery" example:"webhook_delivery"`
	ID             string        `json:"id" example:"dlv_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	EventID        string        `json:"eventId" example:"evt_01jb2z5k3xf0q8r9s7t6v5w4y3"`
	EventType      string        `json:"eventType" enum:"events" example:"contact.created"`
	Attempt        int64         `json:"attempt" min:"1" max:"10" example:"2"`
	Status         Result        `json:"status" enum:"succeeded,failed" example:"failed"`
	ResponseStatus *int64        `json:"responseStatus" min:"100" max:"999" example:"503"`
	ResponseTimeMs int64         `json:"responseTimeMs" min:"0" example:"148"`
	ErrorCode      *Code         `json:"errorCode" enum:"TIMEOUT,DNS,CONNECT,TLS,BLOCKED_ADDRESS,HTTP_STATUS,PROTOCOL" example:"HTTP_STATUS"`
	AttemptedAt    clock.Micros  `json:"attemptedAt" example:"2026-11-02T14:05:12.345678Z"`
	NextAttemptAt  *clock.Micros `json:"nextAttemptAt" example:"2026-11-02T14:07:12.345678Z"`
}

// DeliveryPage is a page of the log.
type DeliveryPage struct {
	Data       []Delivery `json:"data" maxItems:"100"`
	HasMore    bool       `json:"hasMore" example:"false"`
	NextCursor *string    `json:"nextCursor" max:"4096" example:"AX3k9bQ"`
}

// Records returns the number of attempts on the page.
func (p DeliveryPage) Records() int { return len(p.Data) }

// DeliveriesInput has the parameters of webhookEndpoints.deliveries.
type DeliveriesInput struct {
	ID     string `path:"id"`
	Limit  int    `query:"limit" min:"1" max:"100" default:"25" example:"25"`
	Cursor string `query:"cursor" min:"1" max:"4096" example:"AX3k9bQ"`
}

// deliveries returns a page of the attempts at an endpoint of the caller in the last 30 days, the
// newest first.
func deliveries(ctx context.Context, c *op.Call, in DeliveriesInput) (DeliveryPage, error) {
	r, err := own(ctx, c, in.ID)
	if err != nil {
		return DeliveryPage{}, err
	}
	data, next, err := list(ctx, c, r.ID+"/deliveries", ListInput{in.Limit, in.Cursor}, scanAttempt,
		func(d Delivery) string { return d.ID }, listAttempts, r.Organization, r.ID, c.Now-LogAge)
	if err != nil {
		return DeliveryPage{}, err
	}
	if data == nil {
		data = []Delivery{}
	}
	return DeliveryPage{data, next != nil, next}, nil
}
