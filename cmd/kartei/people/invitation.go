package people

import (
	"context"
	"fmt"
	"strings"

	"kartei/access"
	"kartei/api/op"
	"kartei/cmd/kartei/command"
	"kartei/people/account"
	"kartei/people/invitation"
)

type userInviteCmd struct {
	Org    string                  `name:"org" required:"" placeholder:"ORG" help:"The user's organization, org_..."`
	Email  string                  `name:"email" required:"" placeholder:"ADDRESS" help:"Address to sign in with. An older invitation to the same address ends. A user who cannot sign in yet can be invited too."`
	Lang   string                  `name:"language" placeholder:"de|en" help:"Language of pages and messages for the user; by default the one in which the invitation is accepted."`
	Role   access.Role             `name:"role" placeholder:"admin|member|viewer" help:"Role in the organization; member by default. A user who exists keeps the role."`
	Rights map[string]access.Right `name:"rights" mapsep:"," placeholder:"FAMILY=RIGHT,..." help:"Rights that narrow the role, for example contacts=read,documents=none."`
	Mail   bool                    `name:"mail" help:"Send the link to the address by email. This needs a running server with --smtp-url."`
	command.JSON
}

// Help returns the help text below the summary.
func (*userInviteCmd) Help() string {
	return `The link works once, and for seven days. It is shown only now. Whoever has it can accept the invitation.`
}

// Run invites a person and prints the link.
func (c *userInviteCmd) Run(ctx context.Context, g *command.Globals) error {
	made, err := command.Call(ctx, g, invitation.Create, invitation.New{
		Organization: c.Org, Email: c.Email, Language: c.Lang, Role: c.Role, Rights: c.Rights, Mail: c.Mail,
	})
	if err != nil {
		return err
	}
	if made.Link == "" {
		made.Link = link(g, invitation.Path, made.Token)
	}
	if c.JSON.JSON {
		return g.PrintJSON(made)
	}
	fmt.Fprintln(g.Out, made.Link)
	fmt.Fprintf(g.Err, "The link is for %s, works once, and expires at %s (%s). Earlier links for this address no longer work.\n", made.Email, command.Minute(made.ExpiresAt), made.ID)
	fmt.Fprint(g.Err, mailing(c.Mail, made))
	return nil
}

// mailing returns the sentence about the email of an invitation. It is empty if no email was wanted.
func mailing(wanted bool, made invitation.NewInvitation) string {
	switch {
	case !wanted:
		return ""
	case made.Mailed:
		return "An email with the link waits to be sent. The server hands it to the mail server now, and tries again for up to three days if the mail server does not take it. Emails that wait, and those that were given up: kartei jobs\n"
	default:
		return "No email is sent, because ten invitations went to this address within a day. Pass the link on yourself.\n"
	}
}

// Invitation has the commands for open invitations.
type Invitation struct {
	List   invitationListCmd   `cmd:"" help:"List open invitations."`
	Revoke invitationRevokeCmd `cmd:"" help:"Revoke an invitation."`
}

type invitationListCmd struct {
	Org string `name:"org" placeholder:"ORG" help:"Only invitations to this organization."`
	command.PageFlags
	command.JSON
}

// Run lists open invitations.
func (c *invitationListCmd) Run(ctx context.Context, g *command.Globals) error {
	page, err := command.Call(ctx, g, invitation.List, c.Page(c.Org))
	if err != nil {
		return err
	}
	return command.PrintList(g, c.JSON, page, []string{"ID", "EMAIL", "ROLE", "INVITED BY", "ENDS", "ORGANIZATION"},
		func(i invitation.Info) []string {
			by := i.InvitedBy
			if by == "" {
				by = "operator"
			}
			return []string{i.ID, i.Email, string(i.Role), by, command.Minute(i.ExpiresAt), i.OrganizationID}
		})
}

type invitationRevokeCmd struct {
	ID string `arg:"" help:"The invitation, inv_..."`
	command.JSON
}

// Run revokes an invitation.
func (c *invitationRevokeCmd) Run(ctx context.Context, g *command.Globals) error {
	if _, err := command.Call(ctx, g, invitation.Revoke, op.ByID{ID: c.ID}); err != nil {
		return err
	}
	return command.PrintDone(g, c.JSON, c.ID+" is revoked.")
}

// link returns the URL of a page with a token. No server runs, so the base URL comes from the
// settings of this command.
func link(g *command.Globals, page, token string) string {
	base, known := g.Setting("base-url")
	if !known {
		base = "http://localhost"
		fmt.Fprintln(g.Err, "The address of the instance is not known here. Set KARTEI_BASE_URL, or replace http://localhost in the link.")
	}
	return strings.TrimSuffix(base, "/") + page + token
}

type userResetCmd struct {
	ID string `arg:"" help:"The user, usr_..."`
	command.JSON
}

// Help returns the help text below the summary.
func (*userResetCmd) Help() string {
	return `The link works once, and for 30 minutes. It is shown only now: give it to the user yourself. It sets a new
password and ends all sessions of the account. The second factors stay; reset-factors removes them. Nothing
changes before the link is used.`
}

// Run prints a link that sets a password.
func (c *userResetCmd) Run(ctx context.Context, g *command.Globals) error {
	l, err := command.Call(ctx, g, account.ResetPassword, op.ByID{ID: c.ID})
	if err != nil {
		return err
	}
	return printReset(g, c.JSON, l, fmt.Sprintf("The link sets a new password of %s; it works once, and until %s. It was not sent.", c.ID,
		command.Minute(l.ExpiresAt)))
}

// printReset prints a link that sets a password, and a remark to g.Err.
func printReset(g *command.Globals, j command.JSON, l account.FactorReset, remark string) error {
	if l.Link == "" {
		l.Link = link(g, account.ResetPath, l.Token)
	}
	if j.JSON {
		return g.PrintJSON(l)
	}
	fmt.Fprintln(g.Out, l.Link)
	fmt.Fprintln(g.Err, remark)
	return nil
}

type userResetFactorsCmd struct {
	ID string `arg:"" help:"The user, usr_..."`
	command.JSON
}

// Help returns the help text below the summary.
func (*userResetFactorsCmd) Help() string {
	return `It removes the app for codes, the passkeys and the recovery codes of the user's account, and ends all of
its sessions. The password stays. The link sets a new one; it works once, and for 30 minutes.`
}

// Run removes the second factors of a user.
func (c *userResetFactorsCmd) Run(ctx context.Context, g *command.Globals) error {
	l, err := command.Call(ctx, g, account.ResetFactors, op.ByID{ID: c.ID})
	if err != nil {
		return err
	}
	return printReset(g, c.JSON, l, fmt.Sprintf("The second factors of %s are removed, and all sessions have ended. The link sets a new password; it works once, and until %s.",
		c.ID, command.Minute(l.ExpiresAt)))
}

type userUnlinkCmd struct {
	ID string `arg:"" help:"The user, usr_..."`
	command.JSON
}

// Help returns the help text below the summary.
func (*userUnlinkCmd) Help() string {
	return `It removes the links of the user's account with OpenID providers, and ends all of its sessions. Password and
passkeys stay. If the account has neither, a link is printed that sets a password; it works once, and for 30
minutes. The user links the account again under settings, security.`
}

// Run removes a user's links with OpenID providers.
func (c *userUnlinkCmd) Run(ctx context.Context, g *command.Globals) error {
	l, err := command.Call(ctx, g, account.Unlink, op.ByID{ID: c.ID})
	if err != nil {
		return err
	}
	if l.Link == "" && l.Token != "" {
		l.Link = link(g, account.ResetPath, l.Token)
	}
	if c.JSON.JSON {
		return g.PrintJSON(l)
	}
	fmt.Fprintf(g.Err, "%s is no longer linked with single sign-on, and all sessions have ended.\n", c.ID)
	if l.Token != "" {
		fmt.Fprintln(g.Out, l.Link)
		fmt.Fprintf(g.Err, "There is no other way to sign in. The link sets a password; it works once, and until %s.\n",
			command.Minute(l.ExpiresAt))
	}
	return nil
}
