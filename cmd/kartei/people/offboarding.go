package people

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kartei/api/op"
	"kartei/cmd/kartei/command"
	"kartei/kit/id"
	"kartei/people/offboarding"
	"kartei/people/principal"
)

type userHoldingsCmd struct {
	ID string `arg:"" help:"The user or service account, usr_... or svc_..."`
	command.JSON
}

// Run prints the number of records, keys and sessions of a user.
func (c *userHoldingsCmd) Run(ctx context.Context, g *command.Globals) error {
	h, err := command.Call(ctx, g, offboarding.Holds, offboarding.HoldingsInput{ID: c.ID})
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(h)
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	rows := [][]string{
		{"keys", number(h.Keys)},
		{"sessions", number(h.Sessions)},
		{"applications", number(h.Applications)},
		{"open tasks", number(h.OpenTasks)},
	}
	for _, family := range slices.Sorted(maps.Keys(h.PrivateRecords)) {
		rows = append(rows, []string{"private " + family, number(h.PrivateRecords[family])})
	}
	for _, e := range h.Endpoints {
		rows = append(rows, []string{
			"webhook endpoint " + e.ID, fmt.Sprintf("%s, %s, %d waiting", e.URL, e.Status, e.Waiting),
		})
	}
	return command.PrintTable(g, []string{"WHAT", "HOW MANY"}, rows)
}

type userHandOverCmd struct {
	From    string `arg:"" help:"The user or service account that leaves, usr_... or svc_..."`
	To      string `name:"to" required:"" placeholder:"ID" help:"The user or service account of the same organization that takes over."`
	Private bool   `name:"private" help:"Hand over private records too. Whoever takes over sees them then."`
	Disable bool   `name:"disable" help:"Also refuse all keys and sign-ins of the one who leaves, from now on."`
	command.JSON
}

// Help returns the help text below the summary.
func (*userHandOverCmd) Help() string {
	return `Contacts, companies, tasks and documents change their owner, and tasks their assignee, in the
organization and in its sandbox. Private records are counted and stay unless --private is given.
Webhook endpoints belong to the one who made them; they are listed and stay.

The work goes on in jobs while a server runs: kartei user hand-over-status FROM shows how far it is.`
}

// Run starts a hand-over.
func (c *userHandOverCmd) Run(ctx context.Context, g *command.Globals) error {
	out, running, err := command.CallWhere(ctx, g, offboarding.HandOver, offboarding.HandOverInput{
		ID: c.From, To: c.To, Private: c.Private, Disable: c.Disable,
	})
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(out)
	}
	when := "now"
	if !running {
		when = "as soon as a server runs"
	}
	fmt.Fprintf(g.Out, "The records of %s go to %s %s (%s, jobs of the kind %s).\n", out.From, out.To, when, out.ID,
		out.Job)
	for _, family := range slices.Sorted(maps.Keys(out.PrivateRecords)) {
		if n := out.PrivateRecords[family]; n > 0 {
			stay := "stay; give --private to hand them over too"
			if c.Private {
				stay = "are handed over too"
			}
			fmt.Fprintf(g.Out, "Private %s: %d %s.\n", family, n, stay)
		}
	}
	if c.Disable && strings.HasPrefix(c.From, id.User) {
		p, err := command.Call(ctx, g, principal.GetUser, op.ByID{ID: c.From})
		if err != nil {
			return err
		}
		if err := warnWithoutAdmin(ctx, g, p); err != nil {
			return err
		}
	}
	if len(out.Endpoints) == 0 {
		return nil
	}
	fmt.Fprintf(g.Out, "These webhook endpoints stay with %s:\n", out.From)
	rows := make([][]string, len(out.Endpoints))
	for i, e := range out.Endpoints {
		rows[i] = []string{e.ID, e.Name, string(e.Status), e.OrganizationID}
	}
	return command.PrintTable(g, []string{"ID", "NAME", "STATUS", "ORGANIZATION"}, rows)
}

type userHandOverStatusCmd struct {
	From string `arg:"" help:"The user or service account that leaves, usr_... or svc_..."`
	command.JSON
}

// Run prints the progress of hand-overs, the newest first.
func (c *userHandOverStatusCmd) Run(ctx context.Context, g *command.Globals) error {
	page, err := command.Call(ctx, g, offboarding.Status, op.ByID{ID: c.From})
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(page)
	}
	var rows [][]string
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, h := range page.Data {
		for _, p := range h.Parts {
			finished := "under way"
			if p.FinishedAt != 0 {
				finished = p.FinishedAt.String()
			}
			if len(p.Families) == 0 {
				rows = append(rows, []string{h.ID, h.To, p.OrganizationID, finished, "", "", "", "", ""})
			}
			for _, family := range slices.Sorted(maps.Keys(p.Families)) {
				t := p.Families[family]
				rows = append(rows, []string{
					h.ID, h.To, p.OrganizationID, finished, family, number(t.Handed.Owned), number(t.Handed.Private),
					number(t.Handed.Assigned), number(t.Stayed),
				})
			}
		}
	}
	return command.PrintTable(g, []string{
		"HAND-OVER", "TO", "ORGANIZATION", "FINISHED", "FAMILY", "OWNED", "PRIVATE", "ASSIGNED", "STAYED",
	}, rows)
}

type userEraseCmd struct {
	ID  string `arg:"" help:"The user, usr_..."`
	Yes bool   `name:"yes" help:"Do not ask for confirmation."`
	command.JSON
}

// Help returns the help text below the summary.
func (*userEraseCmd) Help() string {
	return `Name, email address, bell entries and webhook endpoints are deleted, and keys are revoked. The id
stays in records and logs. This cannot be undone; only earlier backups still hold the data. It is
refused while records belong to the user or tasks are assigned to them: see kartei user hand-over.
The command asks for the user's id unless --yes is given.`
}

// Run erases a user.
func (c *userEraseCmd) Run(ctx context.Context, g *command.Globals) error {
	if !c.Yes {
		if err := confirm(g, "user", c.ID, "name, address, keys and webhook endpoints of "+c.ID); err != nil {
			return err
		}
	}
	return showPrincipal(ctx, g, c.JSON, offboarding.Erase, op.ByID{ID: c.ID})
}
