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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"kartei/db"
)

// timeout bounds each administrative act: on a busy machine even a small one
// takes its time.
const timeout = 2 * time.Minute

// missingError says that there is no PostgreSQL and how to get one.
type missingError struct{ reason string }

func (e *missingError) Error() string {
	return "no PostgreSQL for this test (" + e.reason + "): install it (on Debian: apt-get install postgresql), " +
		"or set KARTEI_TEST_POSTGRES to the URL of a server where data bases may be created"
}

// server is a PostgreSQL server on which tests create data bases.
type server struct {
	base     *url.URL
	admin    *pgxpool.Pool
	template string
	cluster  *cluster // nil where the server is not ours
}

var (
	once    sync.Once
	shared  *server
	started error
)

// postgres returns the server of this process, started on first use.
func postgres() (*server, error) {
	once.Do(func() { shared, started = newServer() })
	return shared, started
}

// stopPostgres stops the server if it was started.
func stopPostgres() {
	once.Do(func() { started = errors.New("dbtest: stopped") })
	if shared != nil {
		shared.stop()
	}
}

func newServer() (_ *server, err error) {
	s := &server{}
	address := os.Getenv("KARTEI_TEST_POSTGRES")
	if address == "" {
		if s.cluster, err = startCluster(disposable); err != nil {
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
		return nil, errors.New("dbtest: KARTEI_TEST_POSTGRES is not a URL")
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if s.admin, err = pgxpool.New(ctx, address); err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	if s.template, err = s.makeTemplate(ctx); err != nil {
		return nil, fmt.Errorf("dbtest: template: %w", err)
	}
	return s, nil
}

func (s *server) stop() {
	if s.admin != nil {
		s.admin.Close()
	}
	if s.cluster != nil {
		s.cluster.remove()
	}
}

// url returns the URL of a data base on the server.
func (s *server) url(name string) string {
	u := *s.base
	u.Path = "/" + name
	return u.String()
}

// create makes a data base that is dropped with the test, and returns its name.
func (s *server) create(t testing.TB, template string) string {
	t.Helper()
	name := "kartei_test_" + strings.ToLower(rand.Text())
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if _, err := s.admin.Exec(ctx, "create database "+name+" template "+template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if _, err := s.admin.Exec(ctx, "drop database "+name+" with (force)"); err != nil {
			t.Error(err)
		}
	})
	return name
}

// makeTemplate returns the name of a migrated data base from which the others
// are copied. It is named after the migrations, so several processes that share
// a server make it once; it gets that name only when it is complete.
func (s *server) makeTemplate(ctx context.Context) (string, error) {
	sum, err := migrationsSum()
	if err != nil {
		return "", err
	}
	name := "kartei_template_" + sum
	// One process at a time; the lock ends with this connection.
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
		"create database " + draft + " template template0",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", err
		}
	}
	if err := s.migrate(ctx, draft); err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, "alter database "+draft+" rename to "+name)
	return name, err
}

func (s *server) migrate(ctx context.Context, name string) error {
	d, err := db.Open(ctx, s.url(name), db.Options{Logger: slog.New(slog.DiscardHandler), Readers: 1})
	if err != nil {
		return err
	}
	_, err = db.Migrate(ctx, d)
	return errors.Join(err, d.Close())
}

// migrationsSum returns a short hash of all migration files.
func migrationsSum() (string, error) {
	files := db.Migrations()
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
