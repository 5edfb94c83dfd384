package dbtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/schema"
)

// timeout is the maximum time of an administrative statement. It is long enough for a busy machine.
const timeout = 2 * time.Minute

// missingError says that PostgreSQL is missing, and how to install it.
type missingError struct{ reason string }

func (e *missingError) Error() string {
	return "no PostgreSQL for this test (" + e.reason + "): install it (on Debian: apt-get install postgresql), " +
		"or set KARTEI_TEST_POSTGRES to the URL of a server where databases may be created"
}

// server is a PostgreSQL server on which tests create databases.
type server struct {
	base     *url.URL
	admin    *pgxpool.Pool
	template string
	cluster  *cluster // nil if this process did not start the server
	copying  string   // the clause of `create database` for the way of copying a template
	// workers are the workers of a Citus cluster if s is its coordinator. empty is then the name of
	// an empty database that knows the workers.
	workers []*server
	empty   string
}

var (
	once    sync.Once
	shared  *server
	started error
)

// postgres returns the server of this process. The first call starts it.
func postgres() (*server, error) {
	once.Do(func() {
		if os.Getenv("KARTEI_TEST_POSTGRES") == "citus" { // Each test then uses a distributed database.
			shared, started = citus()
		} else {
			shared, started = newServer()
		}
	})
	return shared, started
}

// stopPostgres stops all servers that this process has started.
func stopPostgres() {
	once.Do(func() { started = errors.New("dbtest: stopped") })
	nodesMu.Lock()
	defer nodesMu.Unlock()
	for _, n := range nodes {
		n.stop()
	}
}

// nodes are the servers that this process has started or connected to.
var (
	nodesMu sync.Mutex
	nodes   []*server
)

func newServer() (_ *server, err error) {
	s, err := newNode(os.Getenv("KARTEI_TEST_POSTGRES"), disposable)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	sum, err := migrationsSum()
	if err == nil {
		s.template, err = s.makeTemplate(ctx, "kartei_template_"+sum, func(ctx context.Context, name string) error {
			return s.migrate(ctx, name, func(db.DB) error { return nil })
		})
	}
	if err != nil {
		return nil, fmt.Errorf("dbtest: template: %w", err)
	}
	return s, nil
}

// newNode connects to a server. If address is empty, it starts a server with the settings first.
func newNode(address string, settings []string) (_ *server, err error) {
	s := &server{}
	if address == "" {
		if s.cluster, err = startCluster(fastParent(), settings); err != nil {
			return nil, err
		}
		address = s.cluster.url
	}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if s.base, err = url.Parse(address); err != nil {
		return nil, errors.New("dbtest: the address of a server is not a URL")
	}
	if s.admin, err = pgxpool.New(context.Background(), address); err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	if s.cluster != nil { // Each file copy needs a checkpoint, which is slow on a server with durable data.
		if s.copying, err = copying(s.admin); err != nil {
			return nil, err
		}
	}
	nodesMu.Lock()
	defer nodesMu.Unlock()
	nodes = append(nodes, s)
	return s, nil
}

// copying returns the clause of `create database` that makes the server copy a template as files.
// The default since version 15 copies through the log and takes twice the processor time. Older
// versions can only copy files and have no such clause.
func copying(admin *pgxpool.Pool) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var version int
	if err := admin.QueryRow(ctx, "select current_setting('server_version_num')::int").Scan(&version); err != nil {
		return "", fmt.Errorf("dbtest: %w", err)
	}
	if version < 150000 {
		return "", nil
	}
	return " strategy file_copy", nil
}

func (s *server) stop() {
	if s.admin != nil {
		s.admin.Close()
	}
	if s.cluster != nil {
		s.cluster.remove()
	}
}

// url returns the URL of a database on the server.
func (s *server) url(name string) string {
	u := *s.base
	u.Path = "/" + name
	return u.String()
}

// create creates a database, which is dropped when the test ends, and returns its name.
func (s *server) create(t testing.TB, template string) string {
	t.Helper()
	name := "kartei_test_" + strings.ToLower(rand.Text())
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := s.everywhere(ctx, "create database "+name+" template "+template+s.copying); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if len(s.workers) > 0 {
			if err := s.quieten(ctx, name); err != nil {
				t.Error(err)
			}
		}
		if err := s.everywhere(ctx, "drop database "+name+" with (force)"); err != nil {
			t.Error(err)
		}
	})
	return name
}

// everywhere runs a statement on the server and on its workers.
func (s *server) everywhere(ctx context.Context, statement string) error {
	for _, n := range append([]*server{s}, s.workers...) {
		if _, err := n.admin.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// quieten closes all connections to a database and permits no new ones. In a cluster, servers may
// connect to each other at any time.
func (s *server) quieten(ctx context.Context, name string) error {
	if err := s.everywhere(ctx, "alter database "+name+" allow_connections false"); err != nil {
		return err
	}
	return s.everywhere(ctx, "select pg_terminate_backend(pid, 2000) from pg_stat_activity where datname = '"+name+"'")
}

// exec1 runs statements on a new connection.
func exec1(address string, statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// makeTemplate creates a template database, calls fill with the name of a draft, and returns the
// name of the template. If several processes share a server, only one of them makes the template.
// The database gets its final name when it is complete. It accepts no connections.
func (s *server) makeTemplate(
	ctx context.Context, name string, fill func(ctx context.Context, name string) error,
) (string, error) {
	// Only one process at a time holds this lock. The end of the connection releases it.
	conn, err := pgx.Connect(ctx, s.base.String())
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "select pg_advisory_lock(7317203)"); err != nil {
		return "", err
	}
	var there bool
	err = conn.QueryRow(ctx, "select exists(select from pg_database where datname = $1)", name).Scan(&there)
	if err != nil || there {
		return name, err
	}
	draft := name + "_draft"
	for _, statement := range []string{
		"drop database if exists " + draft + " with (force)",
		"drop database if exists " + name + " with (force)", // A worker may have a draft even if the coordinator has none.
		"create database " + draft + " template template0",
	} {
		if err := s.everywhere(ctx, statement); err != nil {
			return "", err
		}
	}
	if err := fill(ctx, draft); err != nil {
		return "", err
	}
	if err := s.quieten(ctx, draft); err != nil {
		return "", err
	}
	for _, n := range append(slices.Clone(s.workers), s) {
		// The coordinator comes last. If it has the name, all servers have it.
		if _, err := n.admin.Exec(ctx, "alter database "+draft+" rename to "+name); err != nil {
			return "", err
		}
	}
	return name, nil
}

// migrate brings a database to the current schema and calls then with it.
func (s *server) migrate(ctx context.Context, name string, then func(db.DB) error) error {
	u, err := url.Parse(s.url(name))
	if err != nil {
		return err
	}
	query := u.Query()
	query.Set("application_name", "kartei-template") // The database is new, so no server uses it.
	u.RawQuery = query.Encode()
	d, err := open.Database(ctx, u.String(), db.Options{Logger: slog.New(slog.DiscardHandler), Readers: 1})
	if err != nil {
		return err
	}
	if _, err = schema.Migrate(ctx, d); err != nil {
		return errors.Join(err, d.Close())
	}
	err = then(d)
	return errors.Join(err, d.Close())
}

// migrationsSum returns a short hash of all migration files.
func migrationsSum() (string, error) {
	files := schema.Migrations()
	hash := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		fmt.Fprintf(hash, "%s %d\n%s", path, len(text), text)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil))[:16], err
}
