package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"kartei/cmd/kartei/command"
	"kartei/instance"
	"kartei/instance/config"
	"kartei/kit/progress"
	"kartei/store/db"
	"kartei/store/db/move"
	"kartei/store/db/open"
	"kartei/store/db/postgres"
	"kartei/store/schema"
)

// Copy is the command that moves an instance to another database.
type Copy struct {
	From config.DatabaseURL `name:"from" required:"" placeholder:"URL" help:"The database to copy: sqlite:PATH or postgres://USER@HOST/NAME."`
	To   config.DatabaseURL `name:"to" required:"" placeholder:"URL" help:"The database for the copy: empty, or with an interrupted copy of the same source."`
	command.JSON
}

// Help returns the help text below the summary.
func (*Copy) Help() string {
	return `Moves a whole instance between SQLite and PostgreSQL, in either direction. No server may run on
either database. After an interruption, call it again: it continues. At the end both databases are
counted and hashed, table by table. The master key is a file and is not moved: servers on the new
database need the same one. Nor are the files of documents: --blob-url must name the same place as
before.`
}

// Run copies the database and prints the result.
func (c *Copy) Run(ctx context.Context, g *command.Globals) (err error) {
	if c.From == c.To {
		return command.Usagef("--from and --to are the same database")
	}
	if err := instance.CheckData(&config.Store{DatabaseURL: c.From}); err != nil {
		return fmt.Errorf("--from: %w in %s", err, c.From.Redacted())
	}
	from, err := openAlone(ctx, c.From)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := openAlone(ctx, c.To)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if _, err := schema.Migrate(ctx, to); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	var bar *progress.Bar
	if !c.JSON.JSON {
		bar = progress.New(g.Err)
	}
	tables, err := move.Copy(ctx, from, to, bar.Tell)
	bar.End()
	if err != nil {
		return err
	}
	if err := postgres.InUseBy(ctx, from); err != nil {
		return fmt.Errorf("--from: %w; its changes since the start of the copy may be missing: stop it and copy again to an empty database", err)
	}
	if c.JSON.JSON {
		return g.PrintJSON(map[string]any{"to": c.To.Redacted(), "tables": tables})
	}
	var rows int64
	for _, t := range tables {
		rows += t.Rows
		fmt.Fprintf(g.Out, "%-20s %12d rows  %.16s\n", t.Table, t.Rows, t.Hash)
	}
	fmt.Fprintf(g.Out, `%d rows were copied; both databases hold the same, by count and hash of each table.

How to go on:
  - Start servers with --database-url %s and the same --master-key-file as before
    (master.key in the data folder, unless you named another). Each replica needs that key.
  - The files of documents stay where they are: start servers with the same --blob-url as
    before (the folder files in the data folder, unless you named another).
  - The database that was copied is unchanged. Keep it until you are content, and start no
    server on it: two instances with the same keys would go separate ways.
`, rows, c.To.Redacted())
	return nil
}

// openAlone opens a database. It fails if a server uses the database.
func openAlone(ctx context.Context, address config.DatabaseURL) (db.DB, error) {
	d, err := openApart(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := postgres.InUseBy(ctx, d); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// openApart opens a database with a connection that does not count as a server's.
func openApart(ctx context.Context, address config.DatabaseURL) (db.DB, error) {
	text := string(address)
	if !strings.HasPrefix(text, "sqlite:") {
		u, err := url.Parse(text)
		if err != nil {
			return nil, errors.New("the URL of the PostgreSQL database is not valid")
		}
		query := u.Query()
		query.Set("application_name", postgres.AloneName)
		u.RawQuery = query.Encode()
		text = u.String()
	}
	return open.Database(ctx, text, db.Options{Readers: 1, Writers: 1})
}
