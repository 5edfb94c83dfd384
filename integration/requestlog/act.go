package requestlog

import (
	"context"
	"maps"
	"slices"
	"time"

	"kartei/kit/clock"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/store/db"
)

// QueryInput is the input of a query for calls. Empty members do not restrict.
type QueryInput struct {
	// Request is the Request-Id of one call, or of a batch and its parts.
	Request string `json:"requestId,omitempty"`
	// Organization is an org_... id.
	Organization string `json:"organizationId,omitempty"`
	// Key is a key's id or the first 8 characters of its kid, or the id of a
	// session, or of a person for all of them.
	Key string `json:"key,omitempty"`
	// Status is one status (401) or a class (4xx).
	Status string `json:"status,omitempty"`
	// Door is a way in, for example rest, or programs for rest and mcp.
	Door string `json:"door,omitempty"`
	// Operation is the operationId of a row, and Reason why calls were refused. With one
	// of them, the newest 20,000 calls that the other members select are looked at.
	Operation string       `json:"operation,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	Since     clock.Micros `json:"since"`
	Until     clock.Micros `json:"until"`
	// Limit is 1 to MaxLimit; 0 is DefaultLimit.
	Limit int `json:"limit,omitempty"`
	// Before is the last entry of the previous page, for callers in the process.
	Before *Entry `json:"-"`
}

// QueryOutput holds calls, the newest first.
type QueryOutput struct {
	Data []Line `json:"data"`
	// HasMore says that older calls match too. Until with the time of the last
	// line continues there.
	HasMore bool `json:"hasMore"`
	// Through is set if the bound of the search was met: Until with it continues.
	Through clock.Micros `json:"through,omitzero"`
}

// Line is an entry in the form for scripts. An unknown value is the empty text.
type Line struct {
	Time           clock.Micros `json:"time"`
	RequestID      string       `json:"requestId"`
	OrganizationID string       `json:"organizationId"`
	KeyID          string       `json:"keyId"`
	KidShort       string       `json:"kidShort"`
	PrincipalID    string       `json:"principalId"`
	Operation      string       `json:"operation"`
	Method         string       `json:"method"`
	Status         int          `json:"status"`
	Code           string       `json:"code"`
	DurationMicros int64        `json:"durationMicros"`
	Address        string       `json:"address"`
	Reason         string       `json:"reason"`
	Version        string       `json:"version"`
	// Batch is the Request-Id of the batch that the call was a part of.
	Batch string `json:"batch"`
	// Door is the way in: rest for the API, web for the web application. Lines of
	// older releases lack it.
	Door string `json:"door"`
}

// Find returns the calls of organizations: their ids by their numbers. keys are those
// whose calls are looked for; without one, all keys are.
func (in *QueryInput) Find(ctx context.Context, tx db.Tx, ids map[int64]string, keys ...string) (QueryOutput, error) {
	out := QueryOutput{Data: []Line{}}
	f := Filter{
		Door: in.Door, Operation: in.Operation, Reason: in.Reason, Since: in.Since, Until: in.Until,
		Before: in.Before, Limit: in.Limit,
	}
	if in.Limit < 0 || in.Limit > MaxLimit {
		return out, fault.BadRequest(fault.Field{
			Name:  "limit",
			Code:  fault.OutOfRange,
			Limit: fault.Range{Min: 1, Max: MaxLimit},
		})
	}
	if in.Status != "" && f.Statuses.UnmarshalText([]byte(in.Status)) != nil {
		return out, fault.BadRequest(fault.Field{Name: "status", Code: fault.InvalidFormat})
	}
	if in.Request != "" {
		if !id.Valid(id.Request, in.Request) {
			return out, fault.BadRequest(fault.Field{Name: "requestId", Code: fault.InvalidFormat,
				Limit: i18n.Text("a Request-Id, req_...")})
		}
		f.Request = in.Request
	}
	if len(keys) == 0 {
		keys = []string{in.Key}
	}
	found, err := queryEach(ctx, tx, f, slices.Collect(maps.Keys(ids)), keys)
	out.HasMore = found.more
	if found.through > 0 {
		out.Through = found.through + 1 // Until is exclusive
	}
	for i := range found.entries {
		out.Data = append(out.Data, found.entries[i].line(ids))
	}
	return out, err
}

func (e *Entry) line(ids map[int64]string) Line {
	address := ""
	if e.Address.IsValid() {
		address = e.Address.String()
	}
	return Line{e.At, e.RequestID, ids[e.Organization], e.KeyID, e.KidShort, e.PrincipalID, e.Operation, e.Method,
		e.Status, e.Code, int64(e.Duration / time.Microsecond), address, e.Reason, e.Version, e.Batch, e.Door}
}
