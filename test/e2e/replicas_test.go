package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"kartei/test/dbtest"
	"kartei/test/waittest"

	"github.com/jackc/pgx/v5"
)

// at returns a client for replica i.
func (h *cluster) at(i int) client { return client{h.TB, h.servers[i], h.office.Key} }

// connect opens a connection of the test's own to the database.
func (h *cluster) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), h.database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// holdClock locks the row of the change clock in the office's sandbox, which blocks all writes.
// release unlocks it.
func (h *cluster) holdClock(t *testing.T) (release func()) {
	t.Helper()
	tx, err := h.connect(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var organization int64
	if err := tx.QueryRow(t.Context(), "select number from organizations where id = $1",
		h.office.SandboxID).Scan(&organization); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "select tick from clocks where organization = $1 for update",
		organization); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// until repeats a query until it returns true. what is for the failure.
func until(t *testing.T, conn *pgx.Conn, what, query string) {
	t.Helper()
	for end := time.Now().Add(waittest.Bound); ; {
		var yes bool
		if err := conn.QueryRow(t.Context(), query).Scan(&yes); err != nil {
			t.Fatal(err)
		}
		if yes {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// waiting is an SQL condition: a server is executing the statement that waits for the clock while a
// test holds the lock. It does not look at locks, because on a Citus cluster another server has the
// lock.
const waiting = "exists(select from pg_stat_activity where datname = current_database() and application_name = 'kartei' and state = 'active' and query like 'update clocks %')"

// TestKeyInUseOnAnotherReplica blocks a creation in the middle. Its idempotency key is in progress
// on all replicas until the replica of the call dies. Then another replica executes the call.
func TestKeyInUseOnAnotherReplica(t *testing.T) {
	t.Parallel()
	url := dbtest.PostgresURL(t) + "&lock_timeout=120000&statement_timeout=120000" // The blocked statements must not time out.
	h := newCluster(t, 2, url, "--data-dir", t.TempDir(), "--database-url", url)
	look := h.connect(t)
	release := h.holdClock(t)
	const body, key = `{"lastName":"Anders"}`, "held"
	first := make(chan error, 1)
	go func() {
		_, err := newHTTPClient(h.office.Key).call(h.servers[0].URL+"/v1", "POST", "/contacts", body, "Idempotency-Key", key)
		first <- err
	}()
	until(t, look, "the creation waits for the clock", "select "+waiting)
	for range 3 {
		a := h.at(1).call("POST", "/contacts", body, 409, "IDEMPOTENCY_IN_PROGRESS", "Idempotency-Key", key)
		if a.Header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After: %q", a.Header.Get("Retry-After"))
		}
	}
	h.killOne(0)
	if err := <-first; err == nil {
		t.Error("a replica that was killed answered")
	}
	// The clock is still locked. The database detects by itself that its client is gone.
	until(t, look, "the dead replica's transaction ends", "select not "+waiting)
	release()
	made := h.at(1).call("POST", "/contacts", body, 201, "", "Idempotency-Key", key)
	if made.Header.Get("Idempotent-Replayed") != "" {
		t.Error("the call that died was stored")
	}
	h.openOne(0)
	again := h.at(0).call("POST", "/contacts", body, 201, "", "Idempotency-Key", key)
	if again.Header.Get("Idempotent-Replayed") != "true" || string(again.Body) != string(made.Body) {
		t.Errorf("the other replica repeats %s, made was %s", again.Body, made.Body)
	}
	if n := h.at(0).call("GET", "/contacts/count", "", 200, "").Text("count"); n != "1" {
		t.Errorf("%s contacts", n)
	}
}

// TestRevocationIsSeenByAllReplicas revokes keys, changes roles and closes offices during calls to
// all replicas. A call that begins after the response to such an act must see its effect on any
// replica.
func TestRevocationIsSeenByAllReplicas(t *testing.T) {
	t.Parallel()
	newPostgresCluster(t, 3).revoke(t)
}

func (h *cluster) revoke(t *testing.T) {
	with := func(args ...string) []string { return append(args, h.store...) }
	acts := []struct {
		name  string
		act   func(key, user string)
		after int // the status of a POST that begins after the act
	}{
		{"key revoke", func(key, _ string) { kartei(t, with("key", "revoke", key)...) }, 401},
		{"key pause", func(key, _ string) { kartei(t, with("key", "pause", key)...) }, 401},
		{"user set --role", func(_, user string) { kartei(t, with("user", "set", user, "--role", "viewer")...) }, 403},
		{"user set --disable", func(_, user string) { kartei(t, with("user", "set", user, "--disable")...) }, 401},
	}
	for i, a := range acts {
		t.Run(a.name, func(t *testing.T) {
			user := read[struct{ ID string }](t, with("user", "create", "--org", h.office.ID, "--name", "Karl Tal",
				"--email", fmt.Sprintf("karl%d@example.com", i), "--role", "member")...)
			key := read[struct{ ID, Key string }](t,
				with("key", "create", "--org", h.office.ID, "--principal", user.ID, "--env", "test",
					"--scopes", "contacts:read,contacts:write", "--ip", "127.0.0.1/32")...)
			var done atomic.Bool
			var calling, warm sync.WaitGroup
			for _, s := range h.servers {
				for n := range 2 {
					warm.Add(1)
					calling.Go(func() {
						as, after := newHTTPClient(key.Key), 0
						for call := 0; after < 3; call++ {
							began := done.Load()
							answer, err := as.call(s.URL+"/v1", "POST", "/contacts", `{"lastName":"Tal"}`, "Idempotency-Key",
								fmt.Sprintf("%s-%d-%d-%d", key.ID, s.cmd.Process.Pid, n, call))
							if call == 0 {
								warm.Done()
							}
							switch {
							case err != nil:
								t.Error(err)
								return
							case began && answer.Status != a.after:
								t.Errorf("a call after it: %d %s", answer.Status, answer.Body)
							case !began && answer.Status != 201 && answer.Status != a.after:
								t.Errorf("a call before it: %d %s", answer.Status, answer.Body)
							}
							if began {
								after++
							}
						}
					})
				}
			}
			defer func() {
				done.Store(true)
				calling.Wait()
			}()
			warm.Wait()
			a.act(key.ID, user.ID)
		})
	}
}

// TestFiveReplicasStartTogether starts five replicas on an empty database without a master key. One
// replica creates the key, one migrates the database, and all serve calls.
func TestFiveReplicasStartTogether(t *testing.T) {
	t.Parallel()
	url, dir := dbtest.EmptyPostgresURL(t), t.TempDir()
	servers := make([]*server, 5)
	var starting sync.WaitGroup
	for i := range servers {
		starting.Go(func() {
			s, err := launch("serve", "--database-url", url, "--data-dir", filepath.Join(dir, fmt.Sprint(i)),
				"--master-key-file", filepath.Join(dir, "master.key"), "--blob-url", "file:"+filepath.Join(dir, "files"))
			if err != nil {
				t.Error(err)
				return
			}
			servers[i] = s
		})
	}
	starting.Wait()
	t.Cleanup(func() {
		for _, s := range servers {
			if s != nil {
				s.kill()
			}
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	o := found(t, "--database-url", url, "--data-dir", filepath.Join(dir, "3"))
	cursor := ""
	for i, s := range servers {
		as := client{t, s, o.Key}
		for n := range 3 {
			as.call("POST", "/contacts", `{"lastName":"Berg"}`, 201, "", "Idempotency-Key", fmt.Sprintf("%d-%d", i, n))
		}
		// A cursor from one replica is valid on all.
		page := as.call("GET", "/contacts?limit=1"+cursor, "", 200, "")
		if i == 0 {
			cursor = "&cursor=" + page.Text("nextCursor")
		}
		get(t, s.Operator+"/readyz", 200)
	}
}

// TestRollingRestart replaces the replicas behind the load balancer one after the other. Clients
// with ordinary keep-alive connections call meanwhile, and each call must succeed.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	// The limits are on, because replicas hand their counts over when they end.
	h := newPostgresCluster(t, 2, "--drain-time", "6s", "--limits",
		"key=1000000,writes=1000000,principal=1000000,organization=2000000,outflow=1000000,concurrency=100")
	ctx, cancel := h.going()
	defer cancel()
	stop := make(chan struct{})
	var calling sync.WaitGroup
	for n := range 4 {
		calling.Go(func() {
			as := newHTTPClient(h.office.Key)
			for call := 0; ; call++ {
				select {
				case <-stop:
					return
				default:
				}
				method, path, body, want, headers := "POST", "/contacts", `{"lastName":"Berg"}`, 201, []string{
					"Idempotency-Key", fmt.Sprintf("%d-%d", n, call),
				}
				if n%2 == 0 {
					method, path, body, want, headers = "GET", "/contacts?limit=5", "", 200, nil
				}
				if a, err := as.call(h.front.URL+"/v1", method, path, body, headers...); err != nil || a.Status != want {
					t.Errorf("call %d: %v %+v", call, err, a)
					return
				}
				h.wrote()
			}
		})
	}
	for i := range h.servers {
		if h.written(ctx, h.writes.Load()+40, nil) != nil {
			break
		}
		old := h.servers[i]
		old.cmd.Process.Signal(syscall.SIGTERM)
		old.wait(t) // The load balancer learns of the end from /readyz alone.
		h.openOne(i)
	}
	h.written(ctx, h.writes.Load()+40, nil)
	close(stop)
	calling.Wait()
}
