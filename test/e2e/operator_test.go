package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"kartei/test/dbtest"
)

// TestOperatorsDay checks the tasks of an operator on SQLite: setup, backup and restore, API keys,
// the pause, and an upgrade.
func TestOperatorsDay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := []string{"--data-dir", dir}
	on := func(args ...string) []string { return append(args, data...) }
	served := start(t, on("serve", "--limits", "writes=1000")...)
	office := found(t, data...)
	s := client{t, served, office.Key}
	for i := range 20 {
		s.call("POST", "/contacts", fmt.Sprintf(`{"lastName":"Nr. %d"}`, i), 201, "", "Idempotency-Key",
			fmt.Sprint("day-", i))
	}

	// The error of a second process on the same data names the process that holds the data.
	for _, second := range [][]string{
		on("serve", "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"),
		on("restore", filepath.Join(dir, "none")),
	} {
		_, errs, status := try(t, second...)
		if holder := fmt.Sprintf("process %d ", served.cmd.Process.Pid); status != 1 ||
			second[0] == "serve" && !strings.Contains(errs, holder) {
			t.Errorf("kartei %s: exit %d, %s", second[0], status, errs)
		}
	}

	backup(t, s, office, on)
	keys(t, s, office, on)

	// A pause survives a restart.
	kartei(t, on("pause")...)
	paused := s.call("GET", "/me", "", 503, "API_PAUSED")
	if paused.Header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	get(t, served.Operator+"/healthz", 200)
	get(t, served.Operator+"/readyz", 200)
	served.stop(t)
	if log := served.Log(); !strings.Contains(log, "There is no organization yet") ||
		!strings.Contains(log, " user invite --org ORG") {
		t.Error("the first start did not say what to do next")
	}
	s.server = start(t, on("serve", "--limits", "writes=1000")...)
	s.call("GET", "/me", "", 503, "API_PAUSED")
	kartei(t, on("resume")...)
	s.call("GET", "/me", "", 200, "")

	upgrade(t, s, on)

	// Without a server, commands open the data themselves.
	orgs := read[struct{ Data []struct{ ID string } }](t, on("org", "list")...)
	if len(orgs.Data) != 2 || orgs.Data[0].ID != office.ID && orgs.Data[1].ID != office.ID {
		t.Errorf("organizations: %+v", orgs)
	}
	kartei(t, on("migrate", "--status")...)
}

// TestBackupOfPostgres makes a backup of a PostgreSQL database while a server runs, and restores it
// to an empty database.
func TestBackupOfPostgres(t *testing.T) {
	t.Parallel()
	url, empty := dbtest.PostgresURL(t), dbtest.EmptyPostgresURL(t)
	for _, tool := range []string{"pg_dump", "pg_restore"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing(t, tool+" is not installed")
		}
	}
	dir := t.TempDir()
	store := []string{"--data-dir", dir, "--database-url", url}
	s := client{t, start(t, append([]string{"serve"}, store...)...), found(t, store...).Key}
	for i := range 5 {
		s.call("POST", "/contacts", fmt.Sprintf(`{"lastName":"Nr. %d"}`, i), 201, "", "Idempotency-Key", fmt.Sprint(i))
	}
	before := s.call("GET", "/contacts", "", 200, "")
	copied := filepath.Join(t.TempDir(), "copy")
	kartei(t, append([]string{"backup", copied}, store...)...)
	s.server.stop(t)
	if _, errs, status := try(t, append([]string{"restore", copied}, store...)...); status != 1 ||
		!strings.Contains(errs, "--force") {
		t.Errorf("restore over data that exists: exit %d %s", status, errs)
	}
	elsewhere := []string{"--data-dir", t.TempDir(), "--database-url", empty}
	kartei(t, append([]string{"restore", copied}, elsewhere...)...)
	// Without the master key, a server refuses to start on the copy.
	serve := append([]string{"serve", "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"}, elsewhere...)
	if _, errs, status := try(t, serve...); status != 1 || !strings.Contains(errs, "another master key") ||
		!strings.Contains(errs, "--master-key-file") {
		t.Errorf("without the master key: exit %d %s", status, errs)
	}
	other := client{
		t,
		start(t, append([]string{"serve", "--master-key-file", filepath.Join(dir, "master.key")}, elsewhere...)...),
		s.key,
	}
	if after := other.call("GET", "/contacts", "", 200, ""); !bytes.Equal(after.Body, before.Body) {
		t.Errorf("the copy has\n%s\nnot\n%s", after.Body, before.Body)
	}
	other.call("POST", "/contacts", `{"lastName":"Neu"}`, 201, "", "Idempotency-Key", "new")
}

// TestExampleOfSettings checks that the server accepts the settings file in
// docs/operating/settings.md.
func TestExampleOfSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operating/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(text), "```toml\n")
	if !found {
		t.Fatal("the page shows no file")
	}
	example, _, _ = strings.Cut(example, "```")
	file := filepath.Join(t.TempDir(), "kartei.toml")
	if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	kartei(t, "config", "--config", file)
}

// backup makes a backup during writes, restores it to a new folder, and starts a server there.
func backup(t *testing.T, s client, office office, on func(...string) []string) {
	before := pageOf(t, s.call("GET", "/contacts?limit=100&sort=updatedAt", "", 200, ""))
	copied := filepath.Join(t.TempDir(), "copy")
	var writing sync.WaitGroup
	stop := make(chan struct{})
	writing.Go(func() {
		as := newHTTPClient(s.key)
		for i := range 50 { // More calls would exceed the limit of the key.
			select {
			case <-stop:
				return
			default:
			}
			a, err := as.call(s.URL+"/v1", "POST", "/contacts", `{"lastName":"Spät"}`, "Idempotency-Key", fmt.Sprint("late-", i))
			if err != nil || a.Status != 201 {
				t.Errorf("while a copy is made: %+v %v", a, err)
				return
			}
		}
	})
	made := read[struct {
		File  string
		Bytes int64
	}](t, on("backup", copied)...)
	close(stop)
	writing.Wait()
	if info, err := os.Stat(copied); err != nil || info.Size() != made.Bytes {
		t.Errorf("backup says %+v, %v", made, err)
	}
	if _, errs, status := try(t, on("backup", copied)...); status != 1 {
		t.Errorf("a copy that exists: exit %d %s", status, errs)
	}

	elsewhere := t.TempDir()
	kartei(t, "restore", copied, "--data-dir", elsewhere)
	// The master key was lost with the machine.
	if _, errs, status := try(t, "serve", "--data-dir", elsewhere, "--listen", "127.0.0.1:0", "--operator-listen",
		"127.0.0.1:0"); status != 1 || !strings.Contains(errs, "master-key forget") {
		t.Errorf("without the master key: exit %d %s", status, errs)
	}
	kartei(t, "master-key", "forget", "--data-dir", elsewhere)
	other := client{t, start(t, "serve", "--data-dir", elsewhere), office.Key}
	after := pageOf(t, other.call("GET", "/contacts?limit=100&sort=updatedAt", "", 200, ""))
	for i, want := range before.Data {
		if len(after.Data) <= i || after.Data[i] != want {
			t.Fatalf("contact %d of the copy is not %+v", i, want)
		}
	}
	// The copy is a complete instance and can be changed.
	if events := pageOf(t, other.call("GET", "/events?limit=1", "", 200, "")); len(events.Data) != 1 {
		t.Error("the copy has no events")
	}
	other.call("POST", "/contacts", `{"lastName":"Neu"}`, 201, "", "Idempotency-Key", "new")
	other.server.stop(t)
	if _, errs, status := try(t, "restore", copied, "--data-dir", elsewhere); status != 1 ||
		!strings.Contains(errs, "--force") {
		t.Errorf("restore over data that exists: exit %d %s", status, errs)
	}
}

// mistyped returns the key with another last letter.
func mistyped(key string) string {
	last := "x"
	if strings.HasSuffix(key, last) {
		last = "y"
	}
	return key[:len(key)-1] + last
}

// keys creates, rotates and pauses keys, and uses invalid ones. Each refusal is the same 401. The
// request log has the exact reason.
func keys(t *testing.T, s client, office office, on func(...string) []string) {
	type key struct{ ID, Key string }
	create := func(env string, ip string) key {
		return read[key](t, on("key", "create", "--org", office.ID, "--principal", office.User, "--env", env, "--scopes",
			"contacts:read", "--ip", ip)...)
	}
	as := func(k key) client { return client{t, s.server, k.Key} }
	one, far := create("test", "127.0.0.1"), create("test", "192.0.2.0/24")
	as(one).call("GET", "/me", "", 200, "")
	rotated := read[key](t, on("key", "rotate", one.ID)...)
	as(rotated).call("GET", "/me", "", 200, "")

	refusals := []struct {
		reason string
		key    key
	}{
		{"rotated", one},
		{"address", far},
		{"checksum", key{Key: mistyped(rotated.Key)}},
		{"malformed", key{Key: "kart_test"}},
		{"missing", key{}},
	}
	var bodies []string
	for _, r := range refusals {
		a := as(r.key).call("GET", "/contacts", "", 401, "UNAUTHENTICATED")
		bodies = append(bodies, strings.Replace(string(a.Body), a.Text("requestId"), "", 1))
	}
	for i, body := range bodies {
		if body != bodies[0] {
			t.Errorf("401 for %s is\n%s\nfor %s\n%s", refusals[i].reason, body, refusals[0].reason, bodies[0])
		}
	}
	for _, act := range [][2]string{{"pause", "paused"}, {"revoke", "revoked"}} {
		kartei(t, on("key", act[0], rotated.ID)...)
		as(rotated).call("GET", "/contacts", "", 401, "UNAUTHENTICATED")
		refusals = append(refusals, struct {
			reason string
			key    key
		}{act[1], rotated})
		if act[0] == "pause" {
			kartei(t, on("key", "resume", rotated.ID)...)
			as(rotated).call("GET", "/contacts", "", 200, "")
		}
	}
	var log struct {
		Data []struct {
			Reason, KeyID, Address string
			Status                 int
		}
	}
	decode(t, kartei(t, on("log", "--status", "401", "--json")...), &log)
	if len(log.Data) != len(refusals) {
		t.Fatalf("the log has %d refusals, want %d: %+v", len(log.Data), len(refusals), log.Data)
	}
	for i, r := range refusals {
		got := log.Data[len(refusals)-1-i] // newest first
		if got.Reason != r.reason || got.Status != 401 || got.Address != "127.0.0.1" ||
			r.key.ID != "" && got.KeyID != r.key.ID {
			t.Errorf("refusal %d is %+v, want %s of %q", i, got, r.reason, r.key.ID)
		}
	}
	if all := kartei(t, on("log", "--key", rotated.ID)...); strings.Contains(all, rotated.Key) {
		t.Error("the log holds a secret")
	}
}

// upgrade stops the server with SIGTERM during a call. The call gets its response, and the server
// accepts no further call. The next server has the data of the call.
func upgrade(t *testing.T, s client, on func(...string) []string) {
	body := `{"lastName":"Unterwegs"}`
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/contacts HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nSvc-Preview: true\r\n"+
		"Idempotency-Key: in-flight\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", s.key, len(body))
	answers := bufio.NewReader(conn)
	if go100, err := answers.ReadString('\n'); err != nil || !strings.Contains(go100, " 100 ") {
		t.Fatalf("%q %v", go100, err)
	}
	answers.ReadString('\n')
	s.server.cmd.Process.Signal(syscall.SIGTERM) // The call is still waiting for its body.
	s.server.says(t, "stopping")
	io.WriteString(conn, body)
	response, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatalf("the call in flight got no answer: %v", err)
	}
	content, _ := io.ReadAll(response.Body)
	if response.StatusCode != 201 || !bytes.Contains(content, []byte("Unterwegs")) {
		t.Errorf("the call in flight got %d %s", response.StatusCode, content)
	}
	s.server.wait(t)
	if _, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://")); err == nil {
		t.Error("a server that has ended takes connections")
	}
	s.server = start(t, on("serve", "--limits", "writes=1000")...)
	again := s.call("POST", "/contacts", body, 201, "", "Idempotency-Key", "in-flight")
	if !bytes.Equal(again.Body, content) || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("after the restart: %s", again.Body)
	}
	s.server.stop(t)
}

// TestConfigHidesSecrets checks that kartei config prints the effective settings without passwords.
func TestConfigHidesSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "kartei.toml")
	if err := os.WriteFile(file, []byte("listen = \"127.0.0.1:9000\"\nmetered = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, form := range [][]string{nil, {"--json"}} {
		c := command(append([]string{"config", "--config", file, "--guesses", "7"}, form...)...)
		c.Env = append(c.Env, "KARTEI_DATABASE_URL=postgres://kartei:geheim@db.example/kartei?password=geheim&sslmode=require", "KARTEI_METERED=true")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if bytes.Contains(out, []byte("geheim")) {
			t.Errorf("config shows a secret:\n%s", out)
		}
		for _, want := range []string{"127.0.0.1:9000", "KARTEI_METERED", "db.example", "kartei.toml", "flag"} {
			if !bytes.Contains(out, []byte(want)) {
				t.Errorf("config says nothing of %s:\n%s", want, out)
			}
		}
	}
}
