package server

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"kartei/cmd/kartei/command"
	"kartei/instance"
	"kartei/instance/files"
	"kartei/store/blob"
)

// Blobs has the commands for the files of documents.
type Blobs struct {
	Rotate rotateBlobsCmd `cmd:"" name:"rotate" help:"Seal all files, webhook secrets and stored answers under the master key in force."`
	Check  checkBlobsCmd  `cmd:"" name:"check" help:"Find missing and damaged files, and files without a document."`
	Forget forgetPlaceCmd `cmd:"" name:"forget-place" help:"Forget where the files are, so that a server with another folder or bucket can start."`
}

type rotateBlobsCmd struct {
	command.BlobKeys `embed:""`
	command.JSON
}

// WritesDocuments implements command.DocumentWriter.
func (*rotateBlobsCmd) WritesDocuments() {}

// Help returns the help text below the summary.
func (*rotateBlobsCmd) Help() string {
	return `Seals files, secrets of webhook endpoints and second factors, and stored answers under the master key in force, and
encrypts files that should be encrypted and are not. Calls go on meanwhile, and the command may be
interrupted and run again at any time. If it ends without an error, nothing needs the earlier master
keys any more.`
}

// Run encrypts all files with the present master key. The running server does it, or this process
// if no server runs.
func (c *rotateBlobsCmd) Run(ctx context.Context, g *command.Globals) error {
	acts, done, err := g.ConnectWith(ctx, c.OpenDoor)
	if err != nil {
		return err
	}
	defer done()
	var out instance.RotateOutput
	if err := acts.Call(ctx, "blobs.rotate", instance.Nothing{}, &out); err != nil {
		return err
	}
	if c.JSON.JSON {
		err = g.PrintJSON(out)
	} else {
		fmt.Fprintf(g.Out, "%[2]d of %[1]d files, the secrets of %[3]d webhook endpoints, %[5]d second factors, %[4]d stored answers, the keys of %[6]d imports and the copies of %[7]d merges were sealed under the master key in force.\n", out.Looked, out.Changed, out.Secrets, out.Answers, out.Factors, out.Imports, out.Merges)
		for _, reason := range out.Errors {
			fmt.Fprintln(g.Err, reason)
		}
	}
	if err != nil {
		return err
	}
	if out.Failed+out.Unreadable > 0 {
		return fmt.Errorf("%d files and %d secrets could not be sealed under the master key in force; keep the previous master keys", out.Failed, out.Unreadable)
	}
	return nil
}

type checkBlobsCmd struct {
	command.BlobKeys `embed:""`
	Quick            bool          `name:"quick" help:"Compare names, sizes and beginnings only, and do not read whole files."`
	Age              time.Duration `name:"age" default:"1h" placeholder:"TIME" help:"Minimum age at which a file without a document is reported."`
	Remove           bool          `name:"remove-orphans" help:"Remove files without a document."`
	command.JSON
}

// Help returns the help text below the summary.
func (*checkBlobsCmd) Help() string {
	return `Reads the file of every document and compares it with the database, and looks up every stored
file in the database. Calls go on meanwhile. Nothing is changed without --remove-orphans. The exit
status is 1 if there is something left to do.`
}

// advice maps findings to the next step.
var advice = map[blob.State]string{
	blob.Missing: "put the file back from a backup, or delete the document",
	blob.Damaged: "put the file back from a backup, or delete the document",
	blob.Locked:  "name the master key that it was sealed under with --previous-master-key-files, then run: kartei blobs rotate",
	blob.Orphan:  "no document needs it; --remove-orphans removes it",
	blob.Unread:  "the storage could not read it; run kartei blobs check again",
}

// Run compares the files with the database. The running server does it, or this process if no
// server runs.
func (c *checkBlobsCmd) Run(ctx context.Context, g *command.Globals) error {
	acts, done, err := g.ConnectWith(ctx, c.OpenDoor)
	if err != nil {
		return err
	}
	defer done()
	var out files.CheckOutput
	if err := acts.Call(ctx, "blobs.check",
		files.CheckInput{Quick: c.Quick, Remove: c.Remove, Age: int64(c.Age / time.Second)}, &out); err != nil {
		return err
	}
	if c.JSON.JSON {
		err = g.PrintJSON(out)
	} else {
		err = c.tell(g, &out)
	}
	if err != nil {
		return err
	}
	if out.Left > 0 {
		return fmt.Errorf("%d findings need attention; the list above says what to do", out.Left)
	}
	return nil
}

func (c *checkBlobsCmd) tell(g *command.Globals, out *files.CheckOutput) error {
	fmt.Fprintf(g.Out, "%d documents, %d stored files, %d bytes read, %d findings.\n", out.Wanted, out.Stored,
		out.Bytes, out.Found)
	if out.Found == 0 {
		return nil
	}
	w := tabwriter.NewWriter(g.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nFINDING\tFILE\tWHAT TO DO")
	for _, f := range out.Findings {
		what := advice[f.State]
		if f.Removed {
			what = "removed"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.State, f.Name, what)
		if f.Reason != "" {
			fmt.Fprintf(w, "\t%s\t\n", f.Reason)
		}
	}
	if more := out.Found - len(out.Findings); more > 0 {
		fmt.Fprintf(w, "and %d more\t\t\n", more)
	}
	return w.Flush()
}

type forgetPlaceCmd struct{ command.JSON }

// Help returns the help text below the summary.
func (*forgetPlaceCmd) Help() string {
	return `The database remembers the folder or bucket with the files of documents, and a server with another
one does not start. Use this if the files were moved without folder-id, a file in that folder.
Stop all servers first. The first one that starts sets the new location for all others.`
}

// Run removes the location of the files from the database.
func (c *forgetPlaceCmd) Run(ctx context.Context, g *command.Globals) error {
	if err := g.Process(ctx, "blobs.forget-place", instance.Nothing{}, nil); err != nil {
		return err
	}
	return command.PrintDone(g, c.JSON, "The next server to start sets the location of the files. All other servers must use the same location.")
}
