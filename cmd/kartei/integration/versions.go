package integration

import (
	"context"
	"strconv"

	"kartei/cmd/kartei/command"
	"kartei/integration/requestlog"
)

// Versions is the command that lists the API versions in use.
type Versions struct {
	Org     string `name:"org" placeholder:"ORG" help:"Only keys of this organization, org_..."`
	Version string `name:"api-version" placeholder:"YYYY-MM-DD" help:"Only keys that use this version."`
	command.JSON
}

// Help returns the help text below the summary.
func (*Versions) Help() string {
	return `Counts the calls in the request log, which keeps 30 days. A key has a line for each version that it
used: its own, and others that calls selected with Svc-Version.`
}

// Run prints a row for each key and version.
func (c *Versions) Run(ctx context.Context, g *command.Globals) error {
	in := requestlog.VersionsInput{Organization: c.Org, Version: c.Version}
	out, err := command.Call(ctx, g, requestlog.ListVersions, in)
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(out)
	}
	rows := make([][]string, len(out.Data))
	for i, u := range out.Data {
		rows[i] = []string{
			u.Version, u.KidShort, u.KeyID, u.OrganizationID, strconv.FormatInt(u.Calls, 10),
			command.Minute(u.LastUsedAt),
		}
	}
	return command.PrintTable(g, []string{"VERSION", "KEY", "KEY ID", "ORGANIZATION", "CALLS", "LAST USED"}, rows)
}
