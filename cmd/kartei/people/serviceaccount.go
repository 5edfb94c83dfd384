package people

import (
	"context"

	"kartei/access"
	"kartei/api/op"
	"kartei/cmd/kartei/command"
	"kartei/people/principal"
)

// ServiceAccount has the commands for service accounts.
type ServiceAccount struct {
	Create serviceAccountCreateCmd `cmd:"" help:"Make a service account."`
	List   serviceAccountListCmd   `cmd:"" help:"List service accounts."`
	Show   serviceAccountShowCmd   `cmd:"" help:"Show one service account."`
	Set    serviceAccountSetCmd    `cmd:"" help:"Change a service account: name, role, rights, or disable it."`
}

type serviceAccountCreateCmd struct {
	Org    string                  `name:"org" required:"" placeholder:"ORG" help:"The organization, org_..."`
	Name   string                  `name:"name" required:"" placeholder:"NAME" help:"Name to show."`
	Role   access.Role             `name:"role" default:"member" placeholder:"admin|member|viewer" help:"Role in the organization."`
	Rights map[string]access.Right `name:"rights" mapsep:"," placeholder:"FAMILY=RIGHT,..." help:"Rights that narrow the role, for example contacts=read,documents=none."`
	command.JSON
}

// Run creates a service account.
func (c *serviceAccountCreateCmd) Run(ctx context.Context, g *command.Globals) error {
	return showPrincipal(ctx, g, c.JSON, principal.CreateServiceAccount, principal.New{
		Organization: c.Org, Name: c.Name, Role: c.Role, Rights: c.Rights,
	})
}

type serviceAccountListCmd struct {
	Org string `name:"org" placeholder:"ORG" help:"Only service accounts of this organization."`
	command.PageFlags
	command.JSON
}

// Run lists service accounts.
func (c *serviceAccountListCmd) Run(ctx context.Context, g *command.Globals) error {
	return listPrincipals(ctx, g, c.JSON, principal.ListServiceAccounts, c.Page(c.Org))
}

type serviceAccountShowCmd struct {
	ID string `arg:"" help:"The service account, svc_..."`
	command.JSON
}

// Run prints one service account.
func (c *serviceAccountShowCmd) Run(ctx context.Context, g *command.Globals) error {
	return showPrincipal(ctx, g, c.JSON, principal.GetServiceAccount, op.ByID{ID: c.ID})
}

type serviceAccountSetCmd struct {
	ID string `arg:"" help:"The service account, svc_..."`
	principalChange
	command.JSON
}

// Run changes a service account.
func (c *serviceAccountSetCmd) Run(ctx context.Context, g *command.Globals) error {
	_, err := setPrincipal(ctx, g, c.JSON, principal.SetServiceAccount, c.change(c.ID))
	return err
}
