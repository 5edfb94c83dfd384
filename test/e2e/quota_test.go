package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kartei/test/waittest"
)

// bellEntry is an entry in the output of kartei bell.
type bellEntry struct {
	ID, PrincipalID, Kind, Title, Text string
	MailedAt                           *string
}

// ofKind returns the bell entries of one kind. Other entries are about new keys.
func ofKind(t testing.TB, kind string, bell ...string) []bellEntry {
	t.Helper()
	var all struct{ Data []bellEntry }
	decode(t, kartei(t, bell...), &all)
	return slices.DeleteFunc(all.Data, func(e bellEntry) bool { return e.Kind != kind })
}

// emails returns the paths of the emails about these bell entries.
func emails(t testing.TB, dir string, entries []bellEntry) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "mail", "ntc_*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return !slices.ContainsFunc(entries, func(e bellEntry) bool { return e.ID+".eml" == filepath.Base(name) })
	})
}

// TestQuotaOverAKill checks the notices about a daily quota that is almost used, in the bell and by
// email. The count survives kill -9. A used-up quota refuses deletes, and no other calls.
func TestQuotaOverAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := []string{"--data-dir", dir}
	on := func(args ...string) []string { return append(args, data...) }
	serve := on("serve", "--limits", "deletes-day=5")
	s := client{t, start(t, serve...), ""}
	office := found(t, data...)
	s.key = office.Key
	kartei(t, on("user", "set", office.User, "--language", "en")...)
	made := 0
	record := func() string {
		made++
		return "/contacts/" + s.call("POST", "/contacts", `{"lastName":"Tal"}`, 201, "", "Idempotency-Key",
			fmt.Sprint("quota-", made)).Text("id")
	}
	for range 4 {
		s.call("DELETE", record(), "", 204, "", "If-Match", "*")
	}
	var bell []bellEntry
	for watch := waittest.New(); len(bell) == 0 || bell[0].MailedAt == nil; {
		if watch.IsStuck(bell) {
			t.Fatalf("no entry with an email: %+v", bell)
		}
		bell = ofKind(t, "quota_low", on("bell", "--org", office.ID, "--json")...)
	}
	if e := bell[0]; len(bell) != 1 || e.PrincipalID != office.User || e.Kind != "quota_low" ||
		!strings.Contains(e.Title, "80% of the daily quota of deletions used") {
		t.Errorf("%+v", bell)
	}
	if mails := emails(t, dir, bell); len(mails) != 1 {
		t.Errorf("emails %v", mails)
	}
	if table := kartei(t, on("bell", "--org", office.ID, "--user", office.User)...); !strings.Contains(table,
		"TITLE") || !strings.Contains(table, office.User) {
		t.Errorf("%s", table)
	}
	for line := range strings.Lines(s.server.Log()) {
		if strings.Contains(line, `"email written to a file`) && strings.Contains(line, "@") {
			t.Errorf("the log names an address: %s", line)
		}
	}
	s.server.kill()

	s.server = start(t, serve...)
	s.call("DELETE", record(), "", 204, "", "If-Match", "*")
	left := record()
	s.call("DELETE", left, "", 429, "QUOTA_EXHAUSTED", "If-Match", "*")
	s.call("GET", left, "", 200, "")
}
