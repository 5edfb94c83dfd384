package dbtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"kartei/store/db"
	"kartei/store/schema"
)

// noCitusError says that Citus is missing, and how to install it.
type noCitusError struct{ reason string }

func (e *noCitusError) Error() string {
	return "no Citus for this test (" + e.reason +
		"): install the extension beside PostgreSQL (docs/citus.md says how), " +
		"or set KARTEI_TEST_CITUS to the URLs of a coordinator and its workers, with commas, where databases may be created"
}

// citusNeeds are the settings that Citus requires of each server.
var citusNeeds = []string{"shared_preload_libraries=citus", "max_prepared_transactions=300"}

// citusSettings are the settings of each server in a test cluster. A small number of shards is
// created fast. Each database needs a background process.
var citusSettings = append(append(Disposable(), citusNeeds...), "max_worker_processes=64", "citus.shard_count=4")

// citusWorkers is the number of servers in a test cluster besides the
// coordinator.
const citusWorkers = 2

// citus returns the cluster of this process. The first call starts it.
var citus = sync.OnceValues(newCitus)

// Citus returns the URL of a new, distributed database with the current schema. The database is on
// the coordinator of a Citus cluster with two workers. It is dropped when the test ends. If Citus
// is missing, Citus skips the test.
func Citus(t testing.TB) string {
	t.Helper()
	s := mustCitus(t)
	return s.url(s.create(t, s.template))
}

// EmptyCitus returns the URL of a new database without tables on the coordinator. The database has
// the extension and knows the workers. It is dropped when the test ends.
func EmptyCitus(t testing.TB) string {
	t.Helper()
	s := mustCitus(t)
	return s.url(s.create(t, s.empty))
}

// LoneCitus returns the URL of a new database with the extension, but without tables and workers.
// It is dropped when the test ends.
func LoneCitus(t testing.TB) string {
	t.Helper()
	s := mustCitus(t)
	name := s.create(t, "template0")
	if err := exec1(s.url(name), "create extension citus"); err != nil {
		t.Fatal(err)
	}
	return s.url(name)
}

// CitusWorkers returns the URLs of the same database on the workers.
func CitusWorkers(t testing.TB, address string) (list []string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range mustCitus(t).workers {
		list = append(list, w.url(strings.TrimPrefix(u.Path, "/")))
	}
	return list
}

func mustCitus(t testing.TB) *server {
	t.Helper()
	s, err := citus()
	var none *noCitusError
	var missing *missingError
	if errors.As(err, &none) || errors.As(err, &missing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// NewCitus starts a cluster with a coordinator and two workers for benchmarks. settings apply to
// each server. NewCitus returns the coordinator and a function that removes the cluster. The
// coordinator's first database is empty and knows the workers.
func NewCitus(settings ...string) (coordinator *Server, remove func(), err error) {
	if err := findCitus(); err != nil {
		return nil, nil, err
	}
	s, err := startCitus(make([]string, 1+citusWorkers), append(slices.Clip(settings), citusNeeds...))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return &Server{s.cluster}, stopPostgres, s.join(ctx, "postgres")
}

// newCitus starts a cluster with the installed PostgreSQL, or connects to the cluster of
// KARTEI_TEST_CITUS.
func newCitus() (*server, error) {
	addresses := make([]string, 1+citusWorkers)
	if given := os.Getenv("KARTEI_TEST_CITUS"); given != "" {
		if addresses = strings.Split(given, ","); len(addresses) < 2 {
			return nil, errors.New("dbtest: KARTEI_TEST_CITUS needs the URL of a coordinator and of at least one worker")
		}
	} else if err := findCitus(); err != nil {
		return nil, err
	}
	s, err := startCitus(addresses, citusSettings)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if s.empty, err = s.makeTemplate(ctx, "kartei_citus_empty", s.join); err != nil {
		return nil, fmt.Errorf("dbtest: template: %w", err)
	}
	sum, err := migrationsSum()
	if err != nil {
		return nil, err
	}
	s.template, err = s.makeTemplate(ctx, "kartei_citus_"+sum, func(ctx context.Context, name string) error {
		if err := s.join(ctx, name); err != nil {
			return err
		}
		return s.migrate(ctx, name, func(d db.DB) error {
			_, err := schema.Distribute(ctx, d, false, nil)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("dbtest: template: %w", err)
	}
	return s, nil
}

// startCitus connects to a coordinator and its workers. For an empty address it starts a server.
func startCitus(addresses, settings []string) (*server, error) {
	var all []*server
	for _, address := range addresses {
		n, err := newNode(address, settings)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
		if n.cluster == nil {
			continue
		}
		// A server connects to itself too, through its socket.
		if err := exec1(n.base.String(), "alter system set citus.local_hostname = '"+n.cluster.dir+"'",
			"select pg_reload_conf()"); err != nil {
			return nil, err
		}
	}
	all[0].workers = all[1:]
	return all[0], nil
}

// findCitus returns an error if the installed PostgreSQL lacks the extension.
func findCitus() error {
	bin, err := findBinaries()
	if err != nil {
		return err
	}
	if initdb, err := filepath.EvalSymlinks(filepath.Join(bin, "initdb")); err == nil {
		bin = filepath.Dir(initdb)
	}
	share, err := exec.Command(filepath.Join(bin, "pg_config"), "--sharedir").Output()
	if err != nil {
		return &noCitusError{bin + " has no pg_config"}
	}
	if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(share)), "extension", "citus.control")); err != nil {
		return &noCitusError{"the PostgreSQL in " + bin + " has no extension citus"}
	}
	return nil
}

// join makes a cluster of the databases with this name on all servers.
func (s *server) join(ctx context.Context, name string) error {
	for _, n := range append([]*server{s}, s.workers...) {
		if err := exec1(n.url(name), "create extension citus"); err != nil {
			return err
		}
	}
	host, port := s.place()
	statements := []string{fmt.Sprintf("select citus_set_coordinator_host('%s', %s)", host, port)}
	for _, w := range s.workers {
		host, port := w.place()
		statements = append(statements, fmt.Sprintf("select citus_add_node('%s', %s)", host, port))
	}
	return exec1(s.url(name), statements...)
}

// place returns the host and port at which the other servers of a cluster reach s.
func (s *server) place() (host, port string) {
	host, port = s.base.Hostname(), s.base.Port()
	if given := s.base.Query().Get("host"); given != "" {
		host = given
	}
	if port == "" {
		port = "5432"
	}
	return host, port
}
