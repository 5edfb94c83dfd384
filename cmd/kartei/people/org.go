// Package people owns the commands for organizations, their people and the audit log.
package people

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"kartei/access"
	"kartei/api/op"
	"kartei/cmd/kartei/command"
	"kartei/cmd/kartei/transfer"
	"kartei/door/admin"
	"kartei/instance/erasure"
	"kartei/integration/oauth"
	"kartei/kit/clock"
	"kartei/people/organization"
)

// Org has the commands for organizations.
type Org struct {
	Create orgCreateCmd       `cmd:"" help:"Create an organization and its sandbox."`
	List   orgListCmd         `cmd:"" help:"List organizations and their sandboxes."`
	Show   orgShowCmd         `cmd:"" help:"Show one organization."`
	Set    orgSetCmd          `cmd:"" help:"Change an organization: its name, its state, and whether its API is open."`
	Export transfer.OrgExport `cmd:"" help:"Write everything of an organization into a ZIP file."`
	Erase  orgEraseCmd        `cmd:"" help:"Erase an organization in the state deleting at once, with its sandbox."`
}

type orgCreateCmd struct {
	Name    string       `arg:"" help:"Name to show."`
	Module  string       `name:"module" placeholder:"on|off" help:"Module publicApi; off by default."`
	Secrecy string       `name:"secrecy" placeholder:"declared|undeclared" help:"Whether the organization has declared if professional secrecy applies; undeclared by default."`
	Level   access.Level `name:"level" placeholder:"off|read|on" help:"The organization's own switch for its API; off by default."`
	Country string       `name:"country" placeholder:"CODE" help:"The country of the office, as AT; DE by default."`
	command.JSON
}

// Run creates an organization and prints it.
func (c *orgCreateCmd) Run(ctx context.Context, g *command.Globals) error {
	in := organization.New{Name: c.Name, Module: c.Module, Secrecy: c.Secrecy, Level: c.Level, Country: c.Country}
	o, err := command.Call(ctx, g, organization.Create, in)
	if err != nil {
		return err
	}
	if err := command.PrintOne(g, c.JSON, o, orgHeader, orgRow); err != nil || c.JSON.JSON {
		return err
	}
	if missing := closedBy(o); missing != "" {
		fmt.Fprintf(g.Err, "The API is off for this organization; people can work in the browser. To open it for keys: kartei org set %s%s\n", o.ID, missing)
	}
	return nil
}

// closedBy returns the flags that would open the API of an organization, each with a space before
// it. It returns an empty string if the API is open.
func closedBy(o access.OrganizationInfo) (flags string) {
	if o.Module != "on" {
		flags += " --module on"
	}
	if o.Secrecy != "declared" {
		flags += " --secrecy declared"
	}
	if o.Level == access.Off {
		flags += " --level on"
	}
	return flags
}

type orgListCmd struct {
	command.PageFlags
	command.JSON
}

// Run lists organizations.
func (c *orgListCmd) Run(ctx context.Context, g *command.Globals) error {
	page, err := command.Call(ctx, g, organization.List, c.Page(""))
	if err != nil {
		return err
	}
	return command.PrintList(g, c.JSON, page, orgHeader, orgRow)
}

type orgShowCmd struct {
	ID string `arg:"" help:"The organization, org_..."`
	command.JSON
}

// Run prints one organization.
func (c *orgShowCmd) Run(ctx context.Context, g *command.Globals) error {
	o, err := command.Call(ctx, g, organization.Get, op.ByID{ID: c.ID})
	if err != nil {
		return err
	}
	return command.PrintOne(g, c.JSON, o.OrganizationInfo, orgHeader, orgRow)
}

type orgSetCmd struct {
	ID      string               `arg:"" help:"The organization, org_..."`
	Name    *string              `name:"name" placeholder:"NAME" help:"Name to show."`
	Module  *string              `name:"module" placeholder:"on|off" help:"Module publicApi. While it is off, calls get 403 API_MODULE_DISABLED."`
	Level   *access.Level        `name:"level" placeholder:"off|read|on" help:"The organization's own switch for its API. With off, calls get 401; with read, writes get 403."`
	Secrecy *string              `name:"secrecy" placeholder:"declared|undeclared" help:"Whether the organization has declared if professional secrecy applies; the API needs it."`
	Country *string              `name:"country" placeholder:"CODE" help:"The country of the office, as AT. Letters and telephone numbers within it do not name it."`
	Factor  *string              `name:"second-factor" placeholder:"required|optional" help:"Whether people need a second factor to sign in. Required, it is asked for after seven days."`
	Pass    *string              `name:"password-sign-in" placeholder:"on|off" help:"Whether passwords sign in. Off needs an OpenID provider, and --password-admin."`
	Admin   *string              `name:"password-admin" placeholder:"USR" help:"An admin who may sign in by password in any case, for emergencies; empty for nobody."`
	Apps    *access.Applications `name:"applications" placeholder:"off|known|all" help:"Which applications people may connect: none, those that an admin approved, or all. With off, connected ones get 401."`
	State   *access.State        `name:"state" placeholder:"open|closed|deleting" help:"The state of the organization. Only an open one is served; one in the state deleting is erased after --organization-retention."`
	command.JSON
}

// Run changes an organization.
func (c *orgSetCmd) Run(ctx context.Context, g *command.Globals) error {
	if c.Name == nil && c.Module == nil && c.Level == nil && c.Secrecy == nil && c.Country == nil && c.Factor == nil &&
		c.Pass == nil && c.Admin == nil && c.Apps == nil && c.State == nil {
		return command.NothingToSet("--name, --module, --level, --secrecy, --country, --second-factor, --password-sign-in, --password-admin, --applications or --state")
	}
	o, err := command.Call(ctx, g, oauth.SetOrganization, organization.Change{
		ID: c.ID, Name: c.Name, Module: c.Module, Level: c.Level, Secrecy: c.Secrecy, Country: c.Country,
		SecondFactor: c.Factor, Passwords: c.Pass, PasswordAdmin: c.Admin, Applications: c.Apps, State: c.State,
	})
	if err != nil {
		return err
	}
	return command.PrintOne(g, c.JSON, o, orgHeader, orgRow)
}

type orgEraseCmd struct {
	ID               string `arg:"" help:"The organization, org_..."`
	Yes              bool   `name:"yes" help:"Do not ask for confirmation."`
	command.BlobKeys `embed:""`
	command.JSON
}

// Help returns the help text below the summary.
func (*orgEraseCmd) Help() string {
	return `Erases everything of the organization and its sandbox: records, files, people, keys, logs. This cannot
be undone; only earlier backups still hold the data. The organization must be in the state deleting
(kartei org set ORG --state deleting). In that state it is erased by itself after
--organization-retention. The command asks for the organization's id unless --yes is given. It may
be interrupted: the next run erases the rest, or the server within ten minutes.`
}

// Run erases an organization in steps, and prints the progress.
func (c *orgEraseCmd) Run(ctx context.Context, g *command.Globals) error {
	if !c.Yes {
		if err := confirm(g, "organization", c.ID,
			"all records, files, people, keys and logs of "+c.ID+" and its sandbox"); err != nil {
			return err
		}
	}
	caller, done, err := g.ConnectWith(ctx, c.OpenDoor)
	if err != nil {
		return err
	}
	defer done()
	if _, err := admin.Call(ctx, caller, organization.Erase, op.ByID{ID: c.ID}); err != nil {
		return g.NameCommand(err)
	}
	var sum erasure.Output
	for told := clock.Micros(0); !sum.Done; {
		var out erasure.Output
		if err := caller.Call(ctx, "org.erase", op.ByID{ID: c.ID}, &out); err != nil {
			return g.NameCommand(err)
		}
		sum = erasure.Output{Rows: sum.Rows + out.Rows, Files: sum.Files + out.Files, Done: out.Done}
		if !c.JSON.JSON && (out.HeldUntil == 0 || out.Rows+out.Files > 0) {
			fmt.Fprintf(g.Err, "%d rows and %d files erased\n", sum.Rows, sum.Files)
		}
		if out.HeldUntil == 0 {
			continue
		}
		if out.HeldUntil > told {
			told = out.HeldUntil
			fmt.Fprintf(g.Err, "All rows are erased. A backup that runs, or ended less than ten minutes ago, holds the files until %s or longer; they are erased then. You may interrupt this command: a server then erases the files.\n",
				told.Time().Format(time.TimeOnly+" UTC"))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("org erase: the files are not erased yet: %w", ctx.Err())
		case <-time.After(heldPause):
		}
	}
	if c.JSON.JSON {
		return g.PrintJSON(sum)
	}
	_, err = fmt.Fprintf(g.Out, "%s is erased.\n", c.ID)
	return err
}

// confirm asks the user to type the id of the object to erase. It fails if the input is different.
func confirm(g *command.Globals, what, id, erased string) error {
	fmt.Fprintf(g.Err, "This erases %s, for good.\nType the %s's id to go on: ", erased, what)
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // at the end of the input the line is empty
	if strings.TrimSpace(line) != id {
		return command.Usagef("nothing was erased, because that is not the %s's id; in scripts, use --yes", what)
	}
	return nil
}

// heldPause is the pause before another attempt to erase files that a backup is copying.
const heldPause = 5 * time.Second

var orgHeader = []string{
	"ID", "NAME", "MODULE", "SECRECY", "LEVEL", "STATE", "COUNTRY", "SECOND FACTOR", "PASSWORDS",
	"APPLICATIONS", "ERASED ON", "SANDBOX",
}

func orgRow(o access.OrganizationInfo) []string {
	sandbox := o.SandboxID
	if o.SandboxOf != "" {
		sandbox = "of " + o.SandboxOf
	}
	erased := ""
	if o.EraseAt != nil {
		erased = o.EraseAt.Time().Format("2006-01-02 15:04 UTC")
	}
	return []string{
		o.ID, o.Name, o.Module, o.Secrecy, string(o.Level), string(o.State), o.Country, o.SecondFactor,
		o.Passwords, string(o.Applications), erased, sandbox,
	}
}
