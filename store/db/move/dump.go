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
	"kartei/store/db/postgres"
)

// dump writes the database to a file in the custom format of pg_dump.
func dump(ctx context.Context, d *postgres.DB, path string) error {
	return runTool(ctx, d.Config(), streams{}, "pg_dump", append(dumpArguments, "--file="+path)...)
}

// dumpTo writes the database to w in the custom format of pg_dump.
func dumpTo(ctx context.Context, d *postgres.DB, w io.Writer) error {
	return runTool(ctx, d.Config(), streams{out: w}, "pg_dump", dumpArguments...)
}

var dumpArguments = []string{"--format=custom", "--no-owner", "--no-privileges"}

// restorePostgres fills the database from an archive and makes the changes, in one transaction.
// pg_restore cannot make the changes. So it writes a script, and psql runs the script.
func restorePostgres(ctx context.Context, c *backupFile, url string, force bool, changes []Change) error {
	if err := checkEngine(c, true); err != nil {
		return err
	}
	config, filled, err := target(ctx, url)
	if err != nil {
		return err
	}
	args := []string{"--file=-", "--no-owner", "--no-privileges"}
	if filled {
		if !force {
			return fmt.Errorf("%w: it has Kartei's tables", ErrExists)
		}
		args = append(args, "--clean", "--if-exists")
	}
	script, out := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := writeScript(ctx, c, out, args, changes)
		written <- err
		out.Close()
	}()
	err = runTool(ctx, config, streams{in: script}, "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-")
	script.Close() // ends pg_restore
	if cause := <-written; cause != nil && !errors.Is(cause, io.ErrClosedPipe) {
		return cause
	}
	return err
}

// writeScript writes the SQL script of a restore to out. The last statement is the commit. If the
// process is killed before, the script has no commit and psql rolls back.
func writeScript(ctx context.Context, c *backupFile, out io.Writer, args []string, changes []Change) error {
	if _, err := io.WriteString(out, "begin;\n"); err != nil {
		return err
	}
	if err := c.script(ctx, out, args); err != nil {
		return err
	}
	end := "reset search_path;\n" // pg_restore has emptied search_path
	for _, c := range changes {
		end += fmt.Sprintf("do $change$ begin if to_regclass('%s') is not null then %s; end if; end $change$;\n", c.Table,
			c.Statement)
	}
	_, err := io.WriteString(out, end+"commit;\n")
	return err
}

// script writes the SQL statements of the archive to out.
func (c *backupFile) script(ctx context.Context, out io.Writer, args []string) error {
	if !c.encrypted {
		return runProgram(ctx, os.Environ(), streams{out: out}, "pg_restore", append(args, c.path)...)
	}
	// openCopy has read the whole copy before. If reading fails now, the archive ends early and
	// pg_restore fails.
	in, archive := io.Pipe()
	go func() { archive.CloseWithError(c.each(archive)) }()
	defer in.Close()
	return runProgram(ctx, os.Environ(), streams{in: in, out: out}, "pg_restore", args...)
}

// target returns the configuration of connections to a PostgreSQL database. filled says that the
// database has Kartei's tables.
func target(ctx context.Context, url string) (config *pgx.ConnConfig, filled bool, err error) {
	d, err := postgres.Open(ctx, url, db.Options{Readers: 1, Writers: 1})
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	err = d.Read(ctx, func(tx db.Tx) error {
		return tx.QueryRow(ctx, "select to_regclass('goose_db_version') is not null").Scan(&filled)
	})
	return d.Config(), filled, err
}

// streams are the standard input and output of a program. Both can be nil.
type streams struct {
	in  io.Reader
	out io.Writer
}

// runTool runs one of PostgreSQL's client programs against a database. It passes the password in
// the environment, because other users of the machine can read arguments. It also passes the
// accepted authentication methods (PGREQUIREAUTH), which may exclude passwords in clear text. libpq
// obeys them from version 16 on.
func runTool(ctx context.Context, config *pgx.ConnConfig, s streams, name string, args ...string) error {
	u, password, err := forLibpq(config.ConnString())
	if err != nil {
		return err
	}
	environment := os.Environ()
	if config.RequireAuth != "" {
		environment = append(environment, "PGREQUIREAUTH="+config.RequireAuth)
	}
	if password != "" {
		environment = append(environment, "PGPASSWORD="+password)
	}
	return runProgram(ctx, environment, s, name, append([]string{"--dbname=" + u, "--no-password"}, args...)...)
}

// runProgram runs one of PostgreSQL's client programs. If it fails, the error contains its standard
// error.
func runProgram(ctx context.Context, environment []string, s streams, name string, args ...string) error {
	program, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("%s is not on PATH; it comes with PostgreSQL's client programs (on Debian: postgresql-client)",
			name)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = environment
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.out, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %.500s", name, err, strings.TrimSpace(said.String()))
	}
	return nil
}

// forLibpq removes the password and the parameters of pgx from a URL. It returns the new URL and
// the password.
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
		if strings.HasPrefix(name, "pool_") || strings.HasSuffix(name, "_cache_capacity") ||
			name == "default_query_exec_mode" {
			query.Del(name)
		}
	}
	u.RawQuery = query.Encode()
	return u.String(), password, nil
}
