package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"kartei/db"
	"kartei/instance"
)

type backupCmd struct {
	File string `arg:"" placeholder:"FILE" help:"Where the copy goes; it must not exist yet."`
	JSON
}

// Help says what the command does beyond its one line.
func (*backupCmd) Help() string {
	return `The copy is consistent and checked, and calls go on meanwhile. The master key is not in
it: keep a copy of that file in another place. On PostgreSQL pg_dump must be installed.`
}

// Run copies the data base.
func (c *backupCmd) Run(ctx context.Context, g *Globals) error {
	file, err := filepath.Abs(c.File)
	if err != nil {
		return err
	}
	// A database that is copied before an upgrade stays as it is.
	acts, done, err := g.connect(ctx, instance.OpenUnmigrated)
	if err != nil {
		return err
	}
	defer done()
	var made instance.BackupOutput
	if err := acts.Call(ctx, "backup", instance.BackupInput{File: file}, &made); err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.print(made)
	}
	fmt.Fprintf(g.Out, "The copy is in %s (%d bytes). The master key is not in it.\n", made.File, made.Bytes)
	return nil
}

type restoreCmd struct {
	File  string `arg:"" placeholder:"FILE" help:"A file that backup wrote."`
	Force bool   `name:"force" help:"Replace a database that exists; on SQLite the old one is put aside."`
	JSON
}

// Help says what the command does beyond its one line.
func (*restoreCmd) Help() string {
	return `No server may be running on the data. The file is checked before anything is touched.
On PostgreSQL pg_restore must be installed and the database must exist.`
}

// Run makes the data base from a copy.
func (c *restoreCmd) Run(ctx context.Context, g *Globals) error {
	if err := makeFolder(&g.Store); err != nil {
		return err
	}
	aside, err := db.Restore(ctx, c.File, g.Database(), c.Force)
	if errors.Is(err, db.ErrExists) {
		return fmt.Errorf("%w; --force replaces it", err)
	}
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.print(map[string]string{"from": c.File, "aside": aside})
	}
	fmt.Fprintf(g.Out, "The database was restored from %s.\n", c.File)
	if aside != "" {
		fmt.Fprintf(g.Out, "The one before it is in %s.\n", aside)
	}
	return nil
}
