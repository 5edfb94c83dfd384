package e2e

import (
	"slices"
	"strings"
	"testing"

	"kartei/test/dbtest"
)

// TestRevokeKeyEndpoints checks the revocation of a stolen key. The command lists the webhook
// endpoints that the key has created, and disables them if the operator asks for it.
func TestRevokeKeyEndpoints(t *testing.T) {
	t.Parallel()
	each := func(t *testing.T, store ...string) {
		on := func(args ...string) []string { return append(args, store...) }
		served := start(t, on("serve", "--no-metered")...)
		o := found(t, store...)
		type key struct{ ID, Key, KidShort string }
		issue := func() key {
			return read[key](t, on("key", "create", "--org", o.ID, "--principal", o.User, "--env", "test", "--ip",
				"127.0.0.1/32", "--scopes", "contacts:read,webhook_endpoints:read,webhook_endpoints:write")...)
		}
		stolen, kept := issue(), issue()
		subscribe := func(k key, n string) string {
			return client{t, served, k.Key}.call("POST", "/webhook_endpoints",
				`{"name":"CRM","url":"https://crm.example.com/`+n+`","eventTypes":["contact.created"]}`, 201, "",
				"Idempotency-Key", "endpoint "+n).Text("id")
		}
		left, other := subscribe(stolen, "1"), subscribe(kept, "2")

		type endpoint struct{ ID, KeyID, Status, DisabledReason string }
		type revocation struct {
			ID, Status string
			Endpoints  []endpoint
		}
		if got := read[struct{ Data []endpoint }](t, on("webhook", "list", "--key", stolen.ID)...).Data; len(got) != 1 ||
			got[0].ID != left || got[0].KeyID != stolen.ID {
			t.Errorf("made by the key: %+v", got)
		}
		if _, errs, status := try(t, on("key", "revoke", stolen.ID, "--endpoints", "delete")...); status == 0 ||
			!strings.Contains(errs, "endpoints") {
			t.Errorf("--endpoints delete: %d %s", status, errs)
		}
		if got := read[revocation](t, on("key", "revoke", stolen.KidShort)...); got.ID != stolen.ID ||
			got.Status != "revoked" || !slices.Equal(got.Endpoints, []endpoint{{left, stolen.ID, "active", ""}}) {
			t.Errorf("revoked: %+v", got)
		}
		_, errs, status := try(t, on("key", "revoke", stolen.ID)...)
		if status != 0 || !strings.Contains(errs, "webhook endpoint "+left+" (active)") || strings.Contains(errs, other) {
			t.Errorf("%d %s", status, errs)
		}
		if got := read[revocation](t, on("key", "revoke", stolen.ID, "--endpoints",
			"disable")...); !slices.Equal(got.Endpoints, []endpoint{{left, stolen.ID, "disabled", "key_revoked"}}) {
			t.Errorf("disabled: %+v", got)
		}
		s := client{t, served, kept.Key}
		for id, want := range map[string]string{left: "key_revoked", other: ""} {
			if got := s.call("GET", "/webhook_endpoints/"+id, "", 200, "").Text("disabledReason"); got != want {
				t.Errorf("%s is disabled for %q, want %q", id, got, want)
			}
		}
		if got := read[endpoint](t, on("webhook", "enable", left, "--org", o.SandboxID)...); got.Status != "active" ||
			got.DisabledReason != "" {
			t.Errorf("enabled: %+v", got)
		}
	}
	t.Run("sqlite", func(t *testing.T) { each(t, "--data-dir", t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { each(t, "--data-dir", t.TempDir(), "--database-url", dbtest.PostgresURL(t)) })
}
