package people

import (
	"context"
	"fmt"
	"strings"

	"kartei/cmd/kartei/command"
	"kartei/people/audit"
	"kartei/people/auditlog"
)

// Audit is the command that reads the audit log.
type Audit struct {
	Org    string         `name:"org" placeholder:"ORG" help:"Only acts in this organization, org_..."`
	Who    string         `name:"who" placeholder:"ID|operator" help:"Only acts of this user or service account, or of the operator."`
	Word   string         `name:"word" placeholder:"WORD" help:"Only acts of this kind, for example key.create, or key for all acts on keys."`
	Target string         `name:"target" placeholder:"ID" help:"Only acts on the object with this id, for example key_..."`
	Since  command.Moment `name:"since" placeholder:"TIME" help:"Only acts from this time on: 2026-11-01T09:00:00Z, or 24h for the last 24 hours."`
	Until  command.Moment `name:"until" placeholder:"TIME" help:"Only acts before this time."`
	Before string         `name:"before" placeholder:"ID" help:"Only lines older than this one, aud_..."`
	Limit  int            `name:"limit" default:"100" placeholder:"N" help:"Maximum number of lines, up to 1000."`
	command.JSON
}

// Help returns the help text below the summary.
func (*Audit) Help() string {
	return `There is one line for each administrative act, kept for 400 days. It names people and keys by their
ids. Values before and after are shown unless they are personal data or secret.`
}

// Run prints lines of the audit log, the newest first.
func (c *Audit) Run(ctx context.Context, g *command.Globals) error {
	if c.Limit < 1 { // the operation treats 0 as a missing value
		return command.Usagef("--limit: must be 1 to 1000")
	}
	page, err := command.Call(ctx, g, auditlog.List, auditlog.Input{
		Organization: c.Org, Who: c.Who, Word: c.Word, Target: c.Target,
		Since: c.Since.Micros, Until: c.Until.Micros, Before: c.Before, Limit: c.Limit,
	})
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(page)
	}
	rows := make([][]string, len(page.Data))
	for i, l := range page.Data {
		who := l.PrincipalID
		if who == "" {
			who = l.CredentialKind
		}
		rows[i] = []string{command.Minute(l.Time), who, l.Door, l.Address, l.Word, l.Target, l.ID, changes(l.Changes)}
	}
	if err := command.PrintTable(g, []string{"TIME", "WHO", "DOOR", "ADDRESS", "ACT", "TARGET", "ID", "CHANGES"},
		rows); err != nil || !page.HasMore {
		return err
	}
	_, err = fmt.Fprintf(g.Err, "There are older lines: --before %s\n", page.Data[len(page.Data)-1].ID)
	return err
}

// changes formats changes for a table: the old and the new value, or only the new value if there
// was no old one.
func changes(list []audit.Change) string {
	words := make([]string, len(list))
	for i, c := range list {
		words[i] = c.Member
		switch was, is := shown(c.From), shown(c.To); {
		case c.From == nil && c.To == nil: // the log does not contain the values
		case was == "-": // no old value
			words[i] += ": " + is
		default:
			words[i] += ": " + was + " -> " + is
		}
	}
	return strings.Join(words, "; ")
}

// shown formats a value. A missing value becomes a dash.
func shown(v any) string {
	if v == nil || v == "" {
		return "-"
	}
	return fmt.Sprint(v)
}
