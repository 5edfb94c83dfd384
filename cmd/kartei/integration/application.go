package integration

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"kartei/api/op"
	"kartei/cmd/kartei/command"
	"kartei/integration/oauth"
	"kartei/kit/id"
)

// Client has the commands for clients of OAuth and the approvals of applications.
type Client struct {
	Create  clientCreateCmd  `cmd:"" help:"Create a client for a service account. The secret is shown only now."`
	List    clientListCmd    `cmd:"" help:"List the clients of an organization and its sandbox."`
	Rotate  clientRotateCmd  `cmd:"" help:"Give a client a new secret; the old one ends at once."`
	Disable clientDisableCmd `cmd:"" help:"Refuse a client and its tokens until it is enabled."`
	Enable  clientEnableCmd  `cmd:"" help:"Enable a disabled client."`

	Approvals  clientApprovalsCmd  `cmd:"" help:"List the applications that people may connect, and those that wait for an admin."`
	Approve    clientApproveCmd    `cmd:"" help:"Let people connect an application."`
	Disapprove clientDisapproveCmd `cmd:"" help:"Take an approval back and end the connections that rest on it, or refuse a request."`
}

type clientCreateCmd struct {
	Org     string   `name:"org" required:"" placeholder:"ORG" help:"The organization, org_..."`
	Name    string   `name:"name" required:"" placeholder:"NAME" help:"Name to show."`
	Account string   `name:"service-account" required:"" placeholder:"ID" help:"The service account that the client acts for, svc_..."`
	Scopes  []string `name:"scopes" required:"" placeholder:"FAMILY:read|write" help:"What the client may ask for, for example contacts:read,contacts:write."`
	Env     string   `name:"env" default:"test" placeholder:"test|live" help:"test for the sandbox, live for the organization itself."`
	command.JSON
}

// Help returns the help text below the summary.
func (*clientCreateCmd) Help() string {
	return `The client gets access tokens at /oauth/token with its id, its secret and grant_type=client_credentials.`
}

// Run creates a client and prints its secret.
func (c *clientCreateCmd) Run(ctx context.Context, g *command.Globals) error {
	in := oauth.NewClient{Organization: c.Org, Name: c.Name, Principal: c.Account, Scopes: c.Scopes, Environment: c.Env}
	made, err := command.Call(ctx, g, oauth.CreateClient, in)
	if err != nil {
		return err
	}
	return showClientSecret(g, c.JSON, made)
}

func showClientSecret(g *command.Globals, j command.JSON, made oauth.CreatedClient) error {
	if j.JSON {
		return g.PrintJSON(made)
	}
	fmt.Fprintln(g.Out, made.ClientSecret)
	_, err := fmt.Fprintf(g.Err, "The secret of %s. It is shown only now.\n", made.ID)
	return err
}

type clientListCmd struct {
	Org string `name:"org" required:"" placeholder:"ORG" help:"The organization, org_..."`
	command.PageFlags
	command.JSON
}

// Run lists clients.
func (c *clientListCmd) Run(ctx context.Context, g *command.Globals) error {
	page, err := command.Call(ctx, g, oauth.ListClients, c.Page(c.Org))
	if err != nil {
		return err
	}
	return command.PrintList(g, c.JSON, page, clientHeader, clientRow)
}

var clientHeader = []string{"ID", "NAME", "ENV", "STATUS", "SCOPES", "SERVICE ACCOUNT", "ORGANIZATION"}

func clientRow(c oauth.ClientInfo) []string {
	status := "active"
	if c.Disabled {
		status = "disabled"
	}
	return []string{c.ID, c.Name, c.Environment, status, strings.Join(c.Scopes, " "), c.PrincipalID, c.OrganizationID}
}

// oneClient are the arguments of commands for one client.
type oneClient struct {
	ID string `arg:"" help:"The client, cli_..."`
	command.JSON
}

type clientRotateCmd struct{ oneClient }

// Run gives a client a new secret and prints it.
func (c *clientRotateCmd) Run(ctx context.Context, g *command.Globals) error {
	made, err := command.Call(ctx, g, oauth.RotateClient, op.ByID{ID: c.ID})
	if err != nil {
		return err
	}
	return showClientSecret(g, c.JSON, made)
}

type (
	clientDisableCmd struct{ oneClient }
	clientEnableCmd  struct{ oneClient }
)

// Run disables a client.
func (c *clientDisableCmd) Run(ctx context.Context, g *command.Globals) error {
	return c.set(ctx, g, true)
}

// Run enables a client.
func (c *clientEnableCmd) Run(ctx context.Context, g *command.Globals) error {
	return c.set(ctx, g, false)
}

func (c *oneClient) set(ctx context.Context, g *command.Globals, disabled bool) error {
	info, err := command.Call(ctx, g, oauth.SetClient, oauth.ClientChange{ID: c.ID, Disabled: disabled})
	if err != nil {
		return err
	}
	return command.PrintOne(g, c.JSON, info, clientHeader, clientRow)
}

type clientApprovalsCmd struct {
	Org string `name:"org" required:"" placeholder:"ORG" help:"The organization, org_..."`
	command.PageFlags
	command.JSON
}

// Run lists approvals and requests for approval.
func (c *clientApprovalsCmd) Run(ctx context.Context, g *command.Globals) error {
	page, err := command.Call(ctx, g, oauth.ListApprovals, c.Page(c.Org))
	if err != nil {
		return err
	}
	return command.PrintList(g, c.JSON, page, approvalHeader, approvalRow)
}

var approvalHeader = []string{"ID", "APPLICATION", "CLIENT", "STATUS", "FOR", "ASKED BY"}

func approvalRow(i oauth.ApprovalInfo) []string {
	status, whom := "waits", cmp.Or(i.PrincipalID, "everybody")
	if i.ApprovedAt != 0 {
		status = "approved " + command.Minute(i.ApprovedAt)
	}
	return []string{i.ID, i.Client, i.ClientID, status, whom, strings.Join(i.AskedBy, " ")}
}

type clientApproveCmd struct {
	Org       string `name:"org" required:"" placeholder:"ORG" help:"The organization, org_..."`
	Principal string `name:"principal" placeholder:"USR" help:"Who may connect an application that registered itself, usr_..."`
	Client    string `arg:"" help:"The application: its client_id, which is cli_... or the address of its document; or a request, apr_..."`
	command.JSON
}

// Help returns the help text below the summary.
func (*clientApproveCmd) Help() string {
	return `An application with a document is approved for everybody, with the document as it is now: a changed one has to be
approved again. An application that registered itself is approved for one person.`
}

// Run approves an application.
func (c *clientApproveCmd) Run(ctx context.Context, g *command.Globals) error {
	in := oauth.ApproveInput{Organization: c.Org, ClientID: c.Client, Principal: c.Principal}
	if id.Valid(id.Approval, c.Client) {
		in = oauth.ApproveInput{Organization: c.Org, ID: c.Client}
	}
	info, err := command.Call(ctx, g, oauth.Approve, in)
	if err != nil {
		return err
	}
	return command.PrintOne(g, c.JSON, info, approvalHeader, approvalRow)
}

type clientDisapproveCmd struct {
	Org string `name:"org" required:"" placeholder:"ORG" help:"The organization, org_..."`
	ID  string `arg:"" help:"The approval or the request, apr_..."`
	command.JSON
}

// Run removes an approval or refuses a request.
func (c *clientDisapproveCmd) Run(ctx context.Context, g *command.Globals) error {
	if _, err := command.Call(ctx, g, oauth.Disapprove, oauth.DisapproveInput{Organization: c.Org, ID: c.ID}); err != nil {
		return err
	}
	return command.PrintDone(g, c.JSON, c.ID+" is taken back.")
}

// Grant has the commands for OAuth grants of applications.
type Grant struct {
	List grantListCmd `cmd:"" help:"List the applications that may act for people and service accounts."`
	End  grantEndCmd  `cmd:"" help:"End a grant for ever; the next call of the application is refused."`
}

type grantListCmd struct {
	Org       string `name:"org" required:"" placeholder:"ORG" help:"The organization, org_...; its sandbox is included."`
	Principal string `name:"principal" placeholder:"ID" help:"Only grants of this user or service account."`
	command.PageFlags
	command.JSON
}

// Run lists grants.
func (c *grantListCmd) Run(ctx context.Context, g *command.Globals) error {
	page, err := command.Call(ctx, g, oauth.ListGrants, oauth.FindGrants{Page: c.Page(c.Org), Principal: c.Principal})
	if err != nil {
		return err
	}
	return command.PrintList(g, c.JSON, page, []string{"ID", "APPLICATION", "ENV", "FOR", "SCOPES", "LAST USED", "ENDS"},
		func(i oauth.GrantInfo) []string {
			used := "never"
			if i.LastUsedAt != 0 {
				used = command.Minute(i.LastUsedAt)
			}
			return []string{i.ID, i.Client, i.Environment, i.PrincipalID, strings.Join(i.Scopes, " "), used, command.Minute(i.ExpiresAt)}
		})
}

type grantEndCmd struct {
	ID string `arg:"" help:"The grant, gra_..."`
	command.JSON
}

// Run ends a grant.
func (c *grantEndCmd) Run(ctx context.Context, g *command.Globals) error {
	if _, err := command.Call(ctx, g, oauth.EndGrant, op.ByID{ID: c.ID}); err != nil {
		return err
	}
	return command.PrintDone(g, c.JSON, c.ID+" has ended.")
}
