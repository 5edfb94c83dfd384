package integration

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"kartei/cmd/kartei/command"
	"kartei/integration/requestlog"
)

// Log is the command that reads the request log.
type Log struct {
	Request string `arg:"" optional:"" placeholder:"REQUEST-ID" help:"Only the call with this Request-Id, req_..."`

	Org       string              `name:"org" placeholder:"ORG" help:"Only calls to this organization, org_..."`
	Key       string              `name:"key" placeholder:"KEY" help:"Only calls with this key: its id (key_...) or the 8 characters after kart_test_ or kart_live_. Or of a session (ses_...), or of all sessions of a person (usr_...)."`
	Status    requestlog.Statuses `name:"status" placeholder:"401|4xx" help:"Only calls with this status or class of statuses."`
	Operation string              `name:"operation" placeholder:"OPERATION" help:"Only calls of this operation, for example contacts.list."`
	Reason    string              `name:"reason" placeholder:"REASON" help:"Only calls that were refused for this reason, for example address."`
	Since     command.Moment      `name:"since" placeholder:"TIME" help:"Only calls from this time on: 2026-11-01T09:00:00Z, or 24h for the last 24 hours."`
	Until     command.Moment      `name:"until" placeholder:"TIME" help:"Only calls before this time."`
	Limit     int                 `name:"limit" default:"100" placeholder:"N" help:"Maximum number of calls, up to 1000."`
	command.JSON
}

// Run prints calls from the request log, the newest first.
func (c *Log) Run(ctx context.Context, g *command.Globals) error {
	if c.Limit < 1 || c.Limit > requestlog.MaxLimit { // the operation treats 0 as a missing value
		return command.Usagef("--limit: must be 1 to %d", requestlog.MaxLimit)
	}
	status, err := c.Status.MarshalText()
	if err != nil {
		return err
	}
	out, err := command.Call(ctx, g, requestlog.List, requestlog.QueryInput{
		Request: c.Request, Organization: c.Org, Key: c.Key, Status: string(status), Operation: c.Operation,
		Reason: c.Reason, Since: c.Since.Micros, Until: c.Until.Micros, Limit: c.Limit,
	})
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(out)
	}
	rows := make([][]string, len(out.Data))
	for i, l := range out.Data {
		rows[i] = logRow(l)
	}
	if err := command.PrintTable(g, logHeader, rows); err != nil || !out.HasMore {
		return err
	}
	if out.Through != 0 {
		_, err = fmt.Fprintf(g.Err, "Older calls were not searched: --until %s\n", out.Through)
		return err
	}
	_, err = fmt.Fprintf(g.Err, "There are older calls: --until %s\n", out.Data[len(out.Data)-1].Time)
	return err
}

var logHeader = []string{
	"TIME", "STATUS", "CODE", "REASON", "DOOR", "METHOD", "OPERATION", "KEY", "ADDRESS", "TOOK", "REQUEST",
}

func logRow(l requestlog.Line) []string {
	return []string{l.Time.String(), strconv.Itoa(l.Status), l.Code, l.Reason, l.Door, l.Method, l.Operation,
		l.KidShort, l.Address,
		(time.Duration(l.DurationMicros) * time.Microsecond).String(), l.RequestID}
}
