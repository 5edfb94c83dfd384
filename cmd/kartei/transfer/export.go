package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"kartei/api/op"
	"kartei/cmd/kartei/command"
	"kartei/door/admin"
	"kartei/door/admin/socket"
	"kartei/kit/archive"
	"kartei/kit/i18n"
	"kartei/transfer/exports"
)

// exportFlags are the flags of commands that write an export.
type exportFlags struct {
	Output           string        `name:"output" short:"o" required:"" type:"path" placeholder:"FILE" help:"The ZIP file to write, which must not exist; - is standard output."`
	Language         i18n.Language `name:"language" default:"de" placeholder:"de|en" help:"Language of the words in the file."`
	command.BlobKeys `embed:""`
}

// OrgExport is the command that exports an organization.
type OrgExport struct {
	ID string `arg:"" help:"The organization, org_...; that of a sandbox exports its data."`
	exportFlags
}

// Help returns the help text below the summary.
func (*OrgExport) Help() string {
	return `The file has the records of all families with their histories and files, the people, keys without
secrets, the audit log, and the calls of 30 days: README.txt in it says more. Nothing is stored on the
server. Work goes on meanwhile: what is there all the time is in the file once. The audit log has a line.
The file is not encrypted.`
}

// Run exports an organization.
func (c *OrgExport) Run(ctx context.Context, g *command.Globals) error {
	return c.write(ctx, g, exports.BeginOrganization, exports.Input{ID: c.ID, Language: c.Language})
}

// UserExport is the command that exports the data about a user or a service account.
type UserExport struct {
	ID string `arg:"" help:"The user or service account, usr_... or svc_..."`
	exportFlags
}

// Help returns the help text below the summary.
func (*UserExport) Help() string {
	return `The file has what is kept about a person of an office: the profile, the account, sessions, keys without
secrets, bell entries, lines of the audit log, and calls. The records that they own are not part of it. The
audit log has a line. The file is not encrypted.`
}

// Run exports the data about a user.
func (c *UserExport) Run(ctx context.Context, g *command.Globals) error {
	return c.write(ctx, g, exports.BeginPrincipal, exports.Input{ID: c.ID, Language: c.Language})
}

// Contact has the commands that write contacts into files.
type Contact struct {
	Export contactExportCmd `cmd:"" help:"Write everything about a contact into a ZIP file: for a request by article 15 GDPR."`
	Cards  contactCardsCmd  `cmd:"" help:"Write contacts or companies as vCards, version 4.0 or 3.0, for other address books."`
}

// Help returns the help text below the summary.
func (*Contact) Help() string {
	return `These commands write files. To list, read, create, change and delete contacts, use kartei api with a key:

  kartei api contacts.list -f q=Müller
  kartei api contacts.create -f lastName=Berg

kartei api --list shows all operations. People do the same in the browser.`
}

type contactExportCmd struct {
	ID  string `arg:"" help:"The contact, con_..."`
	Org string `name:"org" required:"" placeholder:"ORG" help:"The contact's organization, org_..."`
	exportFlags
}

// Help returns the help text below the summary.
func (*contactExportCmd) Help() string {
	return `The file has the contact with its history, its tasks, and its documents with their files, and a page for
people to read. Private records are part of it. The audit log has a line. The file is not encrypted.`
}

// Run exports the data about a contact.
func (c *contactExportCmd) Run(ctx context.Context, g *command.Globals) error {
	return c.write(ctx, g, exports.BeginContact, exports.Input{Organization: c.Org, ID: c.ID, Language: c.Language})
}

// write starts an export and writes its file. It removes an incomplete file.
func (c *exportFlags) write(
	ctx context.Context, g *command.Globals, o op.Operation[exports.Input, exports.BeginOutput], in exports.Input,
) (err error) {
	caller, done, err := g.ConnectWith(ctx, c.OpenDoor)
	if err != nil {
		return err
	}
	defer done()
	out := g.Out
	if c.Output != "-" {
		file, failed := os.OpenFile(c.Output, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if failed != nil {
			return failed
		}
		out = file
		defer func() { err = closeWhole(file, err) }()
	}
	begun, err := admin.Call(ctx, caller, o, in)
	if err != nil {
		return g.NameCommand(err)
	}
	if err := pack(ctx, caller, begun.Cursor, out); err != nil {
		return g.NameCommand(err)
	}
	if c.Output != "-" {
		fmt.Fprintf(g.Err, "%s is written. It is not encrypted.\n", filepath.Base(c.Output))
	}
	return nil
}

// closeWhole syncs and closes a file. It removes the file if err or one of these steps is an error.
func closeWhole(file *os.File, err error) error {
	if err == nil {
		err = errors.Join(file.Sync(), file.Close())
	} else {
		file.Close()
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}

// pack writes the parts of an export to a ZIP file.
func pack(ctx context.Context, caller socket.Caller, cursor string, out io.Writer) error {
	file := archive.NewWriter(out, time.Now())
	for cursor != "" {
		next, err := admin.Call(ctx, caller, exports.GetParts, exports.PartsInput{Cursor: cursor})
		if err != nil {
			return err
		}
		for _, p := range next.Parts {
			if err := file.Add(p); err != nil {
				return err
			}
		}
		cursor = next.Cursor
	}
	return file.Close()
}
