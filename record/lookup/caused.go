package lookup

import (
	"context"
	"time"

	"kartei/api/op"
	"kartei/integration/event"
	"kartei/integration/requestlog"
)

// CausedInput names a call by its Request-Id.
type CausedInput struct {
	Request string `json:"requestId"`
}

// CausedOutput holds what a call changed, the first change first.
type CausedOutput struct {
	Data []event.CallEvent `json:"data"`
}

// ListCaused returns the events of a call that the caller may see in the request log, in
// the environment in which the caller acts.
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
