package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kartei/api"
	"kartei/api/openapi"
	"kartei/docs"
	"kartei/kit/fault"
	"kartei/test/dbtest"
	"kartei/test/linetest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// kartei runs a command line in this process.
func kartei(environ map[string]string, args ...string) (status int, out, errs string) {
	return linetest.Run(context.Background(), newCommands(), environ, args...)
}

func TestWrongCommandLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kartei.toml")
	if err := os.WriteFile(file, []byte("listen = ':9'\ncolour = 'red'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		environ map[string]string
		args    []string
		want    []string
	}{
		{nil, []string{"unheard-of"}, []string{"unheard-of"}},
		{nil, []string{"config", "--listen", "here"}, []string{"--listen", `"here"`, "HOST:PORT"}},
		{nil, []string{"config", "--colour", "red"}, []string{"--colour"}},
		{nil, []string{"config", "--tls-cert", "x.pem"}, []string{"--tls-cert", "--tls-key"}},
		{
			nil,
			[]string{"config", "--trusted-proxies", "10.0.0.300"},
			[]string{"--trusted-proxies", `"10.0.0.300" is not a network`, "such as 10.0.0.0/8"},
		},
		{
			map[string]string{"KARTEI_MAX_CALLS": "-4"},
			[]string{"config"},
			[]string{"--max-calls: -4", "set by KARTEI_MAX_CALLS"},
		},
		{nil, []string{"config", "--body-timeout", "-3s"}, []string{`--body-timeout: "-3s" is not a length of time`, "above 0"}},
		{nil, []string{"config", "--max-calls", "-4"}, []string{"--max-calls: -4 is too small"}},
		{nil, []string{"log", "--since", "-3h"}, []string{`"-3h" is neither a time`}},
		{nil, []string{"config", "--limits", "key=0"}, []string{"--limits", "key"}},
		{nil, []string{"config", "--config", file}, []string{file, "line 2", "colour", "listen"}},
		{nil, []string{"config", "--config", file + ".none"}, []string{file + ".none"}},
		{
			map[string]string{"KARTEI_METERED": "maybe"},
			[]string{"config"},
			[]string{"--metered", "KARTEI_METERED", "true and false"},
		},
		{
			map[string]string{"KARTEI_DATABASE_URL": "mysql://a:geheim@b/c"},
			[]string{"config"},
			[]string{"--database-url", "KARTEI_DATABASE_URL", "sqlite:PATH"},
		},
		{map[string]string{"KARTEI_CONFIG": file}, []string{"config"}, []string{"line 2"}},
		{nil, []string{"listen", "--forward", "http://localhost:3000"}, []string{"--key", "KARTEI_KEY"}},
		{nil, []string{"listen", "--key", "kart_test_geheim"}, []string{"--forward"}},
		{
			nil,
			[]string{"listen", "--key", "kart_test_geheim", "--forward", "localhost:3000"},
			[]string{"--forward", "http://localhost:3000/hook"},
		},
		{
			nil,
			[]string{"listen", "--key", "kart_test_geheim", "--forward", "http://localhost:3000", "--events", "contact.made"},
			[]string{"--events", "contact.made", "contact.created"},
		},
		{
			nil,
			[]string{"listen", "--key", "kart_test_geheim", "--forward", "http://localhost:3000", "--secret", "geheim"},
			[]string{"--secret", "whsec_"},
		},
		{
			nil,
			[]string{"trigger", "contact.created", "--key", "kart_test_geheim", "--url", "kartei.example.com"},
			[]string{"--url", "https://kartei.example.com"},
		},
		{nil, []string{"trigger", "contact.made", "--key", "kart_test_geheim"}, []string{"contact.made", "contact.created"}},
		{nil, []string{"trigger", "contact.created", "--key", "kart_live_geheim"}, []string{"kart_test_"}},
		{nil, []string{"key", "set", "key_1", "--ip", ""}, []string{"--ip", "nothing would change"}},
		{nil, []string{"key", "set", "key_1", "--ip", " , "}, []string{"--ip", "nothing would change"}},
		{nil, []string{"key", "set", "key_1", "--name", "a", "--expires-in", "0s"}, []string{"--expires-in", "one second"}},
		{nil, []string{"key", "set", "key_1", "--pin", ""}, []string{"--pin", "nothing would change"}},
		{nil, []string{"key", "set", "key_1"}, []string{"--name, --ip"}},
		{nil, []string{"webhook", "change", "whe_1", "--org", "org_1"}, []string{"--name, --url or --events"}},
		{nil, []string{"webhook", "change", "whe_1", "--org", "org_1", "--events", ""}, []string{"--events"}},
		{
			nil,
			[]string{"webhook", "create", "--org", "org_1", "--principal", "svc_1", "--name", "a", "--url", "https://a.example"},
			[]string{"--events"},
		},
		{nil, []string{"webhook", "list", "--status", "lost"}, []string{"--status", "failing"}},
		{nil, []string{"webhook", "resend", "whe_1", "--org", "org_1"}, []string{"--event", "--failed", "--since"}},
	} {
		status, out, errs := kartei(c.environ, c.args...)
		if status != 2 || out != "" {
			t.Errorf("%v: status %d, output %q", c.args, status, out)
		}
		for _, want := range append(c.want, "kartei: ") {
			if !strings.Contains(errs, want) {
				t.Errorf("%v says %q, which does not tell of %q", c.args, errs, want)
			}
		}
		if strings.Contains(errs, "geheim") {
			t.Errorf("%v tells a secret: %s", c.args, errs)
		}
	}
}

// TestBeginning runs the commands for a first start that serve and the documentation show.
// Afterwards the API is open, the first admin has a link, and a program has a key.
func TestBeginning(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	beginning := regexp.MustCompile("```sh\n(kartei org create (?:.*\n)+?)```\n").FindStringSubmatch(string(readme))
	if beginning == nil {
		t.Fatal("README.md has no beginning")
	}
	s := newShell(t)
	ids := strings.NewReplacer()
	var made []map[string]any
	for line := range strings.Lines(beginning[1]) {
		var words []string
		for _, word := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(ids.Replace(strings.TrimPrefix(line, "kartei ")), -1) {
			words = append(words, strings.Trim(word, `"`))
		}
		status, out, errs := s.Try(append(words, "--json")...)
		var answer map[string]any
		if err := json.Unmarshal([]byte(out), &answer); err != nil || status != 0 {
			t.Fatalf("%s: status %d, %q", line, status, errs)
		}
		made = append(made, answer)
		ids = strings.NewReplacer("ORG", made[0]["id"].(string), "SVC", fmt.Sprint(answer["id"]))
	}
	if made[0]["module"] != "on" || made[0]["secrecy"] != "declared" || made[0]["level"] != "on" {
		t.Errorf("the API is not open: %v", made[0])
	}
	if link, _ := made[1]["link"].(string); !strings.Contains(link, "/invitation#") || made[1]["role"] != "admin" {
		t.Errorf("the admin gets %v", made[1])
	}
	if key, _ := made[3]["key"].(string); !strings.HasPrefix(key, "kart_test_") {
		t.Errorf("the program gets %v", made[3])
	}
}

// TestWhatIsLacking checks hints of commands about a missing next step: an organization whose API
// is off, and a user who cannot sign in.
func TestWhatIsLacking(t *testing.T) {
	s := newShell(t)
	for flags, want := range map[string]string{
		"": "--module on --secrecy declared --level on\n", "--module on": "--secrecy declared --level on\n",
		"--module on --secrecy declared --level read": "",
	} {
		status, out, errs := s.Try(append([]string{"org", "create", "Kanzlei"}, strings.Fields(flags)...)...)
		if status != 0 || !strings.HasSuffix(errs, want) || want == "" && errs != "" {
			t.Errorf("org create %s: status %d, %q, %q", flags, status, out, errs)
		}
	}
	org := s.Answer("org", "create", "Kanzlei")["id"].(string)
	if _, _, errs := s.Try("user", "create", "--org", org, "--name", "Ida", "--email",
		"ida@example.org"); !strings.Contains(errs, "kartei user invite --org "+org+" --email ida@example.org\n") {
		t.Errorf("user create says %q", errs)
	}
	if _, out, _ := kartei(nil, "contact", "--help"); !strings.Contains(out, "kartei api contacts.list") {
		t.Errorf("the help of contact is %q", out)
	}
}

// TestLastAdminIsSaid checks the warning about an organization without an admin. There is none if
// another admin remains.
func TestLastAdminIsSaid(t *testing.T) {
	s := newShell(t)
	org := s.Answer("org", "create", "Kanzlei")["id"].(string)
	user := func(name string) string {
		return s.Answer("user", "create", "--org", org, "--name", name, "--email", name+"@example.org", "--role",
			"admin")["id"].(string)
	}
	first, second := user("ida"), user("ole")
	for _, c := range []struct {
		line []string
		want bool
	}{
		{[]string{first, "--disable"}, false},
		{[]string{second, "--name", "Ole B."}, false},
		{[]string{second, "--disable"}, true},
		{[]string{second, "--enable"}, false},
		{[]string{second, "--role", "member"}, true},
		{[]string{first, "--enable"}, false},
	} {
		status, _, errs := s.Try(append([]string{"user", "set"}, c.line...)...)
		if status != 0 || strings.Contains(errs, org+" has no admin any more") != c.want || !c.want && errs != "" {
			t.Errorf("%v: status %d, %q", c.line, status, errs)
		}
	}
	if status, _, errs := s.Try("user", "hand-over", first, "--to", second, "--disable"); status != 0 ||
		!strings.Contains(errs, org+" has no admin any more") {
		t.Errorf("the hand-over of the last admin: status %d, %q", status, errs)
	}
}

// TestCommandsThatAreNamed checks that all commands in the documentation exist.
func TestCommandsThatAreNamed(t *testing.T) {
	pages := map[string]string{"guide.md": string(docs.Guide), "guide.de.md": string(docs.GuideDE)}
	for _, code := range fault.Codes() {
		pages[string(code)] = fmt.Sprintf("%+v", code.Entry())
	}
	for _, version := range openapi.Versions() {
		document, _ := openapi.Document(version)
		pages[version] = string(document)
	}
	operating, err := filepath.Glob("../../docs/operating/*.md")
	if err != nil || len(operating) < 20 {
		t.Fatalf("docs/operating has %d pages: %v", len(operating), err)
	}
	for _, name := range append(operating, "../../README.md", "../../docs/citus.md") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(b)
	}
	named := 0
	command := regexp.MustCompile("(?m)(?:^ *|[$`/] *)kartei ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")
	for page, text := range pages {
		for _, words := range command.FindAllStringSubmatch(text, -1) {
			named++
			if status, _, _ := kartei(nil, words[1], "--help"); status != 0 {
				t.Errorf("%s names kartei %s, which is no command", page, words[1])
			} else if status, _, _ := kartei(nil, words[1], words[2], "--help"); words[2] != "" && status != 0 {
				t.Errorf("%s names kartei %s %s, which is no command", page, words[1], words[2])
			}
		}
	}
	if named < 50 {
		t.Errorf("%d commands are named", named)
	}
}

// TestConsoleHasCommands checks that a command calls each operation of the operator, except
// operations for the web application.
func TestConsoleHasCommands(t *testing.T) {
	without := map[string]string{
		"names.resolve":      "shows names beside ids, which commands print as they are",
		"names.find":         "finds people for fields of forms; principal.ListUsers has a command",
		"invitations.accept": "is for the person invited, who has no command line",
	}
	used := map[string]bool{} // by the Go value, such as key.Create
	value := regexp.MustCompile(`\b[a-z]+\.[A-Z]\w*`)
	for _, text := range sources(t, "*/*.go") {
		for _, name := range value.FindAllString(text, -1) {
			used[name] = true
		}
	}
	values := map[string]string{} // by the operation id
	declaration := regexp.MustCompile(`(?m)^(?:var |\t)(\w+) += op\.New(?:Prefetched)?\("([\w.]+)"`)
	for _, folder := range []string{"people", "record", "integration", "transfer", "instance"} {
		for file, text := range sources(t, "../../"+folder+"/*/*.go") {
			for _, words := range declaration.FindAllStringSubmatch(text, -1) {
				values[words[2]] = filepath.Base(filepath.Dir(file)) + "." + words[1]
			}
		}
	}
	for _, r := range api.Unpublished {
		if !slices.Contains(r.Doors, api.Admin) {
			continue
		}
		if has := used[values[r.ID]]; has == (without[r.ID] != "") {
			t.Errorf("%s (%s): a command of cmd/kartei calls it: %t. Add one, or say in the list of this test why there is none; never both", r.ID, values[r.ID], has)
		}
	}
}

// sources returns the texts of Go files by their paths, without tests.
func sources(t *testing.T, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(b)
	}
	return texts
}

func TestConfigSaysWhereValuesComeFrom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kartei.toml")
	if err := os.WriteFile(file, []byte("listen = ':1'\nguesses = 1\nidle_timeout = '1s'\nmetered = false\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	environ := map[string]string{
		"KARTEI_CONFIG": file, "KARTEI_GUESSES": "2", "KARTEI_LISTEN": ":2",
		"KARTEI_DATABASE_URL": "postgres://u:geheim@h/n?password=geheim",
	}
	status, out, errs := kartei(environ, "config", "--json", "--listen", ":3")
	if status != 0 || strings.Count(out, "\n") != 1 || strings.Contains(out, "geheim") {
		t.Fatalf("status %d: %s%s", status, out, errs)
	}
	var answer struct {
		Settings []struct{ Name, Value, Source string }
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	got := map[string][2]string{}
	for _, s := range answer.Settings {
		got[s.Name] = [2]string{s.Value, s.Source}
	}
	for name, want := range map[string][2]string{
		"listen":           {":3", "flag"},
		"guesses":          {"2", "KARTEI_GUESSES"},
		"idle-timeout":     {"1s", file},
		"metered":          {"false", file},
		"body-timeout":     {"30s", "default"},
		"database-url":     {"postgres://u:xxxxx@h/n?...", "KARTEI_DATABASE_URL"},
		"master-key-file":  {"kartei-data/master.key", "default"},
		"max-header-bytes": {"262144", "default"},
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	status, out, _ = kartei(environ, "config")
	if status != 0 || strings.Contains(out, "geheim") || !strings.Contains(out, "KARTEI_GUESSES") {
		t.Errorf("status %d: %s", status, out)
	}
}

func TestHelpNamesTheEnvironment(t *testing.T) {
	status, out, errs := kartei(nil, "serve", "--help")
	if status != 0 || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	for _, want := range []string{
		"KARTEI_LISTEN", "KARTEI_DATABASE_URL", "KARTEI_MASTER_KEY_FILE", "KARTEI_TRUSTED_PROXIES",
		"KARTEI_CONFIG",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the help does not name %s", want)
		}
	}
}

// TestHelpOfClientCommands checks that the help of commands that only call the API has no flags for
// data on this machine.
func TestHelpOfClientCommands(t *testing.T) {
	for command, is := range map[string]bool{"api": false, "listen": false, "trigger": false, "backup": true} {
		if _, out, _ := kartei(nil, command, "--help"); strings.Contains(out, "--database-url") != is ||
			!strings.Contains(out, "--help") {
			t.Errorf("the help of %s is %q", command, out)
		}
	}
}

// TestHelpShowsLists checks that the help of a flag with several values shows "..." once.
func TestHelpShowsLists(t *testing.T) {
	_, out, _ := kartei(nil, "serve", "--help")
	if !strings.Contains(out, "--trusted-proxies=CIDR,...\n") || strings.Contains(out, "...,...") {
		t.Errorf("the help of serve is %q", out)
	}
}

func TestHelpIsACommandToo(t *testing.T) {
	for _, about := range [][]string{nil, {"serve"}, {"key", "create"}} {
		_, want, _ := kartei(nil, append(about, "--help")...)
		status, out, errs := kartei(nil, append([]string{"help"}, about...)...)
		if status != 0 || out != want || errs != "" {
			t.Errorf("help %v: status %d, %s%s", about, status, out, errs)
		}
	}
	if status, _, errs := kartei(nil, "help", "srve"); status != 2 || !strings.Contains(errs, "srve") {
		t.Errorf("help for what is not there: status %d, %s", status, errs)
	}
}
