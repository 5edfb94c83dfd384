package server

import (
	"context"
	"errors"
	"fmt"
	"os"

	"kartei/cmd/kartei/command"
	"kartei/door/admin/socket"
	"kartei/instance/check"
	"kartei/instance/config"
	"kartei/kit/clock"
)

// Check is the command that looks at what a server needs.
type Check struct {
	config.Server `embed:""`
	command.JSON
}

// Help returns the help text below the summary.
func (*Check) Help() string {
	return `Looks at the environment, the data folder, the master key, the database, the files, the addresses, the
certificate, the mail server, single sign-on, the scanner and the clock, with the settings of a server
that is started with the same flags, environment and file. It may run before the first start and beside
a server. The status is 1 if something is wrong.`
}

// errWrong is the error if a finding is Wrong. The output says what.
var errWrong = errors.New("something is wrong; the lines above say what, and how to mend it")

// running reports whether a server uses the data folder now.
func running(g *command.Globals) bool {
	client, err := socket.Dial(string(g.DataDir))
	if err != nil {
		return false
	}
	client.Close()
	return true
}

// Run prints a line for each finding, and below it the cure.
func (c *Check) Run(ctx context.Context, g *command.Globals) error {
	if err := c.Server.Check(); err != nil {
		return command.Usagef("%w", g.Blame(err))
	}
	found := check.Run(ctx, check.Options{
		Store: &g.Store, Server: &c.Server, Environ: os.Environ(), Running: running(g), Clock: clock.System,
	})
	wrong := false
	for _, f := range found {
		wrong = wrong || f.State == check.Wrong
	}
	if c.JSON.JSON {
		if err := g.PrintJSON(map[string]any{"findings": found}); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			fmt.Fprintf(g.Out, "%-8s %-19s %s\n", f.State, f.About, f.Says)
			if f.Cure != "" {
				fmt.Fprintf(g.Out, "%28s %s\n", "cure:", f.Cure)
			}
		}
	}
	if wrong {
		return errWrong
	}
	return nil
}
