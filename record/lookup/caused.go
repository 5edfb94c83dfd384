package lookup

import (
	"context"
	"time"

	"kartei/api/op"
	"kartei/integration/event"
	"kartei/integration/requestlog"
)

// CausedInput is the input of ListCaused. Request is the Request-Id of a call.
type CausedInput struct {
	Request string `json:"requestId"`
}

// CausedOutput has the events of a call, the first event first.
type CausedOutput struct {
	Data []event.CallEvent `json:"data"`
}

// ListCaused returns the events of a call. The caller must be allowed to see the call in the
// request log. The call must be in the environment in which the caller acts.
var ListCaused = op.NewPrefetched("requests.caused", op.Read, requestlog.FlushFirst, listCaused, op.By(op.Self))

func listCaused(ctx context.Context, c *op.Call, in CausedInput, none struct{}) (CausedOutput, error) {
	out := CausedOutput{Data: []event.CallEvent{}}
	found, err := requestlog.Read(ctx, c, requestlog.QueryInput{Request: in.Request}, none)
	if err != nil {
		return out, err
	}
	for _, line := range found.Data {
		if line.RequestID == in.Request && line.OrganizationID == c.Actor.Organization().ID {
			out.Data, err = event.Cause(ctx, c, event.Call{
				RequestID: line.RequestID, At: line.Time,
				Took: time.Duration(line.DurationMicros) * time.Microsecond,
			})
			return out, err
		}
	}
	return out, nil
}
