package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kartei/people/offboarding"
	"kartei/test/seed"
	"kartei/test/waittest"
)

// TestLeaving hands over the records of a person who leaves the office. The server is killed with
// kill -9 at random moments of the hand-over, and each record must change its owner once. Then the
// person is erased, and a successor is invited with the same address. KARTEI_ENTRIES is the number
// of records, KARTEI_LEAVING_KILLS the number of kills.
func TestLeaving(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, database string, store ...string) {
		on := func(args ...string) []string { return append(args, store...) }
		served := start(t, on("serve", "--no-metered")...)
		o := found(t, store...)
		leaver := read[struct{ ID string }](t,
			on("user", "create", "--org", o.ID, "--name", "Xaver Unikat", "--email", "xaver@example.com")...).ID
		key := read[struct{ Key string }](t, on("key", "create", "--org", o.ID, "--principal", leaver, "--env", "test",
			"--scopes", "contacts:read,contacts:write", "--ip", "127.0.0.1/32")...).Key
		records := times("KARTEI_ENTRIES", 2000) / 20 * 20
		makeContacts(client{t, served, key}, records)
		secret := client{t, served, key}.call("POST", "/contacts", `{"lastName":"Still","visibility":"private"}`, 201, "",
			"Idempotency-Key", "private").Text("id")

		kartei(t, on("user", "hand-over", leaver, "--to", o.User)...)
		random, places := seed.Rand(t), []int{}
		for range times("KARTEI_LEAVING_KILLS", 1) {
			places = append(places, random.IntN(records))
		}
		slices.Sort(places)
		for _, place := range places {
			if !reaches(t, on, leaver, place) {
				break
			}
			served.kill()
			served = start(t, on("serve", "--no-metered")...)
			t.Logf("after kill -9: %s", kartei(t, on("user", "hand-over-status", leaver)...))
		}
		awaitHandover(t, on, leaver)
		s := client{t, served, o.Key}
		if handed := ownedBy(s, o.User, 2); handed != records {
			t.Errorf("%d records were handed over, want %d", handed, records)
		}
		if status := kartei(t, on("user", "hand-over-status", leaver)...); !strings.Contains(status, fmt.Sprint(records)) {
			t.Errorf("the status does not say %d: %s", records, status)
		}
		if got := s.call("GET", "/contacts/"+secret, "", 200, "").Text("ownerId"); got != leaver {
			t.Errorf("the private record belongs to %s", got)
		}

		if _, errs, status := try(t, on("user", "erase", leaver, "--yes")...); status == 0 ||
			!strings.Contains(errs, "contacts (private) 1") {
			t.Errorf("erased with a private record: %d %s", status, errs)
		}
		kartei(t, on("user", "hand-over", leaver, "--to", o.User, "--private")...)
		awaitHandover(t, on, leaver)
		if out := kartei(t, on("user", "erase", leaver, "--yes")...); strings.Contains(out, "Xaver") ||
			!strings.Contains(out, "erased") {
			t.Errorf("%s", out)
		}
		client{t, served, key}.call("GET", "/me", "", 401, "UNAUTHENTICATED")

		if dir, file := strings.CutPrefix(database, "sqlite:"); file {
			awaitErased(t, filepath.Dir(dir), "Xaver Unikat")
		}
		out, errs, status := try(t, on("user", "invite", "--org", o.ID, "--email", "xaver@example.com")...)
		link, token, found := strings.Cut(strings.TrimSpace(out), "/invitation#")
		if status != 0 || !found || link != served.URL || len(token) != 43 {
			t.Errorf("%d %q %s", status, out, errs)
		}
		if strings.Contains(served.Log(), token) || strings.Contains(strings.ToLower(served.Log()), "xaver") {
			t.Errorf("the log has the token or the person\n%s", tail(served.Log()))
		}
		// The operator has created this person without an account. The invitation creates the
		// account and does not change the role.
		if _, errs, status := try(t, on("user", "invite", "--org", o.ID, "--email", "anna.berg@example.com", "--role",
			"viewer")...); status == 0 || !strings.Contains(errs, "--role") {
			t.Errorf("%d %s", status, errs)
		}
		list := read[struct{ Data []struct{ ID, Email string } }](t, on("invitation", "list", "--org", o.ID)...).Data
		if len(list) != 1 || list[0].Email != "xaver@example.com" {
			t.Errorf("%+v", list)
		}
		kartei(t, on("invitation", "revoke", list[0].ID)...)
	}
	eachEngine(t, each)
}

// makeContacts creates contacts, twenty in each call.
func makeContacts(s client, records int) {
	s.Helper()
	const each = 20
	for n := range records / each {
		var calls []string
		for part := range each {
			calls = append(calls, fmt.Sprintf(`{"method":"POST","path":"/contacts","headers":{"Idempotency-Key":"%d %d"},"body":{"lastName":"Berg"}}`, n, part))
		}
		if got := s.call("POST", "/batch", `{"calls":[`+strings.Join(calls, ",")+`]}`, 200,
			""); strings.Count(string(got.Body), `"status":201`) != each {
			s.Fatalf("%.1000s", got.Body)
		}
	}
}

// reaches waits until a hand-over has moved this number of records. It reports whether the
// hand-over is still running.
func reaches(t *testing.T, on func(...string) []string, principal string, records int) bool {
	t.Helper()
	for watch := waittest.New(); ; time.Sleep(50 * time.Millisecond) {
		list := read[struct{ Data []offboarding.Handover }](t, on("user", "hand-over-status", principal)...).Data
		handed := 0
		for _, part := range list[0].Parts {
			handed += int(part.Families["contacts"].Handed.Owned)
		}
		switch {
		case list[0].FinishedAt != 0:
			return false
		case handed >= records:
			return true
		case watch.IsStuck(handed):
			t.Fatalf("the hand-over makes no progress: %+v", list)
		}
	}
}

// ownedBy counts the contacts with this owner and this revision.
func ownedBy(s client, owner string, revision int) (n int) {
	s.Helper()
	for path := "/contacts?limit=100"; ; {
		var page struct {
			Data []struct {
				OwnerID  string
				Revision int
			}
			NextCursor string
		}
		decode(s.TB, string(s.call("GET", path, "", 200, "").Body), &page)
		for _, r := range page.Data {
			if r.OwnerID == owner && r.Revision == revision {
				n++
			}
		}
		if page.NextCursor == "" {
			return n
		}
		path = "/contacts?limit=100&cursor=" + page.NextCursor
	}
}

// awaitErased waits until no file below dir contains text. The write-ahead log is emptied some time
// after a change: see docs/decisions/0030.
func awaitErased(t *testing.T, dir, text string) {
	t.Helper()
	for watch := waittest.New(); ; time.Sleep(time.Second) {
		var found []string
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(name)
			if bytes.Contains(content, []byte(text)) {
				found = append(found, name)
			}
			return err
		})
		switch {
		case err == nil && len(found) == 0:
			return
		case watch.IsStuck(found):
			t.Fatalf("%q is still in %v (%v)", text, found, err)
		}
	}
}

// awaitHandover waits until all hand-overs of a principal have ended. If the server of a job was
// killed, its lease lasts up to a minute.
func awaitHandover(t *testing.T, on func(...string) []string, principal string) {
	t.Helper()
	for watch := waittest.New(); ; time.Sleep(time.Second) {
		open := 0
		list := read[struct {
			Data []struct {
				FinishedAt *string
				Parts      any
			}
		}](t, on("user", "hand-over-status", principal)...).Data
		for _, h := range list {
			if h.FinishedAt == nil {
				open++
			}
		}
		switch {
		case open == 0 && len(list) > 0:
			return
		case watch.IsStuck(list):
			t.Fatalf("%d of the hand-overs of %s do not end: %+v", open, principal, list)
		}
	}
}
