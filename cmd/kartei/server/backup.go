package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kartei/cmd/kartei/command"
	"kartei/door/admin"
	"kartei/instance"
	"kartei/instance/config"
	"kartei/people/audit"
	"kartei/store/blob"
	"kartei/store/db/move"
)

// Backup is the command that copies the database and the files of documents.
type Backup struct {
	File             config.File `arg:"" placeholder:"FILE" help:"File for the copy of the database; it must not exist yet."`
	Files            config.Dir  `name:"files" placeholder:"DIR" help:"Folder for the files of documents; FILE.files by default. A folder of an earlier backup gets only new files."`
	WithoutFiles     bool        `name:"without-files" help:"Copy the database only."`
	encryptFor       `embed:""`
	command.BlobKeys `embed:""`
	command.JSON
}

// Help returns the help text below the summary.
func (*Backup) Help() string {
	return `The copy is consistent and checked, and calls go on meanwhile. The files of all documents are
copied with the database, encrypted as they are; nothing is removed from storage meanwhile.
The master key is not in the copy: keep that file in another place. On PostgreSQL pg_dump must
be installed. FILE is on the machine of the server; to keep a copy in a bucket or on another machine,
send the file there with another program.
With --recipient the copy of the database is encrypted. Only the identity of a recipient opens
it (age-encryption.org; age-keygen makes both).`
}

// encryptFor are the flags for the recipients of an encrypted copy.
type encryptFor struct {
	Recipients []string      `name:"recipient" sep:"none" placeholder:"KEY" help:"Encrypt the copy of the database for a public key: age1... or ssh-ed25519 ...; may be repeated."`
	Lists      []config.File `name:"recipients-file" sep:"none" placeholder:"FILE" help:"The same for the public keys in a file, one on each line; may be repeated."`
}

// list returns all recipients.
func (e *encryptFor) list() ([]string, error) {
	list := slices.Clone(e.Recipients)
	for _, file := range e.Lists {
		text, err := os.ReadFile(string(file))
		if err != nil {
			return nil, err
		}
		list = append(list, strings.Split(string(text), "\n")...)
	}
	found, err := move.ParseRecipients(list)
	if err != nil {
		return nil, command.Usagef("%w", err)
	}
	if len(found) == 0 && len(e.Recipients)+len(e.Lists) > 0 {
		return nil, command.Usagef("--recipients-file contains no recipient, so nothing would be encrypted")
	}
	return list, nil
}

// Run copies the database.
func (c *Backup) Run(ctx context.Context, g *command.Globals) error {
	file, err := filepath.Abs(string(c.File))
	if err != nil {
		return err
	}
	recipients, err := c.list()
	if err != nil {
		return err
	}
	// The backup does not migrate the database, so that a backup before an upgrade is possible.
	in, open := instance.BackupInput{File: file, Recipients: recipients}, instance.OpenUnmigrated
	if !c.WithoutFiles {
		if in.Files, err = besides(file, c.Files); err != nil {
			return err
		}
		open = func(ctx context.Context, store *config.Store) (*admin.Door, func(), error) {
			return instance.OpenBackup(ctx, store, c.ServerConfig())
		}
	}
	acts, done, err := g.ConnectWith(ctx, open)
	if err != nil {
		return err
	}
	defer done()
	var made instance.BackupOutput
	if err := acts.Call(ctx, "backup", in, &made); err != nil {
		return err
	}
	if made.Encrypted == 0 && len(recipients) > 0 {
		return errors.New("the copy was not encrypted, because the server that runs on the data is of an earlier release; delete " + made.File + ", upgrade the server and make the copy again")
	}
	if c.JSON.JSON {
		err = g.PrintJSON(made)
	} else {
		fmt.Fprintf(g.Out, "The copy is in %s (%d bytes). The master key is not in it.\n", made.File, made.Bytes)
		if made.Encrypted > 0 {
			fmt.Fprintf(g.Out, "It is encrypted for %d recipients.\n", made.Encrypted)
		}
		if made.Copied != nil {
			fmt.Fprintf(g.Out, "The files of documents are in %s: %d were copied (%d bytes), %d were there already.\n",
				made.Files, made.Copied.Copied, made.Copied.Bytes, made.Copied.Same)
		}
	}
	return errors.Join(err, unreadable(g, made.Copied))
}

// besides returns the absolute path of the folder for a backup's files: named, or the default next
// to file.
func besides(file string, named config.Dir) (string, error) {
	if named == "" {
		return filepath.Abs(file + ".files")
	}
	return filepath.Abs(string(named))
}

// unreadable prints and returns errors about files that are missing in a copy.
func unreadable(g *command.Globals, c *blob.CopyCounts) error {
	if c == nil || c.Unreadable+c.Missing == 0 {
		return nil
	}
	for _, reason := range c.Errors {
		fmt.Fprintln(g.Err, reason)
	}
	return fmt.Errorf("%d files could not be read and are not in the copy, and the files of %d documents are missing; kartei blobs check says what to do", c.Unreadable, c.Missing)
}

// Restore is the command that restores a copy.
type Restore struct {
	File             config.File `arg:"" placeholder:"FILE" help:"A file that backup wrote."`
	Files            config.Dir  `name:"files" placeholder:"DIR" help:"The folder of files that backup wrote; FILE.files by default."`
	WithoutFiles     bool        `name:"without-files" help:"Restore the database only."`
	command.BlobKeys `embed:""`
	Identities       []config.File `name:"identity" sep:"none" placeholder:"FILE" help:"File with an identity that opens an encrypted copy, as age-keygen writes it, or a private key of SSH; may be repeated."`
	Force            bool          `name:"force" help:"Replace a database that exists; on SQLite the old one is renamed."`
	command.JSON
}

// Help returns the help text below the summary.
func (*Restore) Help() string {
	return `No server may run on the data. The file is checked before anything changes. Existing files of
documents stay; they need the master key of the backup. kartei blobs check says afterwards whether
every document has its file. On PostgreSQL pg_restore and psql must be installed and the database
must exist.
Webhooks that were pending in the copy are delivered at the first start. To look at a copy only,
start with --webhook-deny-nets 0.0.0.0/0,::/0.`
}

// WritesDocuments implements command.DocumentWriter.
func (*Restore) WritesDocuments() {}

// Run restores the database from a copy.
func (c *Restore) Run(ctx context.Context, g *command.Globals) error {
	identities, err := c.identities()
	if err != nil {
		return err
	}
	if err := move.CheckCopy(string(c.File), identities); err != nil { // checked before files are restored
		return err
	}
	if err := makeFolder(&g.Store); err != nil {
		return err
	}
	copied, err := c.files(ctx, g)
	if err != nil {
		return err
	}
	before, unknown := instance.Acts(ctx, &g.Store)
	aside, err := instance.Restore(ctx, &g.Store, string(c.File), c.Force, identities)
	if errors.Is(err, move.ErrExists) {
		return fmt.Errorf("%w; use --force to replace it", err)
	}
	if err != nil {
		return err
	}
	if err := instance.Restored(ctx, &g.Store, string(c.File)); err != nil {
		return c.restoredBut(aside, err)
	}
	lost, err := instance.Lost(ctx, &g.Store, before)
	if err != nil {
		return c.restoredBut(aside, err)
	}
	if err := instance.RestoredKey(ctx, &g.Store, c.ServerConfig()); err != nil {
		fmt.Fprintf(g.Err, "No server starts on this database yet: %v. Bring the key of the backup's server from its own copy, or name its file with --master-key-file. If it is lost, kartei master-key forget --help says what is lost with it.\n", err)
	}
	if c.JSON.JSON {
		return errors.Join(g.PrintJSON(map[string]any{
			"from": c.File, "aside": aside, "filesCopied": copied, "lostActs": lost,
		}), unreadable(g, copied))
	}
	fmt.Fprintf(g.Out, "The database was restored from %s. All sessions have ended: people sign in again. Connections of applications, links in mails, open invitations and recovery codes have ended, too.\n", c.File)
	lostActs(g, lost, unknown)
	fmt.Fprintln(g.Out, "Webhooks that were pending in it are delivered at the first start. To look at a copy only, start with --webhook-deny-nets 0.0.0.0/0,::/0.")
	if aside != "" {
		fmt.Fprintf(g.Out, "The previous database is in %s.\n", aside)
	}
	switch {
	case copied != nil:
		fmt.Fprintf(g.Out, "%d files of documents were copied (%d bytes), %d were there already.\n", copied.Copied,
			copied.Bytes, copied.Same)
	case !c.WithoutFiles:
		fmt.Fprintf(g.Out, "No files of documents were restored: there is no folder %s.files; --files names another one.\n", c.File)
	}
	return unreadable(g, copied)
}

// maxLost is the maximum number of changes that are printed.
const maxLost = 50

// lostActs prints the changes of keys and rights that the restored database does not have. unknown
// is the error with which the previous database could not be read, or nil.
func lostActs(g *command.Globals, lost []audit.Line, unknown error) {
	switch {
	case unknown != nil:
		fmt.Fprintln(g.Out, "Which keys and rights were changed after the copy was made is not known here, since there was no database before that could be read. Look through them: kartei key list, kartei user list.")
		return
	case len(lost) == 0:
		return
	}
	fmt.Fprintln(g.Out, "These keys and rights were changed after the copy was made, and are as before now. Make the changes again where they are still wanted:")
	for _, l := range lost[:min(len(lost), maxLost)] {
		var changes []string
		for _, change := range l.Changes {
			changes = append(changes, fmt.Sprintf("%s: %v to %v", change.Member, change.From, change.To))
		}
		fmt.Fprintf(g.Out, "  %s  %s  %s  %s\n", command.Minute(l.Time), l.Word, l.Target, strings.Join(changes, ", "))
	}
	if more := len(lost) - maxLost; more > 0 {
		fmt.Fprintf(g.Out, "  and %d more; --json shows all\n", more)
	}
}

// restoredBut returns the error of a restore that succeeded, but whose database could not be opened
// afterwards. The disk may be full, for example.
func (c *Restore) restoredBut(aside string, err error) error {
	previous := ""
	if aside != "" {
		previous = "; the previous database is in " + aside
	}
	return fmt.Errorf("the database was restored from %s, and all sessions have ended%s. But the restore is not in its audit log, and which keys and rights were changed after the copy was made is not known: %w. "+
		"Once the cause is gone, the next server can start", c.File, previous, err)
}

func (c *Restore) identities() (move.Identities, error) {
	paths := make([]string, len(c.Identities))
	for i, path := range c.Identities {
		paths[i] = string(path)
	}
	return move.ReadIdentities(paths...)
}

// files restores the files of a backup. That is done before the database, so that no document lacks
// its file. files does nothing if a database exists and must not be replaced.
func (c *Restore) files(ctx context.Context, g *command.Globals) (*blob.CopyCounts, error) {
	dir, err := besides(string(c.File), c.Files)
	if err != nil || c.WithoutFiles {
		return nil, err
	}
	switch _, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist) && c.Files == "":
		// the backup has no files: --without-files, or an older release
		return nil, nil
	case err != nil:
		return nil, err
	}
	if strings.HasPrefix(g.Database(), "sqlite:") && instance.CheckData(&g.Store) == nil && !c.Force {
		return nil, nil // the restore of the database returns the error
	}
	copied, err := instance.RestoreFiles(ctx, &g.Store, c.ServerConfig(), dir)
	return &copied, err
}
