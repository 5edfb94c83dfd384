package main

import (
	"context"

	"kartei/access"
	"kartei/notify"
)

type bellCmd struct {
	Org   string `name:"org" required:"" placeholder:"ORG" help:"The organization, org_..."`
	User  string `name:"user" placeholder:"USR" help:"Only entries of this user, usr_..."`
	After string `name:"after" placeholder:"ID" help:"Only entries older than this one."`
	Limit int    `name:"limit" default:"100" placeholder:"N" help:"At most so many entries, up to 1000."`
	JSON
}

// Run prints bell entries, the newest first.
func (c *bellCmd) Run(ctx context.Context, g *Globals) error {
	var page access.List[notify.Entry]
	in := notify.BellInput{Organization: c.Org, Principal: c.User, After: c.After, Limit: c.Limit}
	if err := g.act(ctx, "bell.list", in, &page); err != nil {
		return err
	}
	return printList(g, c.JSON, page, []string{"TIME", "USER", "MAILED", "TITLE", "ID"}, func(e notify.Entry) []string {
		mailed := "-"
		if e.MailedAt != 0 {
			mailed = e.MailedAt.String()
		}
		return []string{e.CreatedAt.String(), e.PrincipalID, mailed, e.Title, e.ID}
	})
}
