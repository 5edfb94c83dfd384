package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"kartei/test/patience"
)

// bellEntry is an entry in the output of kartei bell.
type bellEntry struct {
	PrincipalID, Kind, Title, Text string
	MailedAt                       *string
}

// TestQuotaOverAKill checks the notices, by bell and email, of a day quota that
// is almost used. The quota survives kill -9, and stops deletes and nothing
// else.
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
		return "/contacts/" + s.call("POST", "/contacts", `{"lastName":"Tal"}`, 201, "", "Idempotency-Key", fmt.Sprint("quota-", made)).Text("id")
	}
	for range 4 {
		s.call("DELETE", record(), "", 204, "", "If-Match", "*")
	}
	var bell struct{ Data []bellEntry }
	for watch := patience.New(); len(bell.Data) == 0 || bell.Data[0].MailedAt == nil; {
		if watch.IsStuck(bell) {
			t.Fatalf("no entry with an email: %+v", bell)
		}
		decode(t, kartei(t, on("bell", "--org", office.ID, "--json")...), &bell)
	}
	if e := bell.Data[0]; len(bell.Data) != 1 || e.PrincipalID != office.User || e.Kind != "quota_low" || !strings.Contains(e.Title, "80% of the daily quota of deletions used") {
		t.Errorf("%+v", bell)
	}
	if mails, err := filepath.Glob(filepath.Join(dir, "mail", "*.eml")); err != nil || len(mails) != 1 {
		t.Errorf("emails %v, %v", mails, err)
	}
	if table := kartei(t, on("bell", "--org", office.ID, "--user", office.User)...); !strings.Contains(table, "TITLE") || !strings.Contains(table, office.User) {
		t.Errorf("%s", table)
	}
	for line := range strings.Lines(s.server.Log()) {
		if strings.Contains(line, `"email sent"`) && strings.Contains(line, "@") {
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
