package main

import (
	"context"
	"fmt"

	"kartei/admin"
	"kartei/config"
	"kartei/instance"
)

type blobsCmd struct {
	Rotate rotateBlobsCmd `cmd:"" name:"rotate" help:"Seal all files under the master key in force."`
}

type rotateBlobsCmd struct {
	MasterKeyFile          config.File       `name:"master-key-file" placeholder:"FILE" help:"File with the master key in force; asked for only where no server runs."`
	PreviousMasterKeyFiles []config.File     `name:"previous-master-key-files" placeholder:"FILE,..." help:"Files with the master keys before it."`
	BlobEncryption         config.Encryption `name:"blob-encryption" default:"auto" placeholder:"auto|on|off" help:"Where files are encrypted."`
	JSON
}

// Help says what the command does beyond its one line.
func (*rotateBlobsCmd) Help() string {
	return `Files that are under an earlier master key are sealed under the one in force, and files
that are not encrypted but should be are encrypted. Calls go on meanwhile, and the command
may be interrupted and run again at any time. When it ends without an error, nothing of the
files needs the earlier keys any more.`
}

// Run has the server seal its files anew, or does it where none runs.
func (c *rotateBlobsCmd) Run(ctx context.Context, g *Globals) error {
	open := func(ctx context.Context, store *config.Store) (admin.Acts, func(), error) {
		return instance.OpenBlobActs(ctx, store, &config.Server{
			MasterKeyFile: c.MasterKeyFile, PreviousMasterKeyFiles: c.PreviousMasterKeyFiles, BlobEncryption: c.BlobEncryption,
		})
	}
	acts, done, err := g.connect(ctx, open)
	if err != nil {
		return err
	}
	defer done()
	var out instance.RotateOutput
	if err := acts.Call(ctx, "blobs.rotate", instance.Nothing{}, &out); err != nil {
		return err
	}
	if c.JSON.JSON {
		err = g.print(out)
	} else {
		fmt.Fprintf(g.Out, "Of %d files %d were sealed anew.\n", out.Looked, out.Changed)
		for _, reason := range out.Errors {
			fmt.Fprintln(g.Err, reason)
		}
	}
	if err == nil && out.Failed > 0 {
		err = fmt.Errorf("%d files could not be sealed anew", out.Failed)
	}
	return err
}
