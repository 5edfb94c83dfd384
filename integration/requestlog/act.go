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

// QueryInput is the input of a query for calls. An empty member does not restrict the result.
type QueryInput struct {
	// Request is the Request-Id of one call. The Request-Id of a batch also selects its calls.
	Request string `json:"requestId,omitempty"`
	// Organization is an id of the form org_....
	Organization string `json:"organizationId,omitempty"`
	// Key is the id of a key, the first 8 characters of its kid, or the id of another credential.
	// The id of a user selects the calls of all sessions of the user.
	Key string `json:"key,omitempty"`
	// Status is one status (401) or a class (4xx).
	Status string `json:"status,omitempty"`
	// Door is the entry point of the call, for example rest. The value programs selects rest and
	// mcp.
	Door string `json:"door,omitempty"`
	// Operation is an operationId, and Reason is the reason of a refusal. With either of them, the
	// query reads only the newest 20,000 calls that the other members select.
	Operation string       `json:"operation,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	Since     clock.Micros `json:"since"`
	Until     clock.Micros `json:"until"`
	// Limit is the maximum number of calls, from 1 to MaxLimit. 0 means DefaultLimit.
	Limit int `json:"limit,omitempty"`
	// Before is the last entry of the previous page. Only callers in this process can set it.
	Before *Entry `json:"-"`
}

// QueryOutput has calls, the newest first.
type QueryOutput struct {
	Data []Line `json:"data"`
	// HasMore says that older calls match too. A query whose Until is the time of the last line
	// returns them.
	HasMore bool `json:"hasMore"`
	// Through is set if the query stopped at its bound. A query with this Until continues the
	// search.
	Through clock.Micros `json:"through,omitzero"`
}

// Line is an entry in the form for scripts. An unknown value is an empty string.
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
	// Batch is the Request-Id of the batch that contained the call.
	Batch string `json:"batch"`
	// Door is the entry point of the call: rest for the API, web for the web application. It is
	// empty in lines of older releases.
	Door string `json:"door"`
}

// Find returns the calls of organizations. ids maps the numbers of the organizations to their ids.
// keys select the calls of these keys. Without keys, in.Key decides.
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
