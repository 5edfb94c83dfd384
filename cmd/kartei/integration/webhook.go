package integration

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"kartei/cmd/kartei/command"
	"kartei/integration/webhook"
)

// Webhook has the commands for webhook endpoints.
type Webhook struct {
	List       webhookListCmd       `cmd:"" help:"List webhook endpoints."`
	Show       webhookShowCmd       `cmd:"" help:"Show one endpoint, without its secret."`
	Deliveries webhookDeliveriesCmd `cmd:"" help:"Read the delivery log of an endpoint: each attempt of 30 days."`
	Event      webhookEventCmd      `cmd:"" help:"Show where an event went: each endpoint that got it, with its attempts."`
	Create     webhookCreateCmd     `cmd:"" help:"Create an endpoint for a user or service account. The secret is shown only now."`
	Change     webhookChangeCmd     `cmd:"" help:"Change an endpoint: name, address, event types."`
	Rotate     webhookRotateCmd     `cmd:"" help:"Give an endpoint a new secret; for 24 hours deliveries are signed with both."`
	Delete     webhookDeleteCmd     `cmd:"" help:"Delete an endpoint with its pending deliveries and its log."`
	Test       webhookTestCmd       `cmd:"" help:"Send a webhook.test event to an endpoint."`
	Resend     webhookResendCmd     `cmd:"" help:"Send events again: one, all that failed, or those of a period."`
	Enable     webhookEnableCmd     `cmd:"" help:"Enable a disabled endpoint. It gets the events from now on."`
}

// inOrganization is the flag for the organization of an endpoint.
type inOrganization struct {
	Org string `name:"org" required:"" placeholder:"ORG" help:"The organization, org_...; endpoints that a test key made are in its sandbox."`
}

type webhookListCmd struct {
	Org       string `name:"org" placeholder:"ORG" help:"Only endpoints of this organization, org_...; endpoints that a test key made are in its sandbox."`
	Status    string `name:"status" placeholder:"active|failing|disabled" help:"Only endpoints with this status."`
	Principal string `name:"principal" placeholder:"ID" help:"Only endpoints of this user or service account."`
	Key       string `name:"key" placeholder:"KEY" help:"Only endpoints that this key made, key_..."`
	command.PageFlags
	command.JSON
}

// Run lists endpoints.
func (c *webhookListCmd) Run(ctx context.Context, g *command.Globals) error {
	if c.Status != "" && !slices.Contains([]webhook.Status{webhook.Active, webhook.Failing, webhook.Disabled},
		webhook.Status(c.Status)) {
		return command.Usagef("--status: must be active, failing or disabled")
	}
	page, err := command.Call(ctx, g, webhook.ListInfos, webhook.FindInput{
		Organization: c.Org, Status: c.Status, Principal: c.Principal, Key: c.Key, After: c.After,
		Limit: c.Limit,
	})
	if err != nil {
		return err
	}
	return command.PrintList(g, c.JSON, page, endpointHeader, endpointRow)
}

// oneEndpoint are the arguments of commands for one endpoint.
type oneEndpoint struct {
	ID string `arg:"" help:"The endpoint, whe_..."`
	inOrganization
	command.JSON
}

func (c *oneEndpoint) show(ctx context.Context, g *command.Globals) error {
	e, err := command.Call(ctx, g, webhook.GetInfo, webhook.GetInput{One: webhook.One{Organization: c.Org, ID: c.ID}})
	if err != nil {
		return err
	}
	return command.PrintOne(g, c.JSON, e, endpointHeader, endpointRow)
}

type (
	webhookShowCmd   struct{ oneEndpoint }
	webhookEnableCmd struct {
		oneEndpoint
		Missed bool `name:"missed" help:"Also send what never arrived: what the endpoint missed while it was disabled, and what failed before."`
	}
)

// Run prints an endpoint.
func (c *webhookShowCmd) Run(ctx context.Context, g *command.Globals) error {
	return c.show(ctx, g)
}

// Help returns the help text below the summary.
func (*webhookEnableCmd) Help() string {
	return `Events from the time while the endpoint was disabled are sent with --missed only, or by kartei webhook
resend. An endpoint that is not disabled stays as it is.`
}

// Run enables an endpoint.
func (c *webhookEnableCmd) Run(ctx context.Context, g *command.Globals) error {
	e, err := command.Call(ctx, g, webhook.Enable, webhook.EnableInput{
		One:    webhook.One{Organization: c.Org, ID: c.ID},
		Missed: c.Missed,
	})
	if err != nil {
		return err
	}
	if e.Sends != nil && !c.JSON.JSON {
		if _, err := fmt.Fprintln(g.Err, "Sent again: "+tally(*e.Sends)); err != nil {
			return err
		}
	}
	if c.JSON.JSON {
		return g.PrintJSON(e)
	}
	return command.PrintOne(g, c.JSON, e.Info, endpointHeader, endpointRow)
}

// tally returns the number of events that are sent again, as text.
func tally(out webhook.ResendOutput) string {
	switch {
	case out.Rests:
		return "events, once the API of the organization is on again"
	case out.Found.More:
		return fmt.Sprintf("%d events or more", out.Found.Events)
	}
	return fmt.Sprintf("%d events", out.Found.Events)
}

var endpointHeader = []string{
	"ID", "ORGANIZATION", "NAME", "URL", "STATUS", "WAITING", "BEHIND SINCE", "FAILURES", "LAST SUCCESS",
	"LAST FAILURE", "MISSED SINCE", "PRINCIPAL",
}

func endpointRow(e webhook.Info) []string {
	status := string(e.Status)
	if e.DisabledReason != nil {
		status += ", " + string(*e.DisabledReason)
	}
	success, failure := "never", "never"
	if e.LastSuccessAt != nil {
		success = command.Minute(*e.LastSuccessAt)
	}
	if e.LastFailureAt != nil {
		failure = command.Minute(*e.LastFailureAt)
	}
	missed := "-"
	if e.MissedSince != 0 { // in full, as an argument for resend --since
		missed = e.MissedSince.String()
	}
	behind := "-"
	if e.BehindSince != 0 {
		behind = command.Minute(e.BehindSince)
	}
	return []string{
		e.ID, e.OrganizationID, e.Name, e.URL, status, strconv.FormatInt(e.Waiting, 10), behind,
		strconv.FormatInt(e.Failures, 10), success, failure, missed, e.PrincipalID,
	}
}

type webhookCreateCmd struct {
	inOrganization
	Principal string   `name:"principal" required:"" placeholder:"ID" help:"The user or service account of the endpoint, usr_... or svc_...; it gets the events about what this may read."`
	Name      string   `name:"name" required:"" placeholder:"NAME" help:"Name to show."`
	URL       string   `name:"url" required:"" placeholder:"URL" help:"Address to which events are sent: https, port 443."`
	Events    []string `name:"events" required:"" placeholder:"TYPE" help:"Types of events, for example contact.created,contact.updated."`
	command.JSON
}

// Help returns the help text below the summary.
func (*webhookCreateCmd) Help() string {
	return `The endpoint belongs to the user or service account that is named, and gets no more than this may read.
The command needs a running server, which seals the secret and knows the networks to which it sends.`
}

// Run creates an endpoint and prints its secret.
func (c *webhookCreateCmd) Run(ctx context.Context, g *command.Globals) error {
	in := webhook.NewInput{
		Organization: c.Org,
		Principal:    c.Principal,
		Fields:       webhook.Fields{Name: c.Name, URL: c.URL, EventTypes: c.Events},
	}
	made, err := command.CallServer(ctx, g, webhook.CreateByPerson, in)
	if err != nil {
		return err
	}
	return showEndpointSecret(g, c.JSON, made)
}

// showEndpointSecret prints the secret of an endpoint.
func showEndpointSecret(g *command.Globals, j command.JSON, made webhook.SecretAnswer) error {
	if j.JSON {
		return g.PrintJSON(made)
	}
	fmt.Fprintln(g.Out, made.Text)
	until := ""
	if made.PreviousSecretValidUntil != nil {
		until = " The former one signs, too, until " + command.Minute(*made.PreviousSecretValidUntil) + "."
	}
	_, err := fmt.Fprintf(g.Err, "The secret of %s. It is shown only now.%s\n", made.ID, until)
	return err
}

type webhookChangeCmd struct {
	oneEndpoint
	Name   *string   `name:"name" placeholder:"NAME" help:"Name to show."`
	URL    *string   `name:"url" placeholder:"URL" help:"Address to which events are sent, pending ones too."`
	Events *[]string `name:"events" placeholder:"TYPE" help:"Types of events. They replace the earlier ones."`
}

// Run changes an endpoint and prints it.
func (c *webhookChangeCmd) Run(ctx context.Context, g *command.Globals) error {
	switch {
	case c.Name == nil && c.URL == nil && c.Events == nil:
		return command.NothingToSet("--name, --url or --events")
	case empty(c.Events):
		return command.Usagef("--events: is empty; an endpoint has at least one type of events")
	}
	in := webhook.ChangeInput{
		One:        webhook.One{Organization: c.Org, ID: c.ID},
		Name:       c.Name,
		URL:        c.URL,
		EventTypes: c.Events,
	}
	if _, err := command.CallServer(ctx, g, webhook.ChangeByPerson, in); err != nil {
		return err
	}
	return c.show(ctx, g)
}

type (
	webhookRotateCmd struct{ oneEndpoint }
	webhookDeleteCmd struct{ oneEndpoint }
	webhookTestCmd   struct{ oneEndpoint }
)

// Run gives an endpoint a new secret and prints it.
func (c *webhookRotateCmd) Run(ctx context.Context, g *command.Globals) error {
	made, err := command.CallServer(ctx, g, webhook.RotateByPerson, webhook.One{Organization: c.Org, ID: c.ID})
	if err != nil {
		return err
	}
	return showEndpointSecret(g, c.JSON, made)
}

// Run deletes an endpoint.
func (c *webhookDeleteCmd) Run(ctx context.Context, g *command.Globals) error {
	if _, err := command.Call(ctx, g, webhook.DeleteByPerson, webhook.One{Organization: c.Org, ID: c.ID}); err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(map[string]any{"id": c.ID, "deleted": true})
	}
	_, err := fmt.Fprintf(g.Out, "%s is deleted. Nothing more is sent to it.\n", c.ID)
	return err
}

// Run sends a test event.
func (c *webhookTestCmd) Run(ctx context.Context, g *command.Globals) error {
	sent, running, err := command.CallWhere(ctx, g, webhook.TestByOperator, webhook.One{Organization: c.Org, ID: c.ID})
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(sent)
	}
	when := "now"
	if !running {
		when = "as soon as a server runs"
	}
	_, err = fmt.Fprintf(g.Out, "%s is sent to %s %s. kartei webhook event %[1]s --org %[4]s shows the result.\n",
		sent.EventID, c.ID, when, c.Org)
	return err
}

type webhookDeliveriesCmd struct {
	oneEndpoint
	Event  string `name:"event" placeholder:"EVENT" help:"Only attempts to deliver this event, evt_..."`
	Status string `name:"status" placeholder:"succeeded|failed" help:"Only attempts with this result."`
	Before string `name:"before" placeholder:"ID" help:"Only attempts older than this one, dlv_..."`
	Limit  int    `name:"limit" default:"100" placeholder:"N" help:"Maximum number of attempts, up to 1000."`
}

// Run prints delivery attempts, the newest first.
func (c *webhookDeliveriesCmd) Run(ctx context.Context, g *command.Globals) error {
	switch {
	case c.Limit < 1 || c.Limit > 1000: // the operation treats 0 as a missing value
		return command.Usagef("--limit: must be 1 to 1000")
	case c.Status != "" && c.Status != "succeeded" && c.Status != "failed":
		return command.Usagef("--status: must be succeeded or failed")
	}
	page, err := command.Call(ctx, g, webhook.ListAttempts, webhook.LogInput{
		Organization: c.Org, ID: c.ID, Event: c.Event, Result: c.Status, Before: c.Before, Limit: c.Limit,
	})
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(page)
	}
	rows := make([][]string, len(page.Data))
	for i, a := range page.Data {
		rows[i] = attemptRow(a)
	}
	if err := command.PrintTable(g, []string{"TIME", "EVENT", "TYPE", "ATTEMPT", "RESULT", "TOOK", "NEXT", "ID"},
		rows); err != nil || !page.HasMore {
		return err
	}
	_, err = fmt.Fprintf(g.Err, "There are older attempts: --before %s\n", page.Data[len(page.Data)-1].ID)
	return err
}

func attemptRow(a webhook.Attempt) []string {
	result := string(a.ErrorCode)
	if a.ResponseStatus != 0 {
		result = strconv.Itoa(a.ResponseStatus)
	}
	next := ""
	if a.NextAttemptAt != 0 {
		next = a.NextAttemptAt.String()
	}
	return []string{
		a.AttemptedAt.String(), a.EventID, a.EventType, strconv.Itoa(a.Attempt), result,
		strconv.FormatInt(a.ResponseTimeMs, 10) + " ms", next, a.ID,
	}
}

type webhookEventCmd struct {
	ID string `arg:"" help:"The event, evt_..."`
	inOrganization
	command.JSON
}

// Run prints the delivery attempts of an event for each endpoint, the newest first.
func (c *webhookEventCmd) Run(ctx context.Context, g *command.Globals) error {
	found, err := command.Call(ctx, g, webhook.DeliveriesOf, webhook.EventInput{Organization: c.Org, ID: c.ID})
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(found)
	}
	var rows [][]string
	for _, d := range found.Data {
		if d.DueAt != 0 {
			rows = append(rows, []string{d.EndpointID, d.Name, d.DueAt.String(), "", "waits", "", ""})
		}
		for _, a := range d.Attempts {
			row := attemptRow(a)
			rows = append(rows, []string{d.EndpointID, d.Name, row[0], row[3], row[4], row[5], row[7]})
		}
	}
	return command.PrintTable(g, []string{"ENDPOINT", "NAME", "TIME", "ATTEMPT", "RESULT", "TOOK", "ID"}, rows)
}

type webhookResendCmd struct {
	oneEndpoint
	Event  string         `name:"event" placeholder:"EVENT" help:"This event, evt_..., of the last 30 days."`
	Failed bool           `name:"failed" help:"All events of the last 30 days that failed and are not tried any more."`
	Since  command.Moment `name:"since" placeholder:"TIME" help:"All events after this time, delivered or not: 2026-11-01T09:00:00Z, or 24h for the last 24 hours."`
	Until  command.Moment `name:"until" placeholder:"TIME" help:"Only events up to this time; until now by default."`
}

// Help returns the help text below the summary.
func (*webhookResendCmd) Help() string {
	return `Give --event, --failed, or --since with or without --until. Each event starts a new series of ten
attempts with the same webhook-id, so a receiver recognises a repeated one. Only events that the
endpoint's owner may read now are sent. A disabled endpoint must be enabled first. Many events are
sent by a job, so they take a while: see kartei webhook deliveries.`
}

// Run resends events.
func (c *webhookResendCmd) Run(ctx context.Context, g *command.Globals) error {
	ways := 0
	for _, given := range []bool{c.Event != "", c.Failed, c.Since.Micros != 0} {
		if given {
			ways++
		}
	}
	if ways != 1 || c.Until.Micros != 0 && c.Since.Micros == 0 {
		return command.Usagef("give exactly one of --event, --failed, and --since (with or without --until)")
	}
	out, running, err := command.CallWhere(ctx, g, webhook.Resend, webhook.ResendInput{
		Organization: c.Org, ID: c.ID, Event: c.Event, Failed: c.Failed, Since: c.Since.Micros, Until: c.Until.Micros,
	})
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(out)
	}
	fmt.Fprintln(g.Out, c.outcome(out, running))
	return nil
}

// outcome returns a sentence about the events that are sent again.
func (c *webhookResendCmd) outcome(out webhook.ResendOutput, running bool) string {
	what := c.Event + " is sent to " + c.ID
	if out.Going {
		what = "The events are looked up and sent to " + c.ID
	}
	switch {
	case out.Rests:
		return what + " once the API of the organization is on again and the organization is open. Until then no deliveries are sent."
	case !running:
		return what + " as soon as a server runs."
	case out.Going:
		return what + " in the background: " + tally(out) +
			". While that runs, kartei jobs shows webhooks.resend. kartei webhook deliveries shows the results."
	}
	return what + " now. kartei webhook deliveries shows the result."
}
