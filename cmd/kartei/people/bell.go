package people

import (
	"context"
	"fmt"

	"kartei/cmd/kartei/command"
	"kartei/people/notify"
)

// Bell has the commands for notices in the bells of users.
type Bell struct {
	List bellListCmd `cmd:"" name:"list" default:"withargs" help:"List the notices in the bells of an organization's users (the default)."`
	Read bellReadCmd `cmd:"" name:"read" help:"Mark entries of a user as read."`
}

type bellListCmd struct {
	Org   string `name:"org" required:"" placeholder:"ORG" help:"The organization, org_..."`
	User  string `name:"user" placeholder:"USR" help:"Only entries of this user, usr_..."`
	After string `name:"after" placeholder:"ID" help:"Only entries older than this one."`
	Limit int    `name:"limit" default:"100" placeholder:"N" help:"Maximum number of entries, up to 1000."`
	command.JSON
}

// Run prints notices, the newest first.
func (c *bellListCmd) Run(ctx context.Context, g *command.Globals) error {
	in := notify.BellInput{Organization: c.Org, Principal: c.User, After: c.After, Limit: c.Limit}
	page, err := command.Call(ctx, g, notify.ListBell, in)
	if err != nil {
		return err
	}
	return command.PrintList(g, c.JSON, page, []string{"TIME", "USER", "MAILED", "TITLE", "ID"}, func(e notify.Entry) []string {
		mailed := "-"
		if e.MailedAt != 0 {
			mailed = e.MailedAt.String()
		}
		return []string{e.CreatedAt.String(), e.PrincipalID, mailed, e.Title, e.ID}
	})
}

type bellReadCmd struct {
	ID   string `arg:"" optional:"" help:"The entry, ntc_...; all entries by default."`
	Org  string `name:"org" required:"" placeholder:"ORG" help:"The organization, org_..."`
	User string `name:"user" required:"" placeholder:"USR" help:"The user, usr_..."`
	command.JSON
}

// Run marks notices as read.
func (c *bellReadCmd) Run(ctx context.Context, g *command.Globals) error {
	in := notify.ReadInput{Organization: c.Org, Principal: c.User, Entry: c.ID}
	out, err := command.Call(ctx, g, notify.ReadBell, in)
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(out)
	}
	_, err = fmt.Fprintf(g.Out, "%d entries were marked as read.\n", out.Read)
	return err
}
