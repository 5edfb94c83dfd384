package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kartei/cmd/kartei/command"
	"kartei/kit/masterkey"
	"kartei/store/db"
	"kartei/store/db/open"
	"kartei/store/db/sqlite"
	"kartei/test/linetest"
)

// newCommands returns the commands without values.
func newCommands() command.Line { return new(commands) }

// newShell returns a new data folder with an empty database.
func newShell(t *testing.T) linetest.Folder { return linetest.NewFolder(t, newCommands) }

// TestScripts checks that commands work as scripts use them.
func TestScripts(t *testing.T) {
	s := newShell(t)
	org := s.Answer("org", "create", "Kanzlei")["id"].(string)
	for _, setting := range [][]string{
		{"--module", "on"}, {"--module", "off"}, {"--level", "off"}, {"--level", "read"}, {"--level", "on"},
		{"--secrecy", "undeclared"}, {"--secrecy", "declared"}, {"--state", "closed"}, {"--state", "deleting"},
		{"--state", "open"},
		{"--name", "Büro"},
	} {
		name := strings.TrimPrefix(setting[0], "--")
		if got := s.Answer(append([]string{"org", "set", org}, setting...)...)[name]; got != setting[1] {
			t.Errorf("%v: %v", setting, got)
		}
	}
	user := s.Answer("user", "create", "--org", org, "--name", "Ida", "--email", "ida@example.org", "--rights",
		"tasks=none,documents=read")
	if rights := user["rights"].(map[string]any); rights["tasks"] != "none" || rights["documents"] != "read" ||
		user["role"] != "member" {
		t.Errorf("user: %v", user)
	}
	id := user["id"].(string)
	robot := s.Answer("service-account", "create", "--org", org, "--name", "Abgleich", "--role", "viewer")["id"].(string)
	key := s.Answer("key", "create", "--org", org, "--principal", id, "--env", "test", "--scopes",
		"contacts:read,contacts:write", "--ip", "127.0.0.1/32", "--expires-in", "30d", "--pin", "2026-11-01")
	if len(key) != 4 || key["id"] == nil || key["key"] == nil || key["expiresAt"] == nil ||
		!strings.HasPrefix(key["key"].(string), "kart_test_"+key["kidShort"].(string)) {
		t.Errorf("key: %v", key)
	}
	keyID := key["id"].(string)
	for _, c := range []struct {
		line         []string
		member, want string
	}{
		{[]string{"org", "show", org}, "name", "Büro"},
		{
			[]string{"user", "set", id, "--name", "Ida N.", "--email", "n@example.org", "--role", "admin"},
			"email",
			"n@example.org",
		},
		{[]string{"service-account", "set", robot, "--disable"}, "name", "Abgleich"},
		{[]string{"key", "pause", keyID}, "status", "paused"},
		{[]string{"key", "resume", keyID}, "status", "active"},
		{[]string{"key", "show", keyID}, "status", "active"},
		{[]string{"key", "pause", key["kidShort"].(string)}, "id", keyID},
		{[]string{"key", "resume", "kart_test_" + key["kidShort"].(string) + "..."}, "id", keyID},
		{[]string{"key", "rotate", keyID, "--expires-in", "1h"}, "id", keyID},
		{[]string{"key", "revoke", keyID}, "status", "revoked"},
	} {
		if got := s.Answer(c.line...)[c.member]; got != c.want {
			t.Errorf("%v: %s is %v, want %s", c.line, c.member, got, c.want)
		}
	}
	for _, c := range []struct {
		line []string
		want int
	}{
		{[]string{"org", "list"}, 2}, {[]string{"org", "list", "--limit", "1"}, 1}, {[]string{"user", "list"}, 1},
		{[]string{"user", "list", "--org", org}, 1}, {[]string{"service-account", "list", "--org", org}, 1},
		{[]string{"key", "list", "--org", org}, 1}, {[]string{"key", "list", "--after", keyID}, 0},
	} {
		if got := len(s.Answer(c.line...)["data"].([]any)); got != c.want {
			t.Errorf("%v: %d entries, want %d", c.line, got, c.want)
		}
	}
}

// TestRefusedCommands checks that errors on standard error name the flag. The exit status
// distinguishes a wrong command line from a failed command.
func TestRefusedCommands(t *testing.T) {
	s := newShell(t)
	org := s.Answer("org", "create", "Kanzlei")["id"].(string)
	for _, c := range []struct {
		line   []string
		status int
		want   string
	}{
		{[]string{"key", "create"}, 2, "missing flags: --env"},
		{[]string{"org", "set", org}, 2, "nothing to change: give --name, --module"},
		{[]string{"user", "set", "usr_x", "--disable", "--enable"}, 2, "--disable and --enable can't be used together"},
		{[]string{
			"key", "create", "--org", org, "--principal", "usr_x", "--env", "test", "--scopes", "a:b",
			"--expires-in", "0s",
		}, 2, "--expires-in"},
		{[]string{"key", "rotate", "key_x", "--expires-in", "a month"}, 2, "not a duration such as 30d"},
		{
			[]string{"org", "list", "--config", "/no/such/file.toml"},
			2,
			"kartei: the configuration file: open /no/such/file.toml",
		},
		{[]string{"key", "pause", "aaaaaaaa"}, 1, "key pause: There is no key with this id"},
		{[]string{"org", "set", org, "--level", "write"}, 1, "org set: --level: Allowed values: off, read, on"},
		{[]string{"org", "show", "org_x"}, 1, "org show: There is no organization with this id"},
		{[]string{
			"key", "create", "--org", org, "--principal", "usr_x", "--env", "live", "--scopes",
			"contacts:read,x", "--ip", "::1,nowhere",
		}, 1,
			"--principal: There is no such user or service account in this organization; --env: The API of this organization is off"},
		{[]string{"user", "create", "--org", org, "--name", "Ida", "--email", "ida"}, 1, "user create: --email: "},
	} {
		status, out, errs := s.Try(c.line...)
		if status != c.status || out != "" || !strings.Contains(errs, c.want) || !strings.HasPrefix(errs, "kartei: ") ||
			strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: status %d, out %q, err %q, want %d and %q", c.line, status, out, errs, c.status, c.want)
		}
	}
}

// TestTables checks that commands print tables without --json. A new key is printed with the advice
// to store it.
func TestTables(t *testing.T) {
	s := newShell(t)
	org := s.Answer("org", "create", "Kanzlei")["id"].(string)
	robot := s.Answer("service-account", "create", "--org", org, "--name", "Abgleich")["id"].(string)
	_, out, _ := s.Try("key", "create", "--org", org, "--principal", robot, "--env", "test", "--scopes", "contacts:read")
	if !strings.HasPrefix(out, "kart_test_") || !strings.Contains(out, "not shown again") {
		t.Errorf("key create: %q", out)
	}
	_, out, _ = s.Try("key", "list")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "ID ") || !strings.HasPrefix(lines[1], "key_") ||
		!strings.Contains(lines[1], "contacts:read") {
		t.Errorf("key list: %q", out)
	}
	_, out, errs := s.Try("org", "list", "--limit", "1")
	if strings.Count(out, "\n") != 2 || !strings.HasPrefix(errs, "There are more entries: --after org_") {
		t.Errorf("org list: %q %q", out, errs)
	}
}

// TestNoData checks that commands fail for a mistyped folder, and create no database in it.
func TestNoData(t *testing.T) {
	s := linetest.Folder{T: t, Dir: filepath.Join(t.TempDir(), "wrong"), Commands: newCommands}
	for _, line := range [][]string{
		{"org", "create", "Kanzlei"},
		{"org", "list"},
		{"log"},
		{"pause"},
		{"backup", filepath.Join(t.TempDir(), "copy")},
		{"migrate", "--status"},
	} {
		status, out, errs := s.Try(line...)
		if status != 1 || out != "" || !strings.Contains(errs, "there is no Kartei data in "+s.Dir+".") ||
			!strings.Contains(errs, "migrate") {
			t.Errorf("%v: status %d, out %q, err %q", line, status, out, errs)
		}
		if _, err := os.Stat(s.Dir); err == nil {
			t.Fatalf("%v made the folder", line)
		}
	}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "kartei.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := s.Try("org", "list"); status != 1 || !strings.Contains(errs, "there is no Kartei data") {
		t.Errorf("an empty file: status %d, %s", status, errs)
	}
	s.Try("migrate")
	if status, _, errs := s.Try("org", "list"); status != 0 {
		t.Error(errs)
	}
}

// TestUserReset checks that user reset prints a link that sets a password. It fails for a user
// without an account.
func TestUserReset(t *testing.T) {
	s := newShell(t)
	org := s.Answer("org", "create", "Kanzlei")["id"].(string)
	user := s.Answer("user", "create", "--org", org, "--name", "Ida", "--email", "ida@example.org")["id"].(string)
	if status, out, errs := s.Try("user", "reset", user); status != 1 || out != "" || errs == "" {
		t.Errorf("without an account: status %d, out %q, err %q", status, out, errs)
	}
	d, err := open.Database(t.Context(), "sqlite:"+filepath.Join(s.Dir, "kartei.db"), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Write(t.Context(), func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), `insert into accounts (id, email, email_folded, created_at) values ('acc_1', 'ida@example.org', 'ida@example.org', 1)`)
		if err == nil {
			_, err = tx.Exec(t.Context(), `update principals set account_id = 'acc_1' where id = $1`, user)
		}
		return err
	})
	if closed := d.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	status, out, errs := s.Try("user", "reset", user)
	if status != 0 || strings.Count(out, "\n") != 1 || !strings.Contains(out, "/reset#") ||
		!strings.Contains(errs, "works once") || !strings.Contains(errs, "not sent") {
		t.Errorf("status %d, out %q, err %q", status, out, errs)
	}
	status, answer, errs := s.Try("user", "reset", user, "--json") // with a hint on standard error
	var lifted map[string]any
	if err := json.Unmarshal([]byte(answer), &lifted); err != nil || status != 0 {
		t.Fatalf("status %d, out %q, err %q", status, answer, errs)
	}
	if link, _ := lifted["link"].(string); !strings.HasSuffix(link, "/reset#"+lifted["token"].(string)) ||
		strings.Contains(out, lifted["token"].(string)) || lifted["mailed"] != nil && lifted["mailed"] != false {
		t.Errorf("%v", lifted)
	}
	if status, lines, errs := s.Try("audit", "--org", org); status != 0 ||
		strings.Count(lines, "person.resetPassword") != 2 || strings.Contains(lines, lifted["token"].(string)) {
		t.Errorf("status %d, out %q, err %q", status, lines, errs)
	}
}

// TestDataInUse checks the error if the database is in use, but no server answers on the socket in
// the data folder. The error says in which folder the server was searched.
func TestDataInUse(t *testing.T) {
	s := newShell(t)
	_, unlock, err := sqlite.LockFile(filepath.Join(s.Dir, "kartei.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	for _, line := range [][]string{
		{"org", "list"},
		{"pause"},
		{"backup", "--without-files", filepath.Join(t.TempDir(), "copy")},
	} {
		status, out, errs := s.Try(line...)
		if status != 1 || out != "" || !strings.Contains(errs, "in use by process") ||
			!strings.Contains(errs, "none answers on the socket in "+s.Dir) {
			t.Errorf("%v: status %d, out %q, err %q", line, status, out, errs)
		}
	}
}

// TestOrgErase checks that an organization can be erased without a server. Without --yes or the
// typed id, the organization is not erased.
func TestOrgErase(t *testing.T) {
	s := newShell(t)
	if _, _, err := masterkey.LoadOrCreate(filepath.Join(s.Dir, "master.key")); err != nil {
		t.Fatal(err)
	}
	org, stays := s.Answer("org", "create", "Kanzlei")["id"].(string), s.Answer("org", "create", "Andere")["id"].(string)
	s.Answer("service-account", "create", "--org", org, "--name", "Abgleich")
	if status, _, errs := s.Try("org", "erase", org, "--yes"); status != 1 || !strings.Contains(errs, "state deleting") {
		t.Errorf("an open organization: %d %s", status, errs)
	}
	if date := s.Answer("org", "set", org, "--state", "deleting")["eraseAt"]; date == nil {
		t.Error("there is no date")
	}
	if status, _, errs := s.Try("org", "erase", org); status != 2 || !strings.Contains(errs, "nothing was erased") {
		t.Errorf("without a word: %d %s", status, errs)
	}
	s.Answer("org", "show", org)
	if done := s.Answer("org", "erase", org, "--yes"); done["done"] != true || done["rows"].(float64) < 3 {
		t.Errorf("erased: %v", done)
	}
	if status, _, errs := s.Try("org", "show", org); status != 1 ||
		!strings.Contains(errs, "no organization with this id") {
		t.Errorf("afterwards: %d %s", status, errs)
	}
	if status, _, errs := s.Try("org", "show", stays); status != 0 {
		t.Errorf("another one: %d %s", status, errs)
	}
}
