package main

import (
	"context"
	"strconv"

	"kartei/integration/requestlog"
)

type versionsCmd struct {
	Org     string `name:"org" placeholder:"ORG" help:"Only keys of this organization, org_..."`
	Version string `name:"api-version" placeholder:"YYYY-MM-DD" help:"Only keys that use this version."`
	JSON
}

// Help returns the text below the command's summary.
func (*versionsCmd) Help() string {
	return `Counts the calls in the request log, which keeps 30 days. A key has a line for each version that it
used: its own, and others that calls selected with Svc-Version.`
}

// Run prints a line for each key and version.
func (c *versionsCmd) Run(ctx context.Context, g *Globals) error {
	out, err := act(ctx, g, requestlog.ListVersions, requestlog.VersionsInput{Organization: c.Org, Version: c.Version})
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.print(out)
	}
	rows := make([][]string, len(out.Data))
	for i, u := range out.Data {
		rows[i] = []string{
			u.Version, u.KidShort, u.KeyID, u.OrganizationID, strconv.FormatInt(u.Calls, 10),
			minute(u.LastUsedAt),
		}
	}
	return table(g, []string{"VERSION", "KEY", "KEY ID", "ORGANIZATION", "CALLS", "LAST USED"}, rows)
}
