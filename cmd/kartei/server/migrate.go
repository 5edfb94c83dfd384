package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"kartei/cmd/kartei/command"
	"kartei/instance"
	"kartei/instance/config"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/schema"
)

// Migrate is the command that migrates the database.
type Migrate struct {
	Status     bool   `name:"status" help:"Only print the version of the database."`
	Distribute string `name:"distribute" enum:"citus," default:"" placeholder:"citus" help:"Spread the tables of a migrated PostgreSQL database by organization over the servers of a Citus cluster."`
	DryRun     bool   `name:"dry-run" help:"With --distribute: only print the statements that would be sent."`
	command.JSON
}

// Help returns the help text below the summary.
func (*Migrate) Help() string {
	return `serve migrates by itself; this command migrates beforehand. On SQLite no server may run; on
PostgreSQL several processes may call it at the same time.

Call --distribute citus once, while no server runs, with the URL of the coordinator. Called
again, it spreads the remaining tables. Later migrations keep the data spread.`
}

// Run migrates the database, or prints its version.
func (c *Migrate) Run(ctx context.Context, g *command.Globals) (err error) {
	switch {
	case c.Status && c.Distribute != "":
		return command.Usagef("--status and --distribute cannot be used together")
	case c.Distribute != "":
		return c.distribute(ctx, g)
	case c.DryRun:
		return command.Usagef("--dry-run goes with --distribute citus")
	}
	if c.Status { // --status must not create data
		err = g.Explain(instance.CheckData(&g.Store))
	} else {
		err = makeFolder(&g.Store)
	}
	if err != nil {
		return err
	}
	d, err := open.Database(ctx, g.Database(), db.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if closed := d.Close(); err == nil {
			err = closed
		}
	}()
	act := schema.Migrate
	if c.Status {
		act = schema.Status
	}
	state, err := act(ctx, d)
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(map[string]any{"version": state.Version, "latest": state.Latest, "current": state.Current()})
	}
	if state.Current() {
		fmt.Fprintf(g.Out, "The database is at version %d, the latest.\n", state.Version)
	} else {
		fmt.Fprintf(g.Out, "The database is at version %d; this release needs %d.\n", state.Version, state.Latest)
	}
	return nil
}

// distribute distributes the tables over a Citus cluster, or prints the statements.
func (c *Migrate) distribute(ctx context.Context, g *command.Globals) (err error) {
	if err := g.Explain(instance.CheckData(&g.Store)); err != nil {
		return err
	}
	d, err := openApart(ctx, config.DatabaseURL(g.Database()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	how, err := schema.Distribute(ctx, d, c.DryRun, func(statement string) {
		if !c.JSON.JSON {
			fmt.Fprintln(g.Out, statement+";")
		}
	})
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.PrintJSON(how)
	}
	switch {
	case how.Before != "":
		fmt.Fprintf(g.Out, "-- Nothing was changed: %s\n-- After that, these statements would be sent, each in a transaction of its own:\n%s;\n", how.Before, strings.Join(how.Statements, ";\n"))
	case len(how.Statements) == 0:
		fmt.Fprintf(g.Out, "All tables were distributed already: %d by organization over %d servers; %d stay on the coordinator. Nothing was changed.\n", how.Spread, how.Nodes, how.Whole)
	case c.DryRun:
		fmt.Fprintf(g.Out, "-- Nothing was changed. These statements would be sent, each in a transaction of its own:\n%s;\n", strings.Join(how.Statements, ";\n"))
	default:
		fmt.Fprintf(g.Out, "%d tables are spread by organization over %d servers; %d stay on the coordinator. Start servers as before.\n", how.Spread, how.Nodes, how.Whole)
	}
	return nil
}

// makeFolder creates the data folder. Only its owner has access.
func makeFolder(s *config.Store) error {
	if err := os.MkdirAll(string(s.DataDir), 0o700); err != nil {
		return fmt.Errorf("the data folder cannot be made: %w", err)
	}
	return nil
}
