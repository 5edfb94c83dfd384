package main

import (
	"context"
	"fmt"

	"kartei/instance"
)

type masterKeyCmd struct {
	Forget forgetKeyCmd `cmd:"" name:"forget" help:"Let the next server to start bring another master key, after the one before was lost."`
}

type forgetKeyCmd struct{ JSON }

// Help returns the text below the command's summary.
func (*forgetKeyCmd) Help() string {
	return `A database remembers which master key it is used with, though not the key itself, and a
server that comes with another one does not start. Use this only where the key is lost for good:
clients that are in the midst of paging begin again (400 CURSOR_MISMATCH), encrypted files of
documents cannot be read any more, and the secrets of webhook endpoints are lost: each gets
nothing until its owner rotates its secret (POST /v1/webhook_endpoints/{id}/rotate_secret).
Nothing else is lost. To replace a key that is there, use --previous-master-key-files and
'kartei blobs rotate' instead.
Stop all servers first. The first one that starts then decides, and the others need its file.`
}

// Run removes the fingerprint of the master key from the database.
func (c *forgetKeyCmd) Run(ctx context.Context, g *Globals) error {
	if err := g.act(ctx, "master-key.forget", instance.Nothing{}, nil); err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.print(instance.Nothing{})
	}
	fmt.Fprintln(g.Out, "The next server to start decides on the master key; every other one needs the same file.")
	return nil
}
