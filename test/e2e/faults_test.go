package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kartei/test/dbtest"
	"kartei/test/waittest"

	"github.com/jackc/pgx/v5"
)

// ledger creates contacts while the database has faults. It compares the data with the acknowledged
// contacts.
type ledger struct {
	*cluster
	t            *testing.T
	as           *httpClient
	random       *rand.Rand
	sequence     int
	acknowledged map[string]string // maps an id to the body
}

func newLedger(t *testing.T, h *cluster) *ledger {
	return &ledger{
		cluster:      h,
		t:            t,
		as:           newHTTPClient(h.office.Key),
		random:       h.numbers(1),
		acknowledged: map[string]string{},
	}
}

// post creates a contact. The call must succeed, or fail with a Retry-After.
func (l *ledger) post() (accepted bool) {
	l.t.Helper()
	l.sequence++
	note := make([]byte, 4000) // data that does not compress
	for i := range note {
		note[i] = byte('a' + l.random.IntN(26))
	}
	a := l.answer("POST", "/contacts", fmt.Sprintf(`{"lastName":"Fall %d","note":%q}`, l.sequence, note),
		"Idempotency-Key", fmt.Sprint("fault-", l.sequence))
	if a.Status == 201 {
		l.acknowledged[a.Text("id")] = string(a.Body)
	}
	return a.Status == 201
}

// read requests a list. The call must succeed, or fail with a Retry-After.
func (l *ledger) read() (answered bool) {
	l.t.Helper()
	return l.answer("GET", "/contacts?limit=2", "").Status == 200
}

// answer sends a request. It fails the test if the response is another refusal than the allowed
// ones.
func (l *ledger) answer(method, path, body string, headers ...string) *answer {
	l.t.Helper()
	a, err := l.as.call(l.servers[0].URL+"/v1", method, path, body, headers...)
	if err != nil {
		l.t.Fatal(err)
	}
	switch code := a.Text("code"); {
	case a.Status < 300:
	case a.Header.Get("Retry-After") == "" || a.Text("requestId") == "":
		l.t.Fatalf("a refusal without Retry-After or requestId: %d %s", a.Status, a.Body)
	case a.Status == 503 && code == "INSTANCE_PENDING", a.Status == 429 && code == "OVERLOADED":
	default:
		l.t.Fatalf("refused with %d %s", a.Status, a.Body)
	}
	return a
}

// over calls f until f returns true. It fails the test after waittest.Bound.
func (l *ledger) over(f func() bool) {
	l.t.Helper()
	for end := time.Now().Add(waittest.Bound); !f(); {
		if time.Now().After(end) {
			l.t.Fatal("the trouble is not over")
		}
	}
}

// got reads a path until the response is 200, because a busy machine may refuse some calls.
func (l *ledger) got(path string) (body []byte) {
	l.t.Helper()
	l.over(func() bool {
		a := l.answer("GET", path, "")
		body = a.Body
		return a.Status == 200
	})
	return body
}

// verify compares the contacts of the office with the acknowledged ones.
func (l *ledger) verify() {
	l.t.Helper()
	var count struct{ Count int }
	if err := json.Unmarshal(l.got("/contacts/count"), &count); err != nil || count.Count != len(l.acknowledged) {
		l.t.Errorf("%d contacts, %d were acknowledged", count.Count, len(l.acknowledged))
	}
	for id, body := range l.acknowledged {
		if got := l.got("/contacts/" + id); string(got) != body {
			l.t.Errorf("acknowledged was %.300s, there is %.300s", body, got)
		}
	}
}

// trouble is a fault of a PostgreSQL server.
type trouble struct {
	name  string
	reads bool   // whether reads succeed meanwhile
	told  string // the reason in /readyz
	make  func(t *testing.T) (end func())
}

// troubles returns faults of the server own. address is the database URL of the cluster.
func troubles(h *cluster, own *dbtest.Server, address string) []trouble {
	return []trouble{
		{"stopped", false, "", func(t *testing.T) func() {
			own.Stop()
			return func() { restart(t, own) }
		}},
		{"crashed", false, "", func(t *testing.T) func() {
			own.Kill()
			return func() { restart(t, own) }
		}},
		{"row locked", true, "", h.holdClock},
		{"table locked", false, "", func(t *testing.T) func() {
			tx, err := h.connect(t).Begin(t.Context())
			if err == nil {
				_, err = tx.Exec(t.Context(), "lock table contacts in access exclusive mode")
			}
			if err != nil {
				t.Fatal(err)
			}
			return func() { tx.Rollback(t.Context()) }
		}},
		{"slow statements", true, "", func(t *testing.T) func() {
			execute(t, own, "create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(60); return new; end'",
				"create trigger slow before insert on contacts for each row execute function slow()")
			return func() { execute(t, own, "drop trigger slow on contacts", "drop function slow") }
		}},
		{"out of connections", false, "", func(t *testing.T) func() { return takeConnections(t, address) }},
		{"read-only", true, "the database is read-only", func(t *testing.T) func() {
			execute(t, own, "alter system set default_transaction_read_only = on", "select pg_reload_conf()")
			return func() {
				execute(t, own, "set default_transaction_read_only = off", "alter system reset default_transaction_read_only",
					"select pg_reload_conf()")
			}
		}},
		{
			"disk full", true, "the disk of the database server is full",
			func(t *testing.T) func() { return fillTable(t, own) },
		},
	}
}

// execute runs statements on a database server.
func execute(t *testing.T, own *dbtest.Server, statements ...string) {
	t.Helper()
	ctx := context.Background() // also valid during cleanup
	conn, err := pgx.Connect(ctx, own.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// fillTable moves a table to its own small disk, and fills this disk.
func fillTable(t *testing.T, own *dbtest.Server) (end func()) {
	t.Helper()
	disk := smallDisk(t, 64<<20)
	data, err := os.Stat(filepath.Join(own.Dir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	owner := data.Sys().(*syscall.Stat_t)
	place := filepath.Join(disk, "table")
	for _, err := range []error{os.Mkdir(place, 0o700), os.Chown(place, int(owner.Uid), int(owner.Gid))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	openFolder(t, disk)
	execute(t, own, "create tablespace small location '"+place+"'", "alter table contacts set tablespace small")
	t.Cleanup(func() { execute(t, own, "alter table contacts set tablespace pg_default", "drop tablespace small") })
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	return func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPostgresInTrouble causes each fault of a PostgreSQL server in turn. Kartei recovers from each
// without a restart.
func TestPostgresInTrouble(t *testing.T) {
	own := dbtest.OwnServer(t, "max_connections=40", "shared_buffers=16MB")
	address := own.URL() + "&lock_timeout=300&statement_timeout=1500"
	h := newCluster(t, 1, address, "--data-dir", t.TempDir(), "--database-url", address)
	l := newLedger(t, h)
	for _, trouble := range troubles(h, own, address) {
		t.Run(trouble.name, func(t *testing.T) {
			l.t = t
			l.survives(trouble)
		})
	}
	h.close()
	if data := h.settle(); len(data.contacts) != len(l.acknowledged) {
		t.Errorf("%d contacts, %d were acknowledged", len(data.contacts), len(l.acknowledged))
	}
}

// survives causes a fault, checks the server meanwhile, and ends the fault.
func (l *ledger) survives(trouble trouble) {
	l.t.Helper()
	operator := l.servers[0].Operator
	for range 3 {
		l.over(l.post)
	}
	end := trouble.make(l.t)
	// Space that is left may take some data, and a setting takes a moment to apply.
	l.over(func() bool { return !l.post() })
	for range 3 {
		if l.post() {
			l.t.Error("a creation was acknowledged")
		}
	}
	if l.read() != trouble.reads {
		l.t.Errorf("reads must go on: %t", trouble.reads)
	}
	get(l.t, operator+"/healthz", 200)
	if trouble.told != "" {
		get(l.t, operator+"/readyz", 200, `"name":"writes","ok":false,"reason":"`+trouble.told)
	}
	end()
	l.over(l.read)
	l.over(l.post)
	l.verify()
	l.over(func() bool { return l.post() && !strings.Contains(get(l.t, operator+"/readyz", 200), `"ok":false`) })
}

// openFolder lets other users enter a folder of the test and its parents.
func openFolder(t *testing.T, dir string) {
	t.Helper()
	for temp := os.TempDir() + "/"; strings.HasPrefix(dir, temp); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPostgresDiskFull fills the only disk of a PostgreSQL server, which holds both the data and
// the log. PostgreSQL refuses writes or ends. When the disk has space and PostgreSQL runs again,
// all acknowledged data is there. Kartei is not restarted.
func TestPostgresDiskFull(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 160<<20)
	openFolder(t, disk)
	own := dbtest.OwnServerIn(t, disk, "max_connections=20", "shared_buffers=16MB", "max_wal_size=32MB",
		"min_wal_size=32MB")
	h := newCluster(t, 1, own.URL(), "--data-dir", t.TempDir(), "--database-url", own.URL())
	l := newLedger(t, h)
	for range 10 {
		l.post()
	}
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	// Existing pages and log files still have space.
	for refused := 0; refused < 5; refused++ {
		for l.post() {
			refused = 0
		}
	}
	get(t, h.servers[0].Operator+"/healthz", 200)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	l.over(func() bool {
		select {
		case <-own.Ended():
			t.Log("PostgreSQL ended")
			restart(t, own)
		default:
		}
		return l.post()
	})
	l.verify()
	h.close()
	if data := h.settle(); len(data.contacts) != len(l.acknowledged) {
		t.Errorf("%d contacts, %d were acknowledged", len(data.contacts), len(l.acknowledged))
	}
}

func restart(t *testing.T, s *dbtest.Server) {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
}

// takeConnections takes all connections of the database server, even those that Kartei has open.
func takeConnections(t *testing.T, address string) (giveBack func()) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var taken []*pgx.Conn
	for all, watch := false, waittest.New(); !all; {
		conn, err := pgx.Connect(t.Context(), u.String())
		if err == nil {
			taken = append(taken, conn)
		}
		if len(taken) == 0 || watch.IsStuck(len(taken)) {
			t.Fatalf("%d connections, and no more: %v", len(taken), err)
		}
		// A connection that is being opened has no state and no application name yet.
		err = taken[0].QueryRow(t.Context(), `select count(*) filter (where state is not null and application_name <> 'kartei') >= cast(current_setting('max_connections') as int),
			count(pg_terminate_backend(pid)) filter (where application_name = 'kartei') from pg_stat_activity where backend_type = 'client backend'`).Scan(&all, new(int))
		if err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, conn := range taken {
			conn.Close(context.Background())
		}
	}
}
