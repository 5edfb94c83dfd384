package main

import (
	"context"
	"fmt"
	"os"

	"kartei/config"
	"kartei/db"
	"kartei/instance"
)

type migrateCmd struct {
	Status bool `name:"status" help:"Only say how far the database is migrated."`
	JSON
}

// Help says what the command does beyond its one line.
func (*migrateCmd) Help() string {
	return `serve migrates by itself; this is for those who want it done before. On SQLite no
server may be running; on PostgreSQL several processes may call it at the same time.`
}

// Run migrates the data base, or says how far it is.
func (c *migrateCmd) Run(ctx context.Context, g *Globals) (err error) {
	if c.Status { // asking makes nothing
		err = g.explain(instance.CheckData(&g.Store))
	} else {
		err = makeFolder(&g.Store)
	}
	if err != nil {
		return err
	}
	d, err := db.Open(ctx, g.Database(), db.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if closed := d.Close(); err == nil {
			err = closed
		}
	}()
	act := db.Migrate
	if c.Status {
		act = db.Status
	}
	schema, err := act(ctx, d)
	if err != nil {
		return err
	}
	if c.JSON.JSON {
		return g.print(map[string]any{"version": schema.Version, "latest": schema.Latest, "current": schema.Current()})
	}
	if schema.Current() {
		fmt.Fprintf(g.Out, "The database is at version %d, the latest.\n", schema.Version)
	} else {
		fmt.Fprintf(g.Out, "The database is at version %d; this release needs %d.\n", schema.Version, schema.Latest)
	}
	return nil
}

// makeFolder makes the data folder, for its owner only.
func makeFolder(s *config.Store) error {
	if err := os.MkdirAll(string(s.DataDir), 0o700); err != nil {
		return fmt.Errorf("the data folder: %w", err)
	}
	return nil
}
