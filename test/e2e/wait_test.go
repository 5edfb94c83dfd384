package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"kartei/kit/fault"
	"kartei/test/dbtest"
	"kartei/test/waittest"
)

// startWaiting starts a server whose database is unavailable. It checks that the server listens,
// refuses calls with INSTANCE_PENDING, and reports the reason to the operator.
func startWaiting(t *testing.T, key string, store ...string) client {
	t.Helper()
	public, operator := freePort(t), freePort(t)
	s, err := spawn(command(append([]string{
		"serve", "--listen", public, "--operator-listen", operator, "--log-format", "json",
	}, store...)...))
	if err != nil {
		t.Fatal(err)
	}
	s.endsWith(t)
	s.URL, s.Operator = "http://"+public, "http://"+operator
	s.says(t, "the database cannot be used yet")
	w := client{t, s, key}
	for _, language := range []string{"de", "en"} {
		for _, a := range []*answer{
			w.call("GET", "/contacts", "", 503, string(fault.InstancePending), "Accept-Language", language),
			w.call("POST", "/contacts", `{"lastName":"Berg"}`, 503, string(fault.InstancePending), "Accept-Language",
				language, "Idempotency-Key", "early"),
		} {
			if a.Header.Get("Retry-After") == "" || a.Header.Get("Content-Language") != language || a.Text("requestId") == "" {
				t.Errorf("while it waits: %v %s", a.Header, a.Body)
			}
		}
	}
	get(t, s.URL+"/problems/INSTANCE_PENDING", 200)
	get(t, s.Operator+"/healthz", 200)
	get(t, s.Operator+"/readyz", 503)
	get(t, s.Operator+"/metrics", 200)
	return w
}

// becomesReady waits until the server is ready, after the fault has ended.
func (s client) becomesReady() {
	s.Helper()
	select {
	case <-s.ready:
	case <-s.ended:
		s.Fatalf("it ended: %v", s.err)
	case <-time.After(waittest.Bound):
		s.Fatal("it did not become ready")
	}
	get(s.TB, s.Operator+"/readyz", 200)
	// The server logs one line for each step of the start, and again after a minute.
	if n := strings.Count(s.server.Log(), "the database cannot be used yet"); n < 1 || n > 3 {
		s.Errorf("%d lines say that it waits, of a wait of seconds", n)
	}
}

// TestServeWaitsForPostgres starts servers while PostgreSQL is unavailable, for each reason that
// can pass by itself. No server may end or need a restart.
func TestServeWaitsForPostgres(t *testing.T) {
	t.Parallel()
	own := dbtest.OwnServer(t, "max_connections=20", "shared_buffers=16MB")
	store := []string{"--data-dir", t.TempDir(), "--database-url", own.URL()}
	h := newCluster(t, 1, own.URL(), store...)
	h.close()
	for _, c := range []struct {
		name, reason string
		away         func(t *testing.T) (back func())
	}{
		{"stopped", "failed to connect", func(t *testing.T) func() {
			own.Stop()
			return func() { restart(t, own) }
		}},
		{"crashed", "failed to connect", func(t *testing.T) func() {
			own.Kill()
			return func() { restart(t, own) }
		}},
		{"out of connections", "too many clients", func(t *testing.T) func() { return takeConnections(t, own.URL()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			back := c.away(t)
			s := startWaiting(t, h.office.Key, store...)
			get(t, s.Operator+"/readyz", 503, c.reason)
			back()
			s.becomesReady()
			s.call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "", "Idempotency-Key", c.name)
			s.stop(t)
		})
	}
	t.Run("asked to end", func(t *testing.T) {
		own.Stop()
		defer restart(t, own)
		s := startWaiting(t, h.office.Key, store...)
		s.cmd.Process.Signal(syscall.SIGTERM)
		s.wait(t)
		if !strings.Contains(s.server.Log(), "stopped before it was ready") {
			t.Errorf("it said\n%s", s.server.Log())
		}
	})
}

// TestServeOnReadOnlyPostgres starts a server whose PostgreSQL is read-only, like a managed one
// with a nearly full disk. The server serves reads. It serves writes as soon as PostgreSQL accepts
// them.
func TestServeOnReadOnlyPostgres(t *testing.T) {
	t.Parallel()
	own := dbtest.OwnServer(t, "shared_buffers=16MB")
	store := []string{"--data-dir", t.TempDir(), "--database-url", own.URL()}
	h := newCluster(t, 1, own.URL(), store...)
	l := newLedger(t, h)
	if !l.post() {
		t.Fatal("refused before")
	}
	h.close()
	set := func(words string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), own.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		for _, s := range []string{"set default_transaction_read_only = off", "alter database postgres " + words} {
			if _, err := conn.Exec(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	set("set default_transaction_read_only = on")
	h.open()
	for range 3 {
		if l.post() {
			t.Error("a creation was acknowledged")
		}
	}
	l.verify()
	set("reset default_transaction_read_only")
	if !l.post() {
		t.Error("refused afterwards")
	}
	l.verify()
	h.close()
}

// TestServeDoesNotWaitForWhatIsWrong starts servers with wrong configurations. Each must end at
// once with an error that names the reason.
func TestServeDoesNotWaitForWhatIsWrong(t *testing.T) {
	t.Parallel()
	own := dbtest.OwnServer(t, "shared_buffers=16MB")
	dir := t.TempDir()
	newCluster(t, 1, own.URL(), "--data-dir", dir, "--database-url", own.URL()).close()
	conn, err := pgx.Connect(t.Context(), own.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rules := filepath.Join(own.Dir(), "data", "pg_hba.conf")
	if err := os.WriteFile(rules, []byte("local all postgres trust\nlocal all all scram-sha-256\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"select pg_reload_conf()", "create role guest login password 'right'",
		"create database newer template postgres",
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	at := func(database string) string { return strings.Replace(own.URL(), "/postgres?", "/"+database+"?", 1) }
	newer, err := pgx.Connect(t.Context(), at("newer"))
	if err == nil {
		_, err = newer.Exec(t.Context(), "insert into goose_db_version (version_id, is_applied) values (9999, true)")
		newer.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, url, dir, says string
	}{
		{"wrong password", strings.Replace(own.URL(), "postgres@", "guest:wrong@", 1), dir, "password authentication failed"},
		{"no such database", at("nowhere"), dir, "does not exist"},
		{"other master key", own.URL(), t.TempDir(), "another master key"},
		{"newer program", at("newer"), dir, "start the newer program"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, errs, status := try(t, "serve", "--data-dir", c.dir, "--database-url", c.url, "--listen", "127.0.0.1:0",
				"--operator-listen", "127.0.0.1:0")
			if status != 1 || !strings.Contains(errs, c.says) || strings.Contains(errs, "cannot be used yet") {
				t.Errorf("exit %d\n%s", status, errs)
			}
		})
	}
}
