package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"kartei/test/dbtest"
	"kartei/test/waittest"
)

// TestThroughPgbouncer runs replicas through PgBouncer in transaction mode, with fewer server
// connections than the replicas use. Statements of a transaction stay together, and the replicas
// rely on no session state. A revoked key is refused at once, although notifications do not work.
func TestThroughPgbouncer(t *testing.T) {
	t.Parallel()
	own := dbtest.OwnServer(t, "max_connections=40", "fsync=off")
	pooler := pgbouncer(t, own, "pool_mode = transaction\ndefault_pool_size = 4")
	dir := t.TempDir()
	// Without the setting, the error message names the pooler, and not an unreachable server.
	if _, errs, status := try(t, "migrate", "--data-dir", dir, "--database-url", pooler); status == 0 ||
		!strings.Contains(errs, "default_query_exec_mode=exec") {
		t.Errorf("a pooler without the setting: exit %d, %s", status, errs)
	}
	pooler += "&default_query_exec_mode=exec"
	if _, errs, status := try(t, "serve", "--data-dir", dir, "--database-url", pooler, "--listen", "127.0.0.1:0",
		"--operator-listen", "127.0.0.1:0"); status == 0 || !strings.Contains(errs, "server itself") {
		t.Errorf("an empty database through the pooler: exit %d, %s", status, errs)
	}
	kartei(t, "migrate", "--data-dir", dir, "--database-url", own.URL())
	h := newCluster(t, 2, pooler, "--data-dir", dir, "--database-url", pooler)
	h.revoke(t)
	before := h.settle()
	writers := h.write(6, func(ctx context.Context) { h.storm(ctx, times("KARTEI_KILLS", 3)) })
	h.close()
	after := h.settle()
	for id := range before.contacts { // revoke has created these contacts.
		delete(after.contacts, id)
		after.keys--
	}
	h.known(after, writers)
}

// TestThroughPgbouncerSessions runs a server through PgBouncer in session mode, with the line of
// replicas.md. Without the line, the error message names it.
func TestThroughPgbouncerSessions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operating/replicas.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ignore_startup_parameters = .*$`).FindString(string(page))
	own, dir := dbtest.OwnServer(t, "max_connections=100", "fsync=off"), t.TempDir()
	const sessions = "pool_mode = session\ndefault_pool_size = 80\n"
	store := []string{"--data-dir", dir, "--database-url", pgbouncer(t, own, sessions)}
	if _, errs, status := try(t, append([]string{"migrate"}, store...)...); status == 0 ||
		!strings.Contains(errs, "ignore_startup_parameters") {
		t.Errorf("without the line: exit %d, %s", status, errs)
	}
	store[3] = pgbouncer(t, own, sessions+line)
	kartei(t, append([]string{"migrate"}, store...)...)
	start(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"}, store...)...)
	kartei(t, append([]string{"org", "create", "Kanzlei"}, store...)...)
}

// pgbouncer starts a PgBouncer for a server and returns its URL. settings are lines of its file. It
// is stopped when the test ends.
func pgbouncer(t *testing.T, server *dbtest.Server, settings string) (url string) {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !isProgram(program) {
			missing(t, "no PgBouncer (on Debian: apt-get install pgbouncer)")
		}
	}
	// PgBouncer refuses to run as root. Its user must have access to its folder.
	info, err := os.Stat(filepath.Join(server.Dir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	dir, err := os.MkdirTemp("/tmp", "kartei-pgbouncer-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ini := filepath.Join(dir, "pgbouncer.ini")
	config := fmt.Sprintf(`[databases]
postgres = host=%s user=postgres
[pgbouncer]
listen_port = 6432
unix_socket_dir = %s
auth_type = any
max_client_conn = 200
%s
`, server.Dir(), dir, settings)
	if err := os.WriteFile(ini, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, ini)
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	var log strings.Builder
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		c.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		c.Process.Kill()
		<-ended
	})
	for end := time.Now().Add(waittest.Bound); ; {
		conn, err := net.Dial("unix", filepath.Join(dir, ".s.PGSQL.6432"))
		if err == nil {
			conn.Close()
			return "postgres://postgres@/postgres?port=6432&host=" + dir
		}
		select {
		case <-ended:
			t.Fatalf("PgBouncer ended: %s", &log)
		default:
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0
}
