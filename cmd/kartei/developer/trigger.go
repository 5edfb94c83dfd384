package developer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"kartei/cmd/kartei/command"
	"kartei/cmd/remote"
)

// Trigger is the command that makes a change in a sandbox.
type Trigger struct {
	Type string `arg:"" help:"The type of the event, for example contact.created."`
	command.InstanceFlags
	command.JSON
}

// Help returns the help text below the summary.
func (*Trigger) Help() string {
	return `Makes a change in the sandbox by calls of the API, so that a receiver gets an event.
Types: ` + strings.Join(remote.Types(), ", ") + `.
The command creates the record that it changes or deletes, so it touches nothing else. The record
stays, so that the receiver can read it, with the tag ` + remote.Tag + ` (a search for it finds them all).
webhook.test is sent to the first endpoint of the key's principal.`
}

// triggerTime is the maximum time of a call with all attempts.
const triggerTime = time.Minute

// Run makes one change and prints the ids of its record and its event.
func (c *Trigger) Run(ctx context.Context, g *command.Globals) error {
	client, err := c.NewClient(g, triggerTime)
	if err != nil {
		return err
	}
	made, err := client.Trigger(ctx, c.Type)
	if errors.Is(err, remote.ErrLive) || errors.Is(err, remote.ErrType) {
		return command.Usagef("%w", err)
	}
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(made)
	}
	_, err = fmt.Fprintf(g.Out, "%s  %s  %s\n", made.Type, made.ID, made.EventID)
	return err
}
