package server

import (
	"context"

	"kartei/cmd/kartei/command"
	"kartei/instance"
)

// MasterKey has the command for the stored fingerprint of the master key.
type MasterKey struct {
	Forget forgetKeyCmd `cmd:"" name:"forget" help:"Forget a lost master key, so that a server with another one can start."`
}

type forgetKeyCmd struct{ command.JSON }

// Help returns the help text below the summary.
func (*forgetKeyCmd) Help() string {
	return `A database keeps a fingerprint of its master key, and a server with another key does not start.
Use this only if the key is lost for good. Clients that are reading pages must begin again (400
CURSOR_MISMATCH). Encrypted files of documents cannot be read any more. The secrets of webhook
endpoints are lost: each gets nothing until its owner rotates its secret
(POST /v1/webhook_endpoints/{id}/rotate_secret). Nothing else is lost. To replace a key that is
not lost, use --previous-master-key-files and 'kartei blobs rotate' instead.
Stop all servers first. The first one that starts sets the new key, and all others need its file.`
}

// Run removes the fingerprint of the master key from the database.
func (c *forgetKeyCmd) Run(ctx context.Context, g *command.Globals) error {
	if err := g.Process(ctx, "master-key.forget", instance.Nothing{}, nil); err != nil {
		return err
	}
	return command.PrintDone(g, c.JSON, "The next server to start sets the master key. All other servers need the same file.")
}
