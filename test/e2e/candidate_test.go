package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestReleaseCandidate runs an instance with --environment rc. The instance serves the next version
// of the API to clients that ask for it by a header or by the pin of their key. It reports these
// keys. Then it becomes a production instance on the same data.
func TestReleaseCandidate(t *testing.T) {
	t.Parallel()
	const current, next = "2026-11-01", "2027-02-01"
	store := []string{"--data-dir", t.TempDir()}
	with := func(args ...string) []string { return append(args, store...) }
	served := start(t, with("serve", "--environment", "rc")...)
	office := found(t, store...)
	pinned := read[struct{ ID, Key, KidShort string }](t,
		with("key", "create", "--org", office.ID, "--principal", office.User,
			"--env", "test", "--scopes", "contacts:read,contacts:write", "--ip", "127.0.0.1", "--pin", next)...)
	s, p := client{t, served, office.Key}, client{t, served, pinned.Key}

	// The next version needs no Svc-Preview. One client has a pinned key, the other sends
	// Svc-Version.
	anna := `{"firstName":"Anna","email":"Anna@Kanzlei.example"}`
	s.call("POST", "/contacts", anna, 404, "OPERATION_NOT_IN_VERSION", "Svc-Preview", "", "Idempotency-Key", "a")
	s.call("POST", "/contacts", anna, 201, "", "Svc-Preview", "", "Idempotency-Key", "a", "Svc-Version", next)
	p.call("POST", "/contacts", `{"firstName":"Bert"}`, 201, "", "Svc-Preview", "", "Idempotency-Key", "b")
	if found := pageOf(t, p.call("GET", "/contacts?email=anna@kanzlei.example", "", 200, "")); len(found.Data) != 1 {
		t.Errorf("by email: %+v", found.Data)
	}
	p.call("GET", "/contacts?email=anna@kanzlei.example", "", 400, "UNKNOWN_PARAMETER", "Svc-Version", current)
	if a := s.call("GET", "/me", "", 200, ""); !strings.Contains(a.Header.Get("Link"), next+`>; rel="successor-version"`) {
		t.Errorf("Link %q", a.Header.Get("Link"))
	}
	if page := get(t, served.URL+"/docs?lang=en&version="+next, 200); !strings.Contains(page, "not released yet") {
		t.Errorf("the reference does not say that %s is a candidate", next)
	}
	if page := get(t, served.URL+"/docs?lang=en", 200); strings.Contains(page, "not released yet") {
		t.Error("the reference calls the current version a candidate")
	}

	var uses []string
	for _, u := range read[struct {
		Data []struct {
			Version, KeyID string
			Calls          int
		}
	}](t, with("versions")...).Data {
		uses = append(uses, fmt.Sprint(u.Version, " ", u.KeyID == pinned.ID, " ", u.Calls))
	}
	slices.Sort(uses)
	if want := []string{
		current + " false 2", current + " true 1", next + " false 1", next + " true 2",
	}; !slices.Equal(uses, want) {
		t.Errorf("versions in use: %q, want %q", uses, want)
	}
	served.stop(t)

	served = start(t, with("serve")...)
	s, p = client{t, served, office.Key}, client{t, served, pinned.Key}
	s.call("GET", "/contacts", "", 200, "")
	s.call("GET", "/contacts", "", 400, "INVALID_REQUEST", "Svc-Version", next)
	p.call("GET", "/contacts", "", 400, "INVALID_REQUEST")
	p.call("GET", "/contacts", "", 200, "", "Svc-Version", current)
	s.call("GET", "/openapi.json?version="+next, "", 404, "NOT_FOUND")
	get(t, served.URL+"/docs?version="+next, 404)
	if _, errs, status := try(t, with("key", "create", "--org", office.ID, "--principal", office.User, "--env", "test",
		"--scopes", "contacts:read", "--pin", next)...); status != 1 || !strings.Contains(errs, current) {
		t.Errorf("a pin of what production does not serve: exit %d %s", status, errs)
	}
}
