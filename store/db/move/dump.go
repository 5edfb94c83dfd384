package move

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/jackc/pgx/v5"

	"kartei/store/db"
)

// dump writes the database to an archive in the custom format of pg_dump.
func dump(ctx context.Context, d db.Server, path string) error {
	return runTool(ctx, d.Config(), streams{}, "pg_dump", append(dumpArguments, "--file="+path)...)
}

// dumpTo writes the same archive to w.
func dumpTo(ctx context.Context, d db.Server, w io.Writer) error {
	return runTool(ctx, d.Config(), streams{out: w}, "pg_dump", dumpArguments...)
}

var dumpArguments = []string{"--format=custom", "--no-owner", "--no-privileges"}

// restorePostgres fills the database from an archive, in one transaction.
func restorePostgres(ctx context.Context, c *copied, url string, force bool) error {
	if err := checkEngine(c, true); err != nil {
		return err
	}
	config, filled, err := target(ctx, url)
	if err != nil {
		return err
	}
	args := []string{"--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"}
	if filled {
		if !force {
			return fmt.Errorf("%w: it has Kartei's tables", ErrExists)
		}
		args = append(args, "--clean", "--if-exists")
	}
	if !c.encrypted {
		return runTool(ctx, config, streams{}, "pg_restore", append(args, c.path)...)
	}
	// The whole copy was read before. If reading fails now, the archive ends
	// early and pg_restore rolls back.
	in, out := io.Pipe()
	go func() { out.CloseWithError(c.each(out)) }()
	defer in.Close()
	return runTool(ctx, config, streams{in: in}, "pg_restore", args...)
}

// target returns the configuration of connections to a PostgreSQL database, and
// whether it has Kartei's tables.
func target(ctx context.Context, url string) (config *pgx.ConnConfig, filled bool, err error) {
	d, err := db.Open(ctx, url, db.Options{Readers: 1, Writers: 1})
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	server, ok := d.(db.Server)
	if !ok {
		return nil, false, fmt.Errorf("%T is no PostgreSQL database", d)
	}
	err = d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, "select to_regclass('goose_db_version') is not null").Scan(&filled)
	})
	return server.Config(), filled, err
}

// streams replace the files of a program.
type streams struct {
	in  io.Reader
	out io.Writer
}

// runTool runs one of PostgreSQL's programs against a database. The password is
// passed in the environment, because other users of the machine can read
// arguments. The environment also has the accepted ways of authentication,
// which may exclude passwords in clear text. libpq 16 or later obeys them.
func runTool(ctx context.Context, config *pgx.ConnConfig, s streams, name string, args ...string) error {
	program, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("%s is not on PATH; it comes with PostgreSQL's client programs (on Debian: postgresql-client)", name)
	}
	u, password, err := forLibpq(config.ConnString())
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"--dbname=" + u, "--no-password"}, args...)...)
	cmd.Env = os.Environ()
	if config.RequireAuth != "" {
		cmd.Env = append(cmd.Env, "PGREQUIREAUTH="+config.RequireAuth)
	}
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.out, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %.500s", name, err, strings.TrimSpace(said.String()))
	}
	return nil
}

// forLibpq removes the password from a URL, and the parameters that only pgx
// understands.
func forLibpq(address string) (_, password string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", "", errors.New("the URL of the PostgreSQL database is not valid")
	}
	if u.User != nil {
		password, _ = u.User.Password()
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	if query.Has("password") {
		password = query.Get("password")
		query.Del("password")
	}
	for name := range query {
		if strings.HasPrefix(name, "pool_") || strings.HasSuffix(name, "_cache_capacity") || name == "default_query_exec_mode" {
			query.Del(name)
		}
	}
	u.RawQuery = query.Encode()
	return u.String(), password, nil
}
