package people

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/cmd/kartei/command"
	"kartei/cmd/kartei/transfer"
	"kartei/people/principal"
)

// User has the commands for users of an organization.
type User struct {
	Create userCreateCmd `cmd:"" help:"Make a user who cannot sign in yet; invite makes one who can."`
	List   userListCmd   `cmd:"" help:"List users."`
	Show   userShowCmd   `cmd:"" help:"Show one user."`
	Set    userSetCmd    `cmd:"" help:"Change a user: name, email, role, rights, or disable them."`
	Invite userInviteCmd `cmd:"" help:"Invite somebody to an organization. The link is shown only now."`

	Reset          userResetCmd          `cmd:"" name:"reset" help:"Print a link that sets a new password, for somebody who forgot theirs."`
	ResetFactors   userResetFactorsCmd   `cmd:"" name:"reset-factors" help:"Remove the second factors of somebody who lost them, and print a link that sets a new password."`
	Holdings       userHoldingsCmd       `cmd:"" help:"Show what somebody has who is about to leave."`
	Unlink         userUnlinkCmd         `cmd:"" help:"Remove a user's link with the OpenID provider (single sign-on)."`
	HandOver       userHandOverCmd       `cmd:"" name:"hand-over" help:"Hand all records and tasks of somebody who leaves to somebody else."`
	HandOverStatus userHandOverStatusCmd `cmd:"" name:"hand-over-status" help:"Show the progress of hand-overs."`
	Export         transfer.UserExport   `cmd:"" help:"Write what is kept about a user or a service account into a ZIP file."`
	Erase          userEraseCmd          `cmd:"" help:"Erase a user who has no records any more."`
}

type userCreateCmd struct {
	Org    string                  `name:"org" required:"" placeholder:"ORG" help:"The user's organization, org_..."`
	Name   string                  `name:"name" required:"" placeholder:"NAME" help:"Name to show."`
	Email  string                  `name:"email" required:"" placeholder:"ADDRESS" help:"Address for messages, and for the invitation to sign in. No other user of the organization has it."`
	Lang   string                  `name:"language" default:"de" placeholder:"de|en" help:"Language of messages to the user."`
	Role   access.Role             `name:"role" default:"member" placeholder:"admin|member|viewer" help:"Role in the organization."`
	Rights map[string]access.Right `name:"rights" mapsep:"," placeholder:"FAMILY=RIGHT,..." help:"Rights that narrow the role, for example contacts=read,documents=none."`
	command.JSON
}

// Run creates a user.
func (c *userCreateCmd) Run(ctx context.Context, g *command.Globals) error {
	err := showPrincipal(ctx, g, c.JSON, principal.CreateUser, principal.New{
		Organization: c.Org, Name: c.Name, Email: c.Email, Language: c.Lang, Role: c.Role, Rights: c.Rights,
	})
	if err != nil {
		return err
	}
	if !c.JSON.JSON {
		fmt.Fprintf(g.Err, "The user cannot sign in yet. This prints a link to begin with: kartei user invite --org %s --email %s\n", c.Org, c.Email)
	}
	return nil
}

type userListCmd struct {
	Org string `name:"org" placeholder:"ORG" help:"Only users of this organization."`
	command.PageFlags
	command.JSON
}

// Run lists users.
func (c *userListCmd) Run(ctx context.Context, g *command.Globals) error {
	return listPrincipals(ctx, g, c.JSON, principal.ListUsers, c.Page(c.Org))
}

type userShowCmd struct {
	ID string `arg:"" help:"The user, usr_..."`
	command.JSON
}

// Run prints one user.
func (c *userShowCmd) Run(ctx context.Context, g *command.Globals) error {
	return showPrincipal(ctx, g, c.JSON, principal.GetUser, op.ByID{ID: c.ID})
}

type userSetCmd struct {
	ID    string  `arg:"" help:"The user, usr_..."`
	Email *string `name:"email" placeholder:"ADDRESS" help:"Address for messages. People change the address that they sign in with themselves."`
	Lang  *string `name:"language" placeholder:"de|en" help:"Language of messages to the user."`
	principalChange
	command.JSON
}

// Run changes a user.
func (c *userSetCmd) Run(ctx context.Context, g *command.Globals) error {
	change := c.change(c.ID)
	change.Email, change.Language = c.Email, c.Lang
	p, err := setPrincipal(ctx, g, c.JSON, principal.SetUser, change)
	if err != nil || c.JSON.JSON || change.Disabled == nil && change.Role == nil {
		return err
	}
	return warnWithoutAdmin(ctx, g, p)
}

// warnWithoutAdmin prints a warning if the organization of p has no admin any more, and p may be the
// last one: p is disabled, or has another role.
func warnWithoutAdmin(ctx context.Context, g *command.Globals, p access.PrincipalInfo) error {
	if p.Role == access.Admin && !p.Disabled {
		return nil
	}
	for page := (op.Page{Organization: p.OrganizationID, Limit: 1000}); ; {
		users, err := command.Call(ctx, g, principal.ListUsers, page)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(users.Data, func(u access.PrincipalInfo) bool {
			return u.Role == access.Admin && !u.Disabled && u.ErasedAt == 0
		}) {
			return nil
		}
		if !users.HasMore {
			break
		}
		page.After = users.Data[len(users.Data)-1].ID
	}
	fmt.Fprintf(g.Err, "%s has no admin any more who can sign in. Only you can name one: kartei user set USR --role admin, or: kartei user invite --org %s --email ADDRESS --role admin\n", p.OrganizationID, p.OrganizationID)
	return nil
}

// principalChange are the flags for changes of users and service accounts.
type principalChange struct {
	Name   *string                 `name:"name" placeholder:"NAME" help:"Name to show."`
	Role   *access.Role            `name:"role" placeholder:"admin|member|viewer" help:"Role in the organization."`
	Rights map[string]access.Right `name:"rights" mapsep:"," placeholder:"FAMILY=RIGHT,..." help:"Rights that narrow the role for the named families: none, read or write."`
	// A single boolean flag could not distinguish a missing value from false.
	Disable bool `name:"disable" xor:"disabled" help:"Refuse all keys and sign-ins of the user or service account from now on."`
	Enable  bool `name:"enable" xor:"disabled" help:"Undo --disable."`
}

func (c *principalChange) change(id string) principal.Change {
	change := principal.Change{ID: id, Name: c.Name, Role: c.Role, Rights: c.Rights}
	if c.Disable || c.Enable {
		change.Disabled = &c.Disable
	}
	return change
}

func setPrincipal(
	ctx context.Context, g *command.Globals, j command.JSON, o op.Operation[principal.Change, access.PrincipalInfo],
	change principal.Change,
) (p access.PrincipalInfo, err error) {
	if change.Name == nil && change.Email == nil && change.Language == nil && change.Role == nil &&
		len(change.Rights) == 0 && change.Disabled == nil {
		return p, command.NothingToSet("--name, --role, --rights, --disable or --enable")
	}
	if p, err = command.Call(ctx, g, o, change); err != nil {
		return p, err
	}
	return p, command.PrintOne(g, j, p, principalHeader, principalRow)
}

// showPrincipal calls an operation that returns a user or a service account, and prints the result.
func showPrincipal[In any](
	ctx context.Context, g *command.Globals, j command.JSON, o op.Operation[In, access.PrincipalInfo], in In,
) error {
	p, err := command.Call(ctx, g, o, in)
	if err != nil {
		return err
	}
	return command.PrintOne(g, j, p, principalHeader, principalRow)
}

func listPrincipals(
	ctx context.Context, g *command.Globals, j command.JSON,
	o op.Operation[op.Page, op.Entries[access.PrincipalInfo]], in op.Page,
) error {
	page, err := command.Call(ctx, g, o, in)
	if err != nil {
		return err
	}
	return command.PrintList(g, j, page, principalHeader, principalRow)
}

var principalHeader = []string{"ID", "NAME", "EMAIL", "ROLE", "RIGHTS", "STATUS", "SSO", "ORGANIZATION"}

func principalRow(p access.PrincipalInfo) []string {
	rights := make([]string, 0, len(p.Rights))
	for _, family := range slices.Sorted(maps.Keys(p.Rights)) {
		rights = append(rights, family+"="+string(p.Rights[family]))
	}
	status := "active"
	if p.Disabled {
		status = "disabled"
	}
	if p.ErasedAt != 0 {
		status = "erased"
	}
	linked := ""
	if p.SignIn != nil && p.SignIn.SSO {
		linked = "linked"
	}
	return []string{p.ID, p.Name, p.Email, string(p.Role), strings.Join(rights, ","), status, linked, p.OrganizationID}
}
